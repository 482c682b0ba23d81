/*
 * delivery.h - deliveries, dead letters and replays over HTTP.
 *
 * WHAT A DELIVERY IS. Nothing stores one as such: it is what attempts, rows and
 * dead letters of one (seq, subscription, rep) say together, and its id is
 * these three in disguise (deliver/engine/delivery_id.h). A list walks the three
 * tables side by side, newest first, each by an index that has the whole key.
 * What is in flight only the engine knows: one delivery is asked for there
 * first, a list is not.
 *
 * A dead letter of subscription 0 is none of a delivery: it is what a source
 * handed over that is no event (source/refused.h, delivery_decide.c).
 *
 * MANY dead letters are decided on page by page (delivery_bulk.c): nothing is
 * kept of a call but its work and the cursor in its answer, so a caller sees
 * how far it is, may stop, and goes on after a restart.
 *
 * WHO SEES WHAT. A key that is limited to tenants sees the deliveries of
 * subscriptions whose tenants are within its own, as in sub.h; what sources
 * handed over it does not see.
 */
#pragma once

#include "api/handlers.h"
#include "api/io.h"
#include "api/limits.h"
#include "deliver/engine/deliver.h"
#include "deliver/engine/replay.h"
#include "event/append.h"
#include "event/limits.h"
#include "seal/tenant.h"
#include "sql.h"

struct api;
struct audit_row;

/* The name of a delivery, opened. */
struct spot {
	int64_t seq;
	uint32_t sub;
	int rep;
};
struct uuid spot_id(const struct api *api, struct spot s);
bool spot_open(const struct api *api, struct str id, struct spot *ret);
int spot_absent(struct err *e);
/* From the path: ERR_ABSENT when it is none of ours. */
int spot_read(const struct req *r, struct spot *ret, struct err *e) MUST_CHECK;
/* What the caller decides about it; `note` is for the record. */
struct ask_decide spot_decide(const struct req *r, struct spot s,
    enum deliver_ask_kind kind, struct str note);

/* Its subscription, when the caller may see it; until_seq 0: it lives. 1, 0
 * when there is none, < 0. */
int seen_sub(struct req *r, struct db *db, int64_t id,
    struct sql_sub_head_row *ret, struct err *e) MUST_CHECK;
/* By uid; ERR_ABSENT also when it may not be seen. */
int seen_sub_find(struct req *r, struct db *db, struct str uid, const char *at,
    struct sql_sub_head_row *ret, struct err *e) MUST_CHECK;
/* By the tenants of its row. */
bool seen_visible(const struct req *r, struct str tenants);

enum delivery_status {
	STATUS_PENDING,
	STATUS_PROCESSING,
	STATUS_RETRY_PENDING,
	STATUS_SUCCESS,
	STATUS_DEAD_LETTER,
	STATUS_DROPPED, /* dropStale or coalesce: nothing was sent */
	STATUS_COUNT,
};
extern const char *const DELIVERY_STATUS[STATUS_COUNT + 1];

/* What the tables say of one delivery. */
struct seen {
	struct spot spot;
	bool has_attempt, has_row, has_dead;
	struct sql_look_attempts_row attempt; /* the newest */
	struct sql_look_rows_row row;
	struct sql_look_deads_row dead; /* error.p NULL: an attempt's */
};
extern const char *const DEAD_STATES[]; /* by sql's state; NULL ends */
bool seen_any(const struct seen *s);
enum delivery_status seen_status(const struct seen *s);
/* … and the engine, when it looked (not NULL). */
enum delivery_status seen_status_now(
    const struct seen *s, const struct deliver_look *look);
int seen_get(struct req *r, struct db *db, struct spot spot, struct seen *ret,
    struct err *e) MUST_CHECK;
/*
 * {"id","eventId",…} without the closing brace. `look`: what the engine knows,
 * or NULL. `sub` NULL: it is a source's.
 */
int seen_show(struct req *r, struct db *db, const struct seen *s,
    const struct sql_sub_head_row *sub, const struct deliver_look *look,
    struct buf *b, struct err *e) MUST_CHECK;
/* "attempts":[…] */
int seen_attempts(
    struct db *db, struct spot spot, struct buf *b, struct err *e) MUST_CHECK;

/* A page of them, newest first. */
struct seen_page {
	struct spot before; /* exclusive */
	int64_t lo;         /* oldest seq */
	uint32_t sub;       /* 0: all */
	unsigned statuses;  /* bits 1u << enum delivery_status */
	int64_t limit;
	/* out */
	size_t shown;
	bool more;
	struct spot last; /* looked at */
};
int seen_page(struct req *r, struct db *db, struct seen_page *p, struct buf *b,
    struct err *e) MUST_CHECK;
/* What stands behind a reader and so is in no table yet, for one event. */
int seen_waiting(struct req *r, struct db *db, int64_t seq, int64_t sub,
    struct buf *b, struct err *e) MUST_CHECK;
/* [ … ] for GET /v1/events/{eventId}. */
int seen_of_event(struct req *r, struct db *db, int64_t seq, struct buf *b,
    struct err *e) MUST_CHECK;

/* Does it want the event, by type and tenant? NULL, or why not. */
const char *seen_refuses(struct arena *a, const struct sql_sub_head_row *s,
    struct str type, struct uuid tenant);
/* The same for its stored form, parsed. */
const char *seen_conf_refuses(
    const struct json *conf, struct str type, struct uuid tenant);

