/*
 * task.h - a task: a document that another system works on, as a source.
 *
 * Somebody submits it with an API key and perhaps a callback URL; whoever does
 * the work reports each change of its status; each change is one event
 * (`invoice.processing`, …), and the ordinary delivery engine does the rest.
 * There is no second queue and no second retry.
 *
 *   QUEUED ──▶ PROCESSING ──▶ REVIEW_REQUIRED ──▶ COMPLETED or FAILED
 *
 * A status may be left out; none leads back, and nothing out of an end.
 *
 * The events, their bodies and the words are seed 004's; see notice.h for the
 * body, target.h for who gets it, history.h for what became of it.
 *
 * LIFE. A task is a value; its texts are the arena's, .p NULL where there is
 * none. Reading runs on any thread, task_add() and task_put() inside a write
 * transaction.
 *
 * INVARIANTS
 *   1. A change of status and its event are one transaction.
 *   2. A result can be fetched for TASK_RESULT_DAYS, then it goes.
 */
#pragma once

#include "contract/member.h"

struct db;

enum task_status { /* numbers of the store */
	TASK_QUEUED = 0,
	TASK_PROCESSING = 1,
	TASK_COMPLETED = 2,
	TASK_FAILED = 3,
	TASK_REVIEW_REQUIRED = 4,
	TASK_STATUSES
};

/* Seed 004, 5.3: what statuses are called, and how far they are. */
struct task_words {
	const char *name;  /* "REVIEW_REQUIRED" */
	const char *word;  /* "review_required" */
	const char *event; /* "invoice.review_required" */
	int progress;      /* percent */
	bool ended;
};
extern const struct task_words TASK_WORDS[TASK_STATUSES];

struct task {
	int64_t id;
	struct uuid uid;
	int64_t owner; /* the API key's row */
	struct str callback_url, document;
	enum task_status status;
	struct str confidence; /* a JSON number, in its shortest form */
	struct str forwarder_id, forwarder_name;
	struct str error_code, error_message, reason;
	bool error_retryable, has_result;
	int64_t created_us, changed_us;
	int64_t completed_us, expires_us; /* 0: not yet */
};

extern const char *const TASK_NAMES[TASK_STATUSES + 1]; /* NULL ends */

/* {"callbackUrl","document"}, both optional; the URL's form is not checked. */
int task_read_submit(struct arena *a, struct str body, struct task *ret,
    struct err *e) MUST_CHECK;
int task_add(struct db *db, const struct task *t, int64_t now_us,
    struct err *e) MUST_CHECK;
/* ERR_ABSENT when there is none. */
int task_get(struct db *db, struct uuid uid, struct arena *a, struct task *ret,
    struct err *e) MUST_CHECK;
/* In the order they were submitted, those behind `after`. */
struct task_page {
	int64_t owner; /* 0: of all keys */
	int status;    /* -1: any */
	int64_t after, most;
};
int task_list(struct db *db, const struct task_page *p, struct arena *a,
    struct task **ret, size_t *ret_n, struct err *e) MUST_CHECK;
/* JSON of the result, in the arena; .p NULL when there is none. */
int task_result(struct db *db, const struct task *t, struct arena *a,
    struct str *ret, struct err *e) MUST_CHECK;

/* A change as it was reported; .p NULL: not said. */
struct task_change {
	enum task_status status;
	struct str confidence, forwarder_id, forwarder_name, result;
	struct str error_code, error_message, reason;
	bool error_retryable;
};
/* ERR_INVALID for a member that has no meaning with this status. */
extern const struct member TASK_BODY[], TASK_CHANGE_BODY[]; /* of a request */
int task_read_change(struct arena *a, struct str body, struct task_change *ret,
    struct err *e) MUST_CHECK;
/*
 * What the task then is, so that its event can be made before anything is
 * written. ERR_CONFLICT out of an end, and back. The same status again is the caller's to
 * find out first: it changes nothing.
 */
int task_next(const struct task *t, const struct task_change *ch,
    int64_t now_us, struct task *ret, struct err *e) MUST_CHECK;
/* ERR_CONFLICT when it is no longer as `was`: look again. */
int task_put(struct db *db, const struct task *was, const struct task *is,
    struct str result, struct err *e) MUST_CHECK;

/* Up to RETAIN_STEP results whose time has passed go. In a transaction. */
int task_expire(struct db *db, int64_t now_us, int64_t *ret_removed,
    struct err *e) MUST_CHECK;

/* {"taskId","status","progress","currentStep",…} */
void task_show(const struct task *t, int64_t now_us, struct buf *b);
/* The same with what was found; `result` is JSON or .p NULL. */
void task_show_result(const struct task *t, struct str result, struct buf *b);
