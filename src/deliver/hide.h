/*
 * hide.h - our secrets out of what a receiver answered.
 *
 * WHY. Receivers that answer with what they were sent are common: test
 * servers, proxies with a page for errors, frameworks in debug mode. Answers
 * go to the log, to whoever asks for a test, and into the store, where the
 * secrets of the request must not be. What is secret is known by its mark, so
 * that nothing is guessed.
 */
#ifndef DELIVER_HIDE_H
#define DELIVER_HIDE_H

#include "base/base.h"

struct arena;
struct request;

/*
 * `s` with SUB_MASK for each value of a secret header, with and without the
 * word in front ("Bearer "), and for `password`. Secrets of fewer than
 * HIDE_LEAST bytes stay: they would take letters out of words. Empty when
 * there is no memory.
 */
struct str hide(struct arena *a, const struct request *r, struct str password,
    struct str s);

#endif
