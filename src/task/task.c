#include "task/task.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/limits.h"
#include "sql.h"
#include "store/limits.h"
#include "task/limits.h"

/* Seed 004, 5.3: statuses, what they are called, how far they are. */
static const struct {
	const char *name, *word, *event;
	int progress;
} STATUSES[TASK_STATUSES] = {
    [TASK_QUEUED] = {"QUEUED", "queued", NULL, 0},
    [TASK_PROCESSING] = {"PROCESSING", "processing", "invoice.processing", 50},
    [TASK_COMPLETED] = {"COMPLETED", "completed", "invoice.completed", 100},
    [TASK_FAILED] = {"FAILED", "failed", "invoice.failed", 100},
    [TASK_REVIEW_REQUIRED] = {"REVIEW_REQUIRED", "review_required",
	"invoice.review_required", 80},
};

const char *
task_status_name(enum task_status s)
{
	return STATUSES[s].name;
}

const char *
task_status_word(enum task_status s)
{
	return STATUSES[s].word;
}

const char *
task_event_name(enum task_status s)
{
	return STATUSES[s].event;
}

bool
task_event_find(struct str name, enum task_status *ret)
{
	for (int s = 0; s < TASK_STATUSES; s++)
		if (STATUSES[s].event &&
		    str_eq(name, str_of(STATUSES[s].event))) {
			*ret = (enum task_status)s;
			return true;
		}
	return false;
}

int
task_progress(enum task_status s)
{
	return STATUSES[s].progress;
}

bool
task_ended(enum task_status s)
{
	return s == TASK_COMPLETED || s == TASK_FAILED;
}

/* Reading what people send ---------------------------------------------------- */

static bool
given(const struct json *j)
{
	return j && j->type != JSON_NULL;
}

/* A text of 1 to `most` characters; absent leaves *ret alone. */
static int
read_text(const struct json *doc, const char *name, size_t most,
    struct str *ret, struct err *e)
{
	const struct json *j = json_get(doc, name);
	char at[JSON_POINTER_MAX + 1] = "";

	if (!given(j))
		return OK;
	json_point(at, str_of(name));
	if (!json_is(j, JSON_STRING) || j->text.n == 0 ||
	    str_chars(j->text, most).n < j->text.n)
		return json_wrong(
		    e, at, "must be a string of 1 to %zu characters", most);
	/* PostgreSQL's texts can't hold it. */
	if (memchr(j->text.p, 0, j->text.n))
		return json_wrong(e, at, "must not have a NUL character");
	*ret = j->text;
	return OK;
}

static int
read_object(const struct json *doc, const char *name, size_t most,
    struct str *ret, struct err *e)
{
	const struct json *j = json_get(doc, name);
	char at[JSON_POINTER_MAX + 1] = "";

	if (!given(j))
		return OK;
	json_point(at, str_of(name));
	if (!json_is(j, JSON_OBJECT))
		return json_wrong(e, at, "must be an object");
	if (j->raw.n > most)
		return json_wrong(e, at, "must have at most %zu bytes", most);
	*ret = j->raw;
	return OK;
}

static int
read_doc(struct arena *a, struct str body, const char *const *names,
    struct json **ret, struct err *e)
{
	/* Everything may be left out: nothing at all is the same as {}. */
	int rc = json_parse(a, body.n > 0 ? body : STR("{}"), ret, e);

	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		rc = err_at(e, ERR_INVALID, "", "it must be a JSON object");
	return rc == OK ? json_known(*ret, "", names, e) : rc;
}

int
task_read_submit(
    struct arena *a, struct str body, struct task *ret, struct err *e)
{
	static const char *const NAMES[] = {"callbackUrl", "document", NULL};
	struct json *doc = NULL;
	struct task t = {.status = TASK_QUEUED};
	int rc = read_doc(a, body, NAMES, &doc, e);

	if (rc == OK)
		rc = read_text(
		    doc, "callbackUrl", SUB_URL_MAX, &t.callback_url, e);
	if (rc == OK)
		rc = read_object(
		    doc, "document", TASK_DOCUMENT_MAX, &t.document, e);
	if (rc == OK)
		*ret = t;
	return rc;
}

