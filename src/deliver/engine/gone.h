/*
 * gone.h - a receiver said that it is gone for good: its subscription is
 * disabled, with its place in the log, and whoever watches is told.
 */
#ifndef DELIVER_ENGINE_GONE_H
#define DELIVER_ENGINE_GONE_H

#include "base/base.h"

struct append;
struct wish;

/* It is done by the commit thread; a failure is logged, and the next answer of
 * the receiver tries again. */
void gone_disable(
    struct append *append, const struct wish *w, bool tell, int64_t now);

#endif
