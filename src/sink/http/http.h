/*
 * http.h - the sink that calls receivers over HTTP.
 *
 *   call ─▶ access token, when there has to be one ─▶ health check ─▶ POST
 *                 │                                       │            │
 *                 └───────────────────────────────────────┴────────────┴▶ judged
 *
 * What is sent is made by contract/request.h, what an answer means is said by
 * contract/verdict.h, and what is kept of it by told.h. Dead letters whose only
 * fault was a health check come back by themselves: revive.h.
 */
#pragma once

#include "base/base.h"

struct client_send;
struct deliver;
struct kept_conf;
struct request;

/* The parts of a send that all sends to a subscription have in common. */
void http_send(struct deliver *d, struct arena *a, const struct kept_conf *k,
    const struct request *r, struct client_send *ret);