static int
read_status(const struct json *doc, enum task_status *ret, struct err *e)
{
	const struct json *j = json_get(doc, "status");

	for (int s = 0; json_is(j, JSON_STRING) && s < TASK_STATUSES; s++)
		if (str_eq(j->text, str_of(STATUSES[s].name))) {
			*ret = (enum task_status)s;
			return OK;
		}
	return json_wrong(e, "/status",
	    "must be QUEUED, PROCESSING, COMPLETED, FAILED or REVIEW_REQUIRED");
}

static int
read_score(const struct json *doc, struct str *ret, struct err *e)
{
	const struct json *j = json_get(doc, "confidenceScore");

	if (!given(j))
		return OK;
	if (!json_is(j, JSON_NUMBER) || j->raw.n > TASK_NUMBER_MAX)
		return json_wrong(e, "/confidenceScore",
		    "must be a number of at most %d characters",
		    TASK_NUMBER_MAX);
	*ret = j->raw;
	return OK;
}

/* What has a meaning with one status alone. */
static int
check_meaning(const struct json *doc, enum task_status s, struct err *e)
{
	static const struct {
		const char *name;
		enum task_status of;
	} ONLY[] = {
	    {"result", TASK_COMPLETED},
	    {"errorCode", TASK_FAILED},
	    {"errorMessage", TASK_FAILED},
	    {"errorRetryable", TASK_FAILED},
	    {"escalationReason", TASK_REVIEW_REQUIRED},
	};
	char at[JSON_POINTER_MAX + 1] = "";

	for (size_t i = 0; i < COUNT_OF(ONLY); i++)
		if (given(json_get(doc, ONLY[i].name)) && s != ONLY[i].of) {
			json_point(at, str_of(ONLY[i].name));
			return json_wrong(e, at, "goes with status %s alone",
			    STATUSES[ONLY[i].of].name);
		}
	return OK;
}

/* The result may say what was not said beside it. */
static void
take_from_result(const struct json *doc, struct task_change *ch)
{
	const struct json *r = json_get(doc, "result"), *j;

	j = json_get(r, "confidenceScore");
	if (!ch->confidence.p && json_is(j, JSON_NUMBER) &&
	    j->raw.n <= TASK_NUMBER_MAX)
		ch->confidence = j->raw;
	/* One that is too long or no text is no forwarder: it is left there. */
	if (!ch->forwarder_id.p)
		(void)read_text(r, "forwarderId", TASK_CODE_MAX,
		    &ch->forwarder_id, &(struct err){0});
	if (!ch->forwarder_name.p)
		(void)read_text(r, "forwarderName", TASK_NAME_MAX,
		    &ch->forwarder_name, &(struct err){0});
}

int
task_read_change(
    struct arena *a, struct str body, struct task_change *ret, struct err *e)
{
	static const char *const NAMES[] = {"status", "confidenceScore",
	    "forwarderId", "forwarderName", "result", "errorCode",
	    "errorMessage", "errorRetryable", "escalationReason", NULL};
	struct json *doc = NULL;
	const struct json *j;
	struct task_change ch = {.error_retryable = false};
	int rc = read_doc(a, body, NAMES, &doc, e);

	if (rc == OK)
		rc = read_status(doc, &ch.status, e);
	if (rc == OK)
		rc = check_meaning(doc, ch.status, e);
	if (rc == OK)
		rc = read_score(doc, &ch.confidence, e);
	if (rc == OK)
		rc = read_text(
		    doc, "forwarderId", TASK_CODE_MAX, &ch.forwarder_id, e);
	if (rc == OK)
		rc = read_text(
		    doc, "forwarderName", TASK_NAME_MAX, &ch.forwarder_name, e);
	if (rc == OK)
		rc = read_object(doc, "result", TASK_RESULT_MAX, &ch.result, e);
	if (rc == OK)
		rc = read_text(
		    doc, "errorCode", TASK_CODE_MAX, &ch.error_code, e);
	if (rc == OK)
		rc = read_text(
		    doc, "errorMessage", TASK_TEXT_MAX, &ch.error_message, e);
	if (rc == OK)
		rc = read_text(
		    doc, "escalationReason", TASK_TEXT_MAX, &ch.reason, e);
	j = json_get(doc, "errorRetryable");
	if (rc == OK && given(j) && !json_is_bool(j))
		rc = json_wrong(e, "/errorRetryable", "must be true or false");
	if (rc < 0)
		return rc;
	ch.error_retryable = json_is(j, JSON_TRUE);
	take_from_result(doc, &ch);
	*ret = ch;
	return OK;
}

