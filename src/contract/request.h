/*
 * request.h - one attempt as HTTP: URL, headers, body, signature.
 *
 * A pure function of the preset, the subscription, the event, the attempt and
 * the time. Everything is made afresh at each attempt (signatures and one-time
 * codes age), except what names the delivery: a repeat has the same
 * deliveryId. What the seeds prescribe is in presets.tbl, not here.
 *
 * WHAT IS SECRET stays marked. Headers that carry credentials, codes or sealed
 * values have `secret` set; request_head(), which the attempt log keeps, shows
 * values only of a short list of harmless names and of none that is marked.
 *
 * ORDER AND SPACING. request_key() with the preset's order_key says which
 * events of a subscription must follow each other: the event's partitionKey,
 * unless the preset has another orderKey. With its spacing_key it says which
 * calls must lie apart. Both are texts to be hashed, empty without a key.
 *
 * LIFE. What is made is the arena's and borrows from preset, subscription and
 * event. ERR_INVALID means that this event can't be sent with this preset,
 * now or later: a dead letter of *ret_reason (RENDER, FILTER, TOO_LARGE).
 */
#pragma once

#include "contract/sub.h"
#include "contract/verdict.h"

struct request_event {
	struct uuid event_id, tenant;
	struct str type, key;
	int64_t received_us; /* its time, when it names none */
	int64_t seq;
	struct str body;     /* the envelope as it is stored */
	struct str rendered; /* what the jq template made; .p NULL: none */
};

struct request_attempt {
	struct uuid delivery_id, subscription_id;
	struct uuid original_id; /* repeats: of the first one */
	bool repeats;
	unsigned number; /* 1 for the first try */
	int64_t now_us;
	bool made; /* for an event of ours: where it lacks what a pointer of
		    * `hub` wants, that is "test" */
	struct str trace;        /* traceparent; empty: none */
	struct str access_token; /* AUTH_OAUTH2: from the token endpoint */
};

struct request_header {
	struct str name, value;
	bool secret;
};

struct request {
	struct str method, url;
	struct request_header *headers;
	size_t n;
	struct str body;
	bool truncated;      /* property values were left out */
	struct str log_call; /* W15: one line before the call; empty: none */
};

/* ERR_INVALID with *ret_reason. */
int request_make(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    struct request *ret, enum reason *ret_reason, struct err *e) MUST_CHECK;

/* False when the preset's paths have no place for the type: never sent. */
bool request_wanted(const struct sub_conf *s, struct str type);
/* TEST, or where that has no place a type that has one, in the arena. */
struct str request_test_type(struct arena *a, const struct sub_conf *s);

/* Of the arena; `key` is the preset's order_key or spacing_key. */
int request_key(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct vars *key, struct str *ret,
    struct err *e) MUST_CHECK;

/*
 * The GET that must succeed before each call. 1 and *ret, or 0 when there is
 * none; errors as request_make().
 */
int preflight_make(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    struct request *ret, enum reason *ret_reason, struct err *e) MUST_CHECK;
/* VERDICT_OK: go on. Else what to do, reason PREFLIGHT. */
struct judgement preflight_judge(
    struct arena *a, const struct sub_conf *s, const struct outcome *o);

/* For the attempt log, at most REQUEST_HEAD_MAX bytes. */
void request_head(const struct request *r, struct buf *b);

/* W16: after a call that did not answer 200. */
struct request_error {
	struct str line; /* with at most REQUEST_LOG_BODY_MAX of the answer's
			   * body, escaped; empty: the preset has none */
	struct str
	    trace; /* what its tracePointer finds in the body, or empty */
};
int request_log_error(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    const struct outcome *o, struct request_error *ret,
    struct err *e) MUST_CHECK;
