#include "task/task.h"

#include "contract/limits.h"
#include "contract/member.h"
#include "sql.h"
#include "store/limits.h"
#include "task/limits.h"

const struct task_words TASK_WORDS[TASK_STATUSES] = {
    [TASK_QUEUED] = {"QUEUED", "queued", "invoice.queued", 0, false},
    [TASK_PROCESSING] = {"PROCESSING", "processing", "invoice.processing", 50,
	false},
    [TASK_COMPLETED] = {"COMPLETED", "completed", "invoice.completed", 100,
	true},
    [TASK_FAILED] = {"FAILED", "failed", "invoice.failed", 100, true},
    [TASK_REVIEW_REQUIRED] = {"REVIEW_REQUIRED", "review_required",
	"invoice.review_required", 80, false},
};

/* Reading what people send ---------------------------------------------------- */

/* Everything may be left out: nothing at all is the same as {}. */
static int
read_doc(struct arena *a, struct str body, const struct member *table,
    void *ret, struct json **ret_doc, struct err *e)
{
	const struct member_io io = {.form = FORM_USER, .arena = a};

	TRY(json_parse(a, body.n > 0 ? body : STR("{}"), ret_doc, e));
	if (!json_is(*ret_doc, JSON_OBJECT))
		return err_at(e, ERR_INVALID, "", "it must be a JSON object");
	return member_read(&io, table, *ret_doc, "", NULL, ret, e);
}

static struct str
raw_of(const struct json *j)
{
	return j ? j->raw : (struct str){.p = NULL};
}

struct submit {
	struct str url;
	const struct json *document;
};

const struct member TASK_BODY[] = {
    {"callbackUrl", MEMBER_CHARS, offsetof(struct submit, url), 1, SUB_URL_MAX},
    {"document", MEMBER_OBJECT, offsetof(struct submit, document),
	.most = TASK_DOCUMENT_MAX},
    {.name = NULL},
};

int
task_read_submit(
    struct arena *a, struct str body, struct task *ret, struct err *e)
{
	struct submit it = {.document = NULL};
	struct json *doc = NULL;

	TRY(read_doc(a, body, TASK_BODY, &it, &doc, e));
	*ret = (struct task){.status = TASK_QUEUED,
	    .callback_url = it.url,
	    .document = raw_of(it.document)};
	return OK;
}

struct change {
	struct task_change ch;
	const struct json *score, *result;
};

#define CHANGE(field) offsetof(struct change, field)
const char *const TASK_NAMES[TASK_STATUSES + 1] = {
    "QUEUED", "PROCESSING", "COMPLETED", "FAILED", "REVIEW_REQUIRED", NULL};
const struct member TASK_CHANGE_BODY[] = {
    {"status", MEMBER_CHOICE, CHANGE(ch.status), .words = TASK_NAMES,
	.must = true},
    {"confidenceScore", MEMBER_JSON, CHANGE(score), .schema = "Score",
	.about = "from 0 to 1"},
    {"forwarderId", MEMBER_CHARS, CHANGE(ch.forwarder_id), 1, TASK_CODE_MAX},
    {"forwarderName", MEMBER_CHARS, CHANGE(ch.forwarder_name), 1,
	TASK_NAME_MAX},
    {"result", MEMBER_OBJECT, CHANGE(result), .most = TASK_RESULT_MAX},
    {"errorCode", MEMBER_CHARS, CHANGE(ch.error_code), 1, TASK_CODE_MAX},
    {"errorMessage", MEMBER_CHARS, CHANGE(ch.error_message), 1, TASK_TEXT_MAX},
    {"errorRetryable", MEMBER_BOOL, CHANGE(ch.error_retryable)},
    {"escalationReason", MEMBER_CHARS, CHANGE(ch.reason), 1, TASK_TEXT_MAX},
    {.name = NULL},
};
/* Of a result, which may say what was not said beside it. */
static const struct member RESULT[] = {
    {"forwarderId", MEMBER_CHARS, CHANGE(ch.forwarder_id), 1, TASK_CODE_MAX},
    {"forwarderName", MEMBER_CHARS, CHANGE(ch.forwarder_name), 1,
	TASK_NAME_MAX},
    {.name = NULL},
};

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

	for (size_t i = 0; i < COUNT_OF(ONLY); i++)
		if (member_given(doc, ONLY[i].name) && s != ONLY[i].of)
			return member_wrong(e, "", ONLY[i].name,
			    "goes with status %s alone",
			    TASK_NAMES[ONLY[i].of]);
	return OK;
}

