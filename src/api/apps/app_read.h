/*
 * app_read.h - "mark all as read", whatever protocol asks for it.
 *
 *   read thread: find, ids of a step ──▶ commit thread: these are read ──┐
 *        ▲  └── none left: finish, the answer                            │
 *        └───────────────────────────────────────────────────────────────┘
 *
 * WHY STEPS. A hundred thousand articles in one statement hold the commit
 * thread for a second, and everybody who publishes waits behind it. A step has
 * READ_STEP of them. Whoever is killed in between has some that are read, and
 * has not been answered.
 */
#ifndef API_APPS_APP_READ_H
#define API_APPS_APP_READ_H

#include "http/server/req.h"
#include "reader/sync.h"

struct app_reading {
	struct sync_reading what;
	handler_fn find;   /* fills `what`; NULL: it is filled */
	handler_fn finish; /* answers; both have this as r->ctx */
	const void *ctx;   /* the protocol's own */
	bool found;
};

/* On the http thread. */
int app_read_all(
    struct req *r, struct app_reading *a, struct err *e) MUST_CHECK;

#endif
