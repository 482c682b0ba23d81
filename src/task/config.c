#include "task/config.h"

#include "contract/member.h"
#include "contract/sub.h"
#include "sql.h"
#include "task/limits.h"
#include "task/task.h"

/* Reading ----------------------------------------------------------------------- */

/* In the order of enum task_status, behind QUEUED. */
static const char *const EVENTS[] = {"invoice.processing", "invoice.completed",
    "invoice.failed", "invoice.review_required", NULL};
#define FIRST_EVENT TASK_PROCESSING

struct body {
	struct config c;
	unsigned events; /* bits by the index in EVENTS */
	struct str secret;
	const struct json *headers;
};

#define BODY_AT(field) offsetof(struct body, field)
const struct member CONFIG_BODY[] = {
    {"url", MEMBER_STRING, BODY_AT(c.url), 1, INT32_MAX},
    {"events", MEMBER_WORDS, BODY_AT(events), 1, .words = EVENTS},
    {"secret", MEMBER_STRING, BODY_AT(secret), 1, TASK_SECRET_MAX},
    {"isActive", MEMBER_BOOL, BODY_AT(c.active)},
    {"timeout", MEMBER_INT, BODY_AT(c.timeout_ms), 1, SUB_TIMEOUT_MAX_MS,
	.about = "milliseconds"},
    {"retryEnabled", MEMBER_BOOL, BODY_AT(c.retry_enabled)},
    {"maxRetries", MEMBER_INT, BODY_AT(c.max_retries), 0, RETRY_DELAYS_MAX},
    {"headers", MEMBER_JSON, BODY_AT(headers), .schema = "HeaderValues"},
    {"description", MEMBER_CHARS, BODY_AT(c.description), 0, TASK_ABOUT_MAX},
    {.name = NULL},
};
static const struct config INITIAL = {.active = true,
    .retry_enabled = true,
    .timeout_ms = 30000,
    .max_retries = 3};

static void
put_events(struct buf *b, const char *name, unsigned bits)
{
	put_open(b, name, '[');
	for (unsigned i = 0; EVENTS[i]; i++)
		if (bits & 1U << (FIRST_EVENT + i))
			put_z(b, NULL, EVENTS[i]);
	put_close(b, ']');
}

static int
sub_json(struct arena *a, const struct body *x, struct str *ret, struct err *e)
{
	const struct config *c = &x->c;
	struct buf b CLEANUP(buf_done) = BUF(SUB_STORED_MAX);

	put_open(&b, NULL, '{');
	put_z(&b, "name", "webhook configuration");
	put_z(&b, "preset", "task");
	put_events(&b, "types", c->events);
	put_text(&b, "url", c->url);
	put_bool(&b, "enabled", c->active);
	put_int(&b, "timeoutMs", c->timeout_ms);
	put_open(&b, "retry", '{');
	put_int(&b, "count", c->retry_enabled ? c->max_retries : 0);
	put_close(&b, '}');
	if (x->secret.p)
		put_text(&b, "secret", x->secret);
	if (x->headers)
		put_raw(&b, "headers", x->headers->raw);
	put_close(&b, '}');
	if (b.failed)
		return err_set(e, ERR_LIMIT, "a configuration is too large");
	*ret = arena_dup(a, buf_str(&b));
	return OK;
}

int
config_read(struct arena *a, struct str body, const struct config *old,
    struct str key_secret, struct config *ret, struct str *ret_sub,
    struct err *e)
{
	const struct member_io io = {.form = FORM_USER, .arena = a};
	struct body x = {.c = old ? *old : INITIAL}, initial;
	struct json *doc = NULL;

	TRY(json_parse(a, body, &doc, e));
	if (!old)
		x.secret = key_secret;
	x.events = x.c.events >> FIRST_EVENT;
	initial = (struct body){.c = INITIAL, .secret = x.secret};
	if (!json_is(doc, JSON_OBJECT))
		return err_at(
		    e, ERR_INVALID, "", "a configuration is a JSON object");
	TRY(member_read(&io, CONFIG_BODY, doc, "", &initial, &x, e));
	if (x.c.url.n == 0)
		return json_wrong(e, "/url", "must be a URL");
	if (x.events == 0)
		return json_wrong(e, "/events", "must name an event");
	x.c.events = x.events << FIRST_EVENT;
	x.c.own_secret = x.secret.p && x.secret.p != key_secret.p;
	*ret = x.c;
	return sub_json(a, &x, ret_sub, e);
}

/* The store ---------------------------------------------------------------------- */