/*
 * The fewest digits that mean the same, as JavaScript writes a number between 0
 * and 1: a receiver that reads the body and writes it again, as the seed's
 * sample does, comes to the bytes that were signed.
 */
static struct str
shortest(struct arena *a, double v)
{
	char t[32];
	int more = 0, exponent;

	if (v == 0 || v == 1)
		return v == 0 ? STR("0") : STR("1");
	do
		(void)snprintf(t, sizeof(t), "%.*e", more, v);
	while (strtod(t, NULL) != v && ++more < 17);
	exponent = (int)strtol(strchr(t, 'e') + 1, NULL, 10);
	if (exponent >= -6)
		return arena_fmt(a, "0.%.*s%c%.*s", -exponent - 1, "00000",
		    t[0], more, t + 2);
	return arena_fmt(
	    a, "%c%s%.*se%d", t[0], more ? "." : "", more, t + 2, exponent);
}

static bool
read_score(struct arena *a, const struct json *j, struct str *ret)
{
	double v;

	if (!json_is(j, JSON_NUMBER) || j->raw.n > TASK_NUMBER_MAX)
		return false;
	v = strtod(arena_z(a, j->raw), NULL);
	if (!(v >= 0 && v <= 1))
		return false;
	*ret = shortest(a, v);
	return true;
}

/* One that is too long or no text is no forwarder: it is left there. */
static void
take_from_result(struct arena *a, struct change *c)
{
	const struct member_io io = {.form = FORM_USER, .arena = a};
	const struct json *j = json_get(c->result, "confidenceScore");
	struct change said = {.score = NULL};
	struct err e;

	if (!c->ch.confidence.p)
		(void)read_score(a, j, &c->ch.confidence);
	for (const struct member *m = RESULT; m->name; m++) {
		j = json_get(c->result, m->name);
		if (json_is(j, JSON_STRING) &&
		    member_query(&io, m, j->text, &said, &e) < 0)
			continue;
	}
	if (!c->ch.forwarder_id.p)
		c->ch.forwarder_id = said.ch.forwarder_id;
	if (!c->ch.forwarder_name.p)
		c->ch.forwarder_name = said.ch.forwarder_name;
}

int
task_read_change(
    struct arena *a, struct str body, struct task_change *ret, struct err *e)
{
	struct change c = {.score = NULL};
	struct json *doc = NULL;

	TRY(read_doc(a, body, TASK_CHANGE_BODY, &c, &doc, e));
	TRY(check_meaning(doc, c.ch.status, e));
	if (c.score && !read_score(a, c.score, &c.ch.confidence))
		return json_wrong(e, "/confidenceScore",
		    "must be a number from 0 to 1, of at most %d characters",
		    TASK_NUMBER_MAX);
	c.ch.result = raw_of(c.result);
	take_from_result(a, &c);
	*ret = c.ch;
	return OK;
}

/* The store -------------------------------------------------------------------- */

int
task_add(struct db *db, const struct task *t, int64_t now_us, struct err *e)
{
	TRY((int)sql_task_add(db, e, .uid = uuid_str(&t->uid),
	    .owner = t->owner, .callback_url = t->callback_url,
	    .document = t->document, .now = now_us));
	return OK;
}

static struct task
task_of(const struct sql_task_get_row *r)
{
	return (struct task){
	    .id = r->id,
	    .uid = uuid_of(r->uid),
	    .owner = r->owner,
	    .status = r->status >= 0 && r->status < TASK_STATUSES
			  ? (enum task_status)r->status
			  : TASK_QUEUED,
	    .callback_url = r->callback_url,
	    .document = r->document,
	    .confidence = r->confidence,
	    .forwarder_id = r->forwarder_id,
	    .forwarder_name = r->forwarder_name,
	    .error_code = r->error_code,
	    .error_message = r->error_message,
	    .reason = r->reason,
	    .error_retryable = r->error_retryable != 0,
	    .has_result = r->has_result != 0,
	    .created_us = r->created_at,
	    .changed_us = r->changed_at,
	    .completed_us = r->completed_at,
	    .expires_us = r->expires_at,
	};
}

int
task_get(struct db *db, struct uuid uid, struct arena *a, struct task *ret,
    struct err *e)
{
	struct sql_task_get_row row;

	if (TRY(sql_task_get_one(db, a, &row, e, .uid = uuid_str(&uid))) == 0)
		return err_set(e, ERR_ABSENT, "there is no such task");
	*ret = task_of(&row);
	return OK;
}

