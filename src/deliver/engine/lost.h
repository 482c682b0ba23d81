/*
 * lost.h - a reader whose place in the log is gone: entries went by their age
 * before it came to them.
 *
 * WHY HERE. The log loses entries on the commit thread, readers move on the
 * deliver thread. Whoever moved a reader in the store alone would have its
 * position written back by the core; so nobody does. Fetch finds that the log
 * begins above a reader, its page tells so, and the deliver thread writes one
 * dead letter for the whole stretch with the flush that moves the reader. A
 * crash before that flush finds the same once more. One that stands still (its
 * subscription is disabled) jumps when it is read again.
 *
 * Rows are not touched either: their bodies were kept (event/retain.c), and
 * their next try finds the log without them and makes the dead letter.
 */
#ifndef DELIVER_ENGINE_LOST_H
#define DELIVER_ENGINE_LOST_H

#include "base/base.h"

struct flushing;
struct page;

/* Its lost_to is above 0: written with the next flush, and told of. */
void lost_add(struct flushing *f, const struct page *p, int64_t now);

#endif