static struct config
config_of(const struct sql_task_config_list_row *row, int64_t owner)
{
	return (struct config){
	    .sub = row->sub,
	    .version = row->version,
	    .uid = uuid_of(row->uid),
	    .owner = owner,
	    .url = row->url,
	    .events = (unsigned)row->events,
	    .active = row->enabled != 0,
	    .retry_enabled = row->retry_enabled != 0,
	    .max_retries = row->max_retries,
	    .description = row->description,
	    .created_us = row->created_at,
	    .changed_us = row->changed_at,
	    .stored = row->conf,
	};
}

int
config_get(struct db *db, int64_t owner, struct uuid uid, struct arena *a,
    struct config *ret, struct err *e)
{
	struct sql_task_config_list_row row;
	int rc = TRY(sql_task_config_list_one(db, a, &row, e, .owner = owner,
	    .uid = uuid_str(&uid), .after = 0, .most = 1));

	if (rc == 0)
		return err_set(e, ERR_ABSENT, "there is no such configuration");
	*ret = config_of(&row, owner);
	return OK;
}

int
config_list(struct db *db, int64_t owner, struct arena *a, struct config **ret,
    size_t *ret_n, struct err *e)
{
	struct config *v = arena_array(a, TASK_CONFIGS_MAX, sizeof(*v));
	struct sql_task_config_list_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	size_t n = 0;

	TRY(sql_task_config_list(db, &rows, e, .owner = owner,
	    .uid = {.p = NULL}, .after = 0, .most = TASK_CONFIGS_MAX));
	while (n < TASK_CONFIGS_MAX &&
	       TRY(sql_task_config_list_next(rows, &row, e)) > 0) {
		row.url = arena_dup(a, row.url);
		row.conf = arena_dup(a, row.conf);
		if (row.description.p)
			row.description = arena_dup(a, row.description);
		v[n++] = config_of(&row, owner);
	}
	*ret = v;
	*ret_n = n;
	return OK;
}

static int
taken(int64_t n, struct err *e)
{
	if (n >= 0)
		return OK;
	if (e->code == ERR_CONFLICT)
		return err_at(e, ERR_CONFLICT, "/url",
		    "this key has a configuration for that URL already");
	return e->code;
}

int
config_add(struct db *db, const struct config *c, int64_t now_us, struct err *e)
{
	struct sql_task_config_count_row row = {0};

	TRY(sql_task_config_count_one(db, &row, e, .owner = c->owner));
	if (row.n >= TASK_CONFIGS_MAX)
		return err_set(e, ERR_CONFLICT,
		    "a key has at most %d configurations", TASK_CONFIGS_MAX);
	return taken(sql_task_config_add(db, e, .uid = uuid_str(&c->uid),
			 .owner = c->owner, .url = c->url, .events = c->events,
			 .retry_enabled = c->retry_enabled,
			 .max_retries = c->max_retries,
			 .description = c->description, .now = now_us),
	    e);
}

int
config_set(struct db *db, const struct config *c, int64_t now_us, struct err *e)
{
	return taken(
	    sql_task_config_set(db, e, .uid = uuid_str(&c->uid), .url = c->url,
		.events = c->events, .retry_enabled = c->retry_enabled,
		.max_retries = c->max_retries, .description = c->description,
		.now = now_us),
	    e);
}

int
config_del(struct db *db, const struct config *c, struct err *e)
{
	TRY((int)sql_task_count_end(db, e, .owner = c->owner, .sub = c->sub));
	TRY((int)sql_task_event_end(db, e, .sub = c->sub));
	TRY((int)sql_task_config_del(db, e, .uid = uuid_str(&c->uid)));
	return OK;
}

/* Showing it ----------------------------------------------------------------------- */

void
config_show(
    const struct config *c, const struct sub_conf *s, bool once, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", c->uid);
	put_text(b, "url", c->url);
	put_events(b, "events", c->events);
	put_text(b, "secret",
	    once && s->n_secrets > 0 ? s->secrets[0].text : STR(SUB_MASK));
	put_bool(b, "isActive", c->active);
	put_int(
	    b, "timeout", s->timeout_ms ? s->timeout_ms : s->preset->total_ms);
	put_bool(b, "retryEnabled", c->retry_enabled);
	put_int(b, "maxRetries", c->max_retries);
	put_text(b, "description", c->description);
	put_open(b, "headers", '{');
	for (size_t i = 0; i < s->n_headers; i++) {
		const struct sub_header *h = &s->headers[i];

		put_text(b, NULL, h->name);
		buf_addc(b, ':');
		buf_json(b, h->secret ? STR(SUB_MASK) : h->value);
	}
	put_close(b, '}');
	put_time(b, "createdAt", c->created_us);
	put_time(b, "updatedAt", c->changed_us);
	put_close(b, '}');
}
