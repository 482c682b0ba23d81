/*
 * sending_priv.h - one attempt: sending.c begins and ends it, calling.c has
 * what is between, from the access token to what an answer means.
 */
#ifndef DELIVER_ENGINE_SENDING_PRIV_H
#define DELIVER_ENGINE_SENDING_PRIV_H

#include "contract/request.h"
#include "deliver/engine/deliver_priv.h"
#include "http/client/oauth.h"

#define HOLD_US (1 * US_PER_S) /* for what is ours to get in order */

struct attempt {
	struct link in_list;
	struct deliver *d;
	struct core_send s;
	struct deliver_ask *test; /* NULL: a delivery */
	bool void_; /* nobody wants its end: the groups were lost */
	struct arena *arena;
	struct kept_conf *conf;
	struct letter *letter;
	struct core_rec rec; /* with dropStale */
	struct request_event ev;
	struct request_attempt at;
	struct request req;
	struct client_send send;
	bool sending; /* the client has it */
	struct oauth_ask token;
	bool asking;
	bool called; /* the subscription's own URL, not one before it */
	int64_t began_us;
};

/* sending.c. Both end it: it is gone, and the core knows. */
void attempt_end(struct attempt *a, struct core_result *r, const char *error);
/* Before anything was tried. */
void attempt_end_early(struct attempt *a, enum core_verdict v,
    enum reason reason, int64_t delay_us, const char *error);
/* Of events of our own nothing more is told: flush.h. */
bool attempt_ours(const struct attempt *a);

/* calling.c */
/* A try at that time would come too late. */
bool attempt_too_late(const struct attempt *a, int64_t at_us);
/* Its letter, its subscription and its body are there. */
void attempt_call(struct attempt *a);

#endif