/*
 * Dead letters: what is looked for, and how far one has come. A page looks at
 * PAGE_SCAN of them at most, and its cursor says where it stopped.
 */
struct deads {
	/* as given; .p NULL: any */
	struct str subscription, source, reason_word, type, tenant, key, error;
	unsigned state; /* of DEAD_STATES */
	int64_t sub;    /* 0: any */
	int reason;     /* -1: any */
	struct uuid tenant_id;
	int64_t from, to;
	/* before this, in (at, sub, seq, rep) */
	int64_t at;
	struct spot spot;
	size_t looked;
	bool end;
};
#define DEADS_ALL ((struct deads){.reason = -1, .to = INT64_MAX})
/* Rows of a table whose struct has a struct deads at `at`. */
#define DEADS_WORDS(at)                                                        \
	{"subscription", MEMBER_STRING, (at) + DEADS_AT(subscription), 0,      \
	    UUID_LEN},                                                         \
	    {"source", MEMBER_STRING, (at) + DEADS_AT(source), 0, NOTE_MAX,    \
		.about = "what this source handed over"},                      \
	    {"reason", MEMBER_STRING, (at) + DEADS_AT(reason_word), 0,         \
		NOTE_MAX},                                                     \
	    {"type", MEMBER_STRING, (at) + DEADS_AT(type), 0, EVENT_TYPE_MAX,  \
		.about = "exactly, or name.*"},                                \
	    {"tenant", MEMBER_STRING, (at) + DEADS_AT(tenant), 0, TENANT_MAX}, \
	    {"key", MEMBER_STRING, (at) + DEADS_AT(key), 0, EVENT_KEY_MAX},    \
	    {"error", MEMBER_STRING, (at) + DEADS_AT(error), 0, NOTE_MAX,      \
		.about = "a part of the last error"},                          \
	    {"from", MEMBER_TIME, (at) + DEADS_AT(from)},                      \
	{                                                                      \
		"to", MEMBER_TIME, (at) + DEADS_AT(to)                         \
	}
#define DEADS_AT(field) offsetof(struct deads, field)
/* From what was given; `at` is where it stood: a parameter, or a pointer. */
int deads_find(struct req *r, struct db *db, struct deads *d, const char *at,
    struct err *e) MUST_CHECK;
/* at.deliveryId: goes on behind it; and where it stands now. */
int deads_after(const struct req *r, struct deads *d, struct str cursor,
    struct err *e) MUST_CHECK;
struct str deads_cursor(const struct req *r, const struct deads *d);
/* The next up to `most` that fit, newest first; *ret_n of them, without their
 * texts. */
int deads_next(struct db *db, struct deads *d, size_t most,
    struct sql_dead_page_row *v, size_t *ret_n, struct err *e) MUST_CHECK;
struct spot dead_spot(const struct sql_dead_page_row *row);

/* The one that is named, if the caller may see it; `sub` is empty when a source
 * handed it over. */
int dead_get(struct req *r, struct db *db, struct spot spot, struct seen *s,
    struct sql_sub_head_row *sub, struct err *e) MUST_CHECK;
/* Its event: from the log, or what was kept of it. .p NULL: it is gone. */
int dead_event(struct req *r, struct db *db, struct spot spot, struct str *ret,
    struct err *e) MUST_CHECK;
#define NOTE_REASON(type, field)                                               \
	{                                                                      \
		"reason", MEMBER_STRING, offsetof(type, field), 0, NOTE_MAX,   \
		    .about = "for the record; to skip, it must be given"       \
	}
/* Nothing is given up without a word: `reason` is there when it is to skip. */
int deads_need_reason(bool skip, struct str reason, struct err *e) MUST_CHECK;

/*
 * A decision on what a source handed over is one transaction of the commit
 * thread: `entry` is what is published, when it is put back.
 */
struct handed {
	struct spot spot;
	bool requeue;
	struct str reason;
	const struct json *payload, *event; /* NULL: not edited so */
	struct entry entry;
	int64_t now_us;
};
/* From its stored body: the entry, in the arena. */
int handed_entry(struct req *r, struct arena *a, struct handed *h,
    struct str body, struct err *e) MUST_CHECK;
/* In the transaction, before the entry: ERR_CONFLICT when somebody decided. */
int handed_write(struct db *db, const struct req *r, const struct handed *h,
    struct err *e) MUST_CHECK;
/* … and behind it. The audit's row is in `ret`, for audit_put(). */
int handed_audit(struct db *db, const struct req *r, const struct handed *h,
    struct str webhook_id, struct audit_row *ret, struct err *e) MUST_CHECK;

/* A stored body, opened when it was sealed, in the arena. */
int delivery_body(struct req *r, struct str tenant, struct str event_id,
    struct str body, struct str *ret, struct err *e) MUST_CHECK;

/*
 * Begins a replay, as `reader` says. On the http thread; the answer is written
 * by `show` when it is stored.
 */
struct replay_op {
	struct req *r;
	struct ask_look look; /* how far an exclusive one may go */
	struct core_reader reader;
	struct replay_terms terms;
	struct append_job job;
	struct entry entry;
	struct sql_sub_head_row sub;
	struct uuid uid;
	int64_t total; /* events that it is of; -1: not counted */
	void (*show)(struct replay_op *op);
	struct spot old; /* retry: of which it is another */
};
int replay_op_begin(struct replay_op *op, struct err *e) MUST_CHECK;