/* A row's texts are its own until the next is read. */
static void
keep_texts(struct arena *a, struct task *t)
{
	struct str *const texts[] = {&t->callback_url, &t->document,
	    &t->confidence, &t->forwarder_id, &t->forwarder_name,
	    &t->error_code, &t->error_message, &t->reason};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i]->p)
			*texts[i] = arena_dup(a, *texts[i]);
}

int
task_list(struct db *db, const struct task_page *p, struct arena *a,
    struct task **ret, size_t *ret_n, struct err *e)
{
	struct task *v = arena_array(a, (size_t)p->most, sizeof(*v));
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_task_get_row row;
	size_t n = 0;

	TRY(p->status < 0
		? sql_task_page(db, &rows, e, .owner = p->owner,
		      .after = p->after, .most = p->most)
		: sql_task_page_status(db, &rows, e, .owner = p->owner,
		      .status = p->status, .after = p->after, .most = p->most));
	while (
	    n < (size_t)p->most && TRY(sql_task_get_next(rows, &row, e)) > 0) {
		v[n] = task_of(&row);
		keep_texts(a, &v[n++]);
	}
	*ret = v;
	*ret_n = n;
	return OK;
}

int
task_result(struct db *db, const struct task *t, struct arena *a,
    struct str *ret, struct err *e)
{
	struct sql_task_result_row row = {.result = {.p = NULL}};

	TRY(sql_task_result_one(db, a, &row, e, .id = t->id));
	*ret = row.result;
	return OK;
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

	if (TASK_WORDS[t->status].ended)
		return err_at(e, ERR_CONFLICT, "/status",
		    "the task is %s, and nothing leads out of that",
		    TASK_WORDS[t->status].name);
	if (TASK_WORDS[ch->status].progress < TASK_WORDS[t->status].progress)
		return err_at(e, ERR_CONFLICT, "/status",
		    "the task is %s: it only goes on, not back to %s",
		    TASK_WORDS[t->status].name, TASK_WORDS[ch->status].name);
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
	if (TASK_WORDS[n.status].ended)
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
	int changed = TRY((int)sql_task_change(db, e, .id = is->id,
	    .was = was->status, .was_at = was->changed_us, .status = is->status,
	    .confidence = is->confidence, .forwarder_id = is->forwarder_id,
	    .forwarder_name = is->forwarder_name, .result = result,
	    .error_code = is->error_code, .error_message = is->error_message,
	    .error_retryable = is->error_retryable, .reason = is->reason,
	    .now = is->changed_us,
	    .completed_at = is->completed_us ? &is->completed_us : NULL,
	    .expires_at = is->expires_us ? &is->expires_us : NULL));

	return changed > 0
		   ? OK
		   : err_set(e, ERR_CONFLICT, "the task was changed meanwhile");
}

int
task_expire(struct db *db, int64_t now_us, int64_t *ret_removed, struct err *e)
{
	*ret_removed = TRY(
	    (int)sql_task_expire(db, e, .now = now_us, .most = RETAIN_STEP));
	return OK;
}

/* Showing it --------------------------------------------------------------------- */

void
task_show(const struct task *t, int64_t now_us, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "taskId", t->uid);
	put_z(b, "status", TASK_WORDS[t->status].name);
	put_int(b, "progress", TASK_WORDS[t->status].progress);
	put_z(b, "currentStep", TASK_WORDS[t->status].name);
	put_text(b, "callbackUrl", t->callback_url);
	put_raw(b, "document", t->document);
	put_raw(b, "confidenceScore", t->confidence);
	if (t->status == TASK_FAILED) {
		put_text(b, "errorCode", t->error_code);
		put_text(b, "errorMessage", t->error_message);
		put_bool(b, "errorRetryable", t->error_retryable);
	}
	if (t->status == TASK_REVIEW_REQUIRED)
		put_text(b, "escalationReason", t->reason);
	put_time(b, "createdAt", t->created_us);
	put_time(b, "updatedAt", t->changed_us);
	put_time(b, "completedAt", t->completed_us);
	put_bool(b, "resultAvailable",
	    t->status == TASK_COMPLETED && now_us < t->expires_us);
	put_time(b, "resultExpiresAt", t->expires_us);
	put_close(b, '}');
}

void
task_show_result(const struct task *t, struct str result, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "taskId", t->uid);
	put_z(b, "status", TASK_WORDS[t->status].name);
	put_raw(b, "confidenceScore", t->confidence);
	put_text(b, "forwarderId", t->forwarder_id);
	put_text(b, "forwarderName", t->forwarder_name);
	put_raw(b, "result", result);
	put_time(b, "completedAt", t->completed_us);
	put_time(b, "resultExpiresAt", t->expires_us);
	put_close(b, '}');
}