/* The store -------------------------------------------------------------------- */

int
task_add(struct db *db, const struct task *t, int64_t now_us, struct err *e)
{
	return sql_task_add(db, e, .uid = uuid_str(&t->uid), .owner = t->owner,
		   .callback_url = t->callback_url, .document = t->document,
		   .now = now_us) < 0
		   ? (int)e->code
		   : OK;
}

static bool
keep(struct arena *a, struct str s, struct str *ret)
{
	*ret = s.p ? arena_dup(a, s) : s;
	return !s.p || ret->p;
}

static int
take_row(const struct sql_task_get_row *r, struct arena *a, struct task *t,
    struct err *e)
{
	*t = (struct task){
	    .id = r->id,
	    .uid = t->uid,
	    .owner = r->owner,
	    .status = r->status >= 0 && r->status < TASK_STATUSES
			  ? (enum task_status)r->status
			  : TASK_QUEUED,
	    .error_retryable = r->error_retryable != 0,
	    .has_result = r->has_result != 0,
	    .created_us = r->created_at,
	    .changed_us = r->changed_at,
	    .completed_us = r->completed_at,
	    .expires_us = r->expires_at,
	};
	return keep(a, r->callback_url, &t->callback_url) &&
		       keep(a, r->document, &t->document) &&
		       keep(a, r->confidence, &t->confidence) &&
		       keep(a, r->forwarder_id, &t->forwarder_id) &&
		       keep(a, r->forwarder_name, &t->forwarder_name) &&
		       keep(a, r->error_code, &t->error_code) &&
		       keep(a, r->error_message, &t->error_message) &&
		       keep(a, r->reason, &t->reason)
		   ? OK
		   : err_set(e, ERR_NOMEM, "no memory for a task");
}

int
task_get(struct db *db, struct uuid uid, struct arena *a, struct task *ret,
    struct err *e)
{
	struct sql_task_get_row row;
	struct task t = {.uid = uid};
	struct rows *rows = NULL;
	int rc = sql_task_get(db, &rows, e, .uid = uuid_str(&uid));

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_task_get_get(rows, &row);
		rc = take_row(&row, a, &t, e);
	} else if (rc == 0) {
		rc = err_set(e, ERR_ABSENT, "there is no such task");
	}
	rows_close(rows);
	if (rc == OK)
		*ret = t;
	return rc;
}

int
task_result(struct db *db, const struct task *t, struct arena *a,
    struct str *ret, struct err *e)
{
	struct rows *rows = NULL;
	bool ok = true;
	int rc = sql_task_result(db, &rows, e, .id = t->id);

	*ret = (struct str){.p = NULL};
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		ok = keep(a, rows_str(rows, 0), ret);
	rows_close(rows);
	if (rc >= 0 && !ok)
		rc = err_set(e, ERR_NOMEM, "no memory for a result");
	return rc < 0 ? rc : OK;
}

static void
replace(struct str *was, struct str said)
{
	if (said.p)
		*was = said;
}

int
task_next(const struct task *t, const struct task_change *ch, int64_t now_us,
    struct task *ret, struct err *e)
{
	struct task n = *t;

	if (task_ended(t->status))
		return err_at(e, ERR_CONFLICT, "/status",
		    "the task is %s, and nothing leads out of that",
		    STATUSES[t->status].name);
	n.status = ch->status;
	/* Later than before, however the clock went: task_put() tells by it. */
	n.changed_us = now_us > t->changed_us ? now_us : t->changed_us + 1;
	n.has_result = ch->result.p != NULL;
	n.error_retryable = ch->error_retryable;
	replace(&n.confidence, ch->confidence);
	replace(&n.forwarder_id, ch->forwarder_id);
	replace(&n.forwarder_name, ch->forwarder_name);
	replace(&n.error_code, ch->error_code);
	replace(&n.error_message, ch->error_message);
	replace(&n.reason, ch->reason);
	if (task_ended(n.status))
		n.completed_us = now_us;
	if (n.status == TASK_COMPLETED)
		n.expires_us = now_us + TASK_RESULT_DAYS * US_PER_DAY;
	*ret = n;
	return OK;
}

