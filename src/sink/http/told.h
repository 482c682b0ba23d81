/*
 * told.h - what is told of an answer: to the verdict, to people, to the store.
 *
 * WHY HIDE. Receivers that answer with what they were sent are common: test
 * servers, proxies with a page for errors, frameworks in debug mode. Answers
 * go to the log, to whoever asks for a test, and into the store, where the
 * secrets of the request must not be. What is secret is known by its mark, so
 * that nothing is guessed.
 */
#pragma once

#include "base/base.h"

struct client_answer;
struct flush_detail;
struct outcome;
struct preset;
struct request;
struct request_attempt;
struct request_event;
struct sub_conf;

/*
 * `s` with SUB_MASK for each value of a secret header, with and without the
 * word in front ("Bearer "), and for `password`. Secrets of fewer than
 * HIDE_LEAST bytes stay: they would take letters out of words. Empty when it
 * would be longer than an answer may be.
 */
struct str told_hidden(struct arena *a, const struct request *r,
    struct str password, struct str s);

/* Bytes of an answer's body that are wanted: verdicts may look into it. */
size_t told_keep(const struct preset *p);
void told_outcome(const struct client_answer *ans, struct outcome *ret);

/* The others take an answer from which the secrets are gone. */

/* "HTTP 503: the first 500 characters", or what failed. The arena's. */
const char *told_error(struct arena *a, const struct client_answer *ans);
/* JSON with the heads; NULL when it would be too large. free() it. */
struct flush_detail *told_detail(struct arena *a, const struct request *r,
    const struct client_answer *ans, const char *error);
/* A failed call in the words of its preset, when that has some. */
void told_hub_error(struct arena *a, const struct sub_conf *c,
    const struct request_event *ev, const struct request_attempt *at,
    const struct outcome *o);
