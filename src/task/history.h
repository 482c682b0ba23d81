/*
 * history.h - what became of a task's deliveries, in the words of seed 004.
 *
 *   PENDING   waits for its first try, or for one by hand
 *   SENDING   under way
 *   RETRYING  failed, waits for the next try
 *   DELIVERED success
 *   FAILED    a dead letter, or skipped
 *
 * They are names for the engine's states; nothing is kept twice but one number
 * a delivery (task_event.state) and four a key (task_count), so that the
 * statistics count no rows. Both are moved by history_settled() in the
 * transaction of the engine's own results: exact at every moment.
 *
 * ATTEMPTS begin at 0 again when somebody sends it anew; `base` is how many
 * there were before.
 */
#pragma once

#include "deliver/engine/flush.h"
#include "task/task.h"

enum notice_status {
	NOTICE_PENDING,
	NOTICE_SENDING,
	NOTICE_RETRYING,
	NOTICE_DELIVERED,
	NOTICE_FAILED,
};
const char *notice_status_word(enum notice_status s); /* "pending" */

struct notice {
	int64_t seq;
	uint32_t sub;
	enum task_status event;
	enum notice_status status;
	int attempts, base, http_status;  /* http_status 0: none */
	int64_t created_us, completed_us; /* 0: not yet */
	struct str error;                 /* .p NULL: none */
};

/* After the entry has its seq: who was told. */
int history_add(struct db *db, const struct task *t, int64_t seq,
    const int64_t *subs, size_t n, int64_t now_us, struct err *e) MUST_CHECK;
/* For deliver_opts.settled. */
int history_settled(
    struct db *db, const struct flush_settled *v, size_t n, struct err *e);

/* Newest first, TASK_HISTORY_MAX at most. What is under way in memory alone is
 * PENDING here; notice_look() knows better. */
int history_list(struct db *db, const struct task *t, struct arena *a,
    struct notice **ret, size_t *ret_n, struct err *e) MUST_CHECK;
struct deliver_look;
void notice_look(struct notice *d, const struct deliver_look *look);

/* What sending it anew needs; ERR_ABSENT when it is not this owner's. */
struct notice_again {
	int n; /* attempts so far */
	uint64_t okey, skey;
};
int history_find(struct db *db, int64_t seq, uint32_t sub, int64_t owner,
    struct notice_again *ret, struct err *e) MUST_CHECK;
int history_anew(struct db *db, int64_t seq, uint32_t sub, int base,
    struct err *e) MUST_CHECK;

struct history_count {
	int64_t total, delivered, failed, pending;
};
int history_count(struct db *db, int64_t owner, struct history_count *ret,
    struct err *e) MUST_CHECK;
/* {"total","delivered","failed","pending","successRate"} */
void history_count_show(const struct history_count *c, struct buf *b);