int
task_put(struct db *db, const struct task *was, const struct task *is,
    struct str result, struct err *e)
{
	int64_t changed = sql_task_change(db, e, .id = is->id,
	    .was = was->status, .was_at = was->changed_us, .status = is->status,
	    .confidence = is->confidence, .forwarder_id = is->forwarder_id,
	    .forwarder_name = is->forwarder_name, .result = result,
	    .error_code = is->error_code, .error_message = is->error_message,
	    .error_retryable = is->error_retryable, .reason = is->reason,
	    .now = is->changed_us,
	    .completed_at = is->completed_us ? &is->completed_us : NULL,
	    .expires_at = is->expires_us ? &is->expires_us : NULL);

	if (changed < 0)
		return e->code;
	return changed > 0
		   ? OK
		   : err_set(e, ERR_CONFLICT, "the task was changed meanwhile");
}

int
task_expire(struct db *db, int64_t now_us, int64_t *ret_removed, struct err *e)
{
	int64_t n = sql_task_expire(db, e, .now = now_us, .most = RETAIN_STEP);

	if (n < 0)
		return e->code;
	*ret_removed = n;
	return OK;
}

/* Showing it --------------------------------------------------------------------- */

static void
add_time(struct buf *b, const char *name, int64_t us)
{
	buf_fmt(b, ",\"%s\":", name);
	if (us == 0) {
		buf_addz(b, "null");
		return;
	}
	buf_addc(b, '"');
	time_add(b, us);
	buf_addc(b, '"');
}

static void
add_text(struct buf *b, const char *name, struct str s)
{
	buf_fmt(b, ",\"%s\":", name);
	if (s.p)
		buf_json(b, s);
	else
		buf_addz(b, "null");
}

static void
add_raw(struct buf *b, const char *name, struct str json)
{
	buf_fmt(b, ",\"%s\":", name);
	buf_add(b, json.p ? json : STR("null"));
}

void
task_show(const struct task *t, int64_t now_us, struct buf *b)
{
	buf_addz(b, "{\"taskId\":\"");
	uuid_add(b, t->uid);
	buf_fmt(b,
	    "\",\"status\":\"%s\",\"progress\":%d,\"currentStep\":\"%s\"",
	    STATUSES[t->status].name, STATUSES[t->status].progress,
	    STATUSES[t->status].name);
	add_text(b, "callbackUrl", t->callback_url);
	add_raw(b, "document", t->document);
	add_raw(b, "confidenceScore", t->confidence);
	if (t->status == TASK_FAILED) {
		add_text(b, "errorCode", t->error_code);
		add_text(b, "errorMessage", t->error_message);
		buf_fmt(b, ",\"errorRetryable\":%s",
		    t->error_retryable ? "true" : "false");
	}
	if (t->status == TASK_REVIEW_REQUIRED)
		add_text(b, "escalationReason", t->reason);
	add_time(b, "createdAt", t->created_us);
	add_time(b, "updatedAt", t->changed_us);
	add_time(b, "completedAt", t->completed_us);
	buf_fmt(b, ",\"resultAvailable\":%s",
	    t->status == TASK_COMPLETED && now_us < t->expires_us ? "true"
								  : "false");
	add_time(b, "resultExpiresAt", t->expires_us);
	buf_addc(b, '}');
}

void
task_show_result(const struct task *t, struct str result, struct buf *b)
{
	buf_addz(b, "{\"taskId\":\"");
	uuid_add(b, t->uid);
	buf_fmt(b, "\",\"status\":\"%s\"", STATUSES[t->status].name);
	add_raw(b, "confidenceScore", t->confidence);
	add_text(b, "forwarderId", t->forwarder_id);
	add_text(b, "forwarderName", t->forwarder_name);
	add_raw(b, "result", result);
	add_time(b, "completedAt", t->completed_us);
	add_time(b, "resultExpiresAt", t->expires_us);
	buf_addc(b, '}');
}
