/* target.h: configurations of a key. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/sub.h"
#include "sql.h"
#include "task/limits.h"
#include "task/target.h"

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for a configuration");
}

/* Reading ----------------------------------------------------------------------- */

static int
read_events(const struct json *j, unsigned *ret, struct err *e)
{
	static const char WHAT[] =
	    "must be a list of invoice.processing, invoice.completed, "
	    "invoice.failed and invoice.review_required";
	unsigned bits = 0;
	int i = 0;

	if (!j || !json_is(j, JSON_ARRAY) || !j->child)
		return json_wrong(e, "/events", WHAT);
	for (const struct json *x = j->child; x; x = x->next, i++) {
		char at[JSON_POINTER_MAX + 1] = "/events", place[24];
		enum task_status s;

		(void)snprintf(place, sizeof(place), "%d", i);
		json_point(at, str_of(place));
		if (!json_is(x, JSON_STRING) || !task_event_find(x->text, &s))
			return err_at(e, ERR_INVALID, at, "events %s", WHAT);
		bits |= 1U << (unsigned)s;
	}
	*ret = bits;
	return OK;
}

static int
read_bool(const struct json *doc, const char *name, bool absent, bool *ret,
    struct err *e)
{
	const struct json *j = json_get(doc, name);
	char at[JSON_POINTER_MAX + 1] = "";

	if (!j)
		return OK;
	json_point(at, str_of(name));
	if (j->type != JSON_NULL && !json_is_bool(j))
		return json_wrong(e, at, "must be true or false");
	*ret = j->type == JSON_NULL ? absent : j->type == JSON_TRUE;
	return OK;
}

static int
read_number(const struct json *doc, const char *name, int64_t least,
    int64_t most, int64_t absent, int64_t *ret, struct err *e)
{
	const struct json *j = json_get(doc, name);
	char at[JSON_POINTER_MAX + 1] = "";
	int64_t v = absent;

	if (!j)
		return OK;
	json_point(at, str_of(name));
	if (j->type != JSON_NULL && (!json_int(j, &v) || v < least || v > most))
		return json_wrong(e, at,
		    "must be a whole number from %lld to %lld",
		    (long long)least, (long long)most);
	*ret = v;
	return OK;
}

static int
read_about(const struct json *j, struct str *ret, struct err *e)
{
	if (!j)
		return OK;
	if (j->type == JSON_NULL) {
		*ret = (struct str){.p = NULL};
		return OK;
	}
	if (!json_is(j, JSON_STRING) ||
	    str_chars(j->text, TASK_ABOUT_MAX).n < j->text.n ||
	    memchr(j->text.p, 0, j->text.n))
		return json_wrong(e, "/description",
		    "must be a string of at most %d characters",
		    TASK_ABOUT_MAX);
	*ret = j->text;
	return OK;
}

static int
read_secret(const struct json *j, struct str *ret, struct err *e)
{
	if (!j || j->type == JSON_NULL)
		return OK;
	if (!json_is(j, JSON_STRING) || j->text.n == 0 ||
	    j->text.n > TASK_SECRET_MAX)
		return json_wrong(e, "/secret",
		    "must be a string of 1 to %d bytes", TASK_SECRET_MAX);
	*ret = j->text;
	return OK;
}

static int
read_all(const struct json *doc, bool fresh, struct config *c,
    struct str *secret, struct err *e)
{
	const struct json *url = json_get(doc, "url");
	const struct json *events = json_get(doc, "events");
	int rc = OK;

	if ((url || fresh) &&
	    (!url || !json_is(url, JSON_STRING) || url->text.n == 0))
		return json_wrong(e, "/url", "must be a URL");
	if (url)
		c->url = url->text;
	if (events || fresh)
		rc = read_events(events, &c->events, e);
	if (rc == OK)
		rc = read_bool(doc, "isActive", true, &c->active, e);
	if (rc == OK)
		rc = read_bool(doc, "retryEnabled", true, &c->retry_enabled, e);
	if (rc == OK)
		rc = read_number(doc, "timeout", 1, SUB_TIMEOUT_MAX_MS, 30000,
		    &c->timeout_ms, e);
	if (rc == OK)
		rc = read_number(doc, "maxRetries", 0, RETRY_DELAYS_MAX, 3,
		    &c->max_retries, e);
	if (rc == OK)
		rc = read_about(
		    json_get(doc, "description"), &c->description, e);
	if (rc == OK)
		rc = read_secret(json_get(doc, "secret"), secret, e);
	return rc;
}

static void
add_events(unsigned bits, struct buf *b)
{
	bool more = false;

	buf_addc(b, '[');
	for (int s = 0; s < TASK_STATUSES; s++)
		if (bits & 1U << (unsigned)s) {
			buf_fmt(b, "%s\"%s\"", more ? "," : "",
			    task_event_name((enum task_status)s));
			more = true;
		}
	buf_addc(b, ']');
}

static int
sub_json(struct arena *a, const struct config *c, struct str secret,
    const struct json *headers, struct str *ret, struct err *e)
{
	struct buf b = BUF(SUB_STORED_MAX);

	buf_addz(&b, "{\"name\":\"webhook configuration\",\"preset\":\"task\","
		     "\"types\":");
	add_events(c->events, &b);
	buf_addz(&b, ",\"url\":");
	buf_json(&b, c->url);
	buf_fmt(&b,
	    ",\"enabled\":%s,\"timeoutMs\":%lld,\"retry\":{\"count\":%lld}",
	    c->active ? "true" : "false", (long long)c->timeout_ms,
	    (long long)(c->retry_enabled ? c->max_retries : 0));
	if (secret.p) {
		buf_addz(&b, ",\"secret\":");
		buf_json(&b, secret);
	}
	if (headers) {
		buf_addz(&b, ",\"headers\":");
		buf_add(&b, headers->raw);
	}
	buf_addc(&b, '}');
	*ret = b.failed ? (struct str){.p = NULL} : arena_dup(a, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : no_room(e);
}

int
config_read(struct arena *a, struct str body, const struct config *old,
    struct str key_secret, struct config *ret, struct str *ret_sub,
    struct err *e)
{
	static const char *const NAMES[] = {"events", "url", "secret",
	    "isActive", "timeout", "retryEnabled", "maxRetries", "headers",
	    "description", NULL};
	static const struct config INITIAL = {.active = true,
	    .retry_enabled = true,
	    .timeout_ms = 30000,
	    .max_retries = 3};
	struct config c = old ? *old : INITIAL;
	struct str secret = old ? (struct str){.p = NULL} : key_secret;
	struct json *doc = NULL;
	int rc = json_parse(a, body, &doc, e);

	if (rc == OK && !json_is(doc, JSON_OBJECT))
		rc = err_at(
		    e, ERR_INVALID, "", "a configuration is a JSON object");
	if (rc == OK)
		rc = json_known(doc, "", NAMES, e);
	if (rc == OK)
		rc = read_all(doc, !old, &c, &secret, e);
	if (rc == OK)
		rc = sub_json(
		    a, &c, secret, json_get(doc, "headers"), ret_sub, e);
	if (rc == OK)
		*ret = c;
	return rc;
}

/* The store ---------------------------------------------------------------------- */

static bool
take(const struct sql_task_config_list_row *row, int64_t owner, struct arena *a,
    struct config *c)
{
	*c = (struct config){
	    .sub = row->sub,
	    .version = row->version,
	    .owner = owner,
	    .url = arena_dup(a, row->url),
	    .events = (unsigned)row->events,
	    .active = row->enabled != 0,
	    .retry_enabled = row->retry_enabled != 0,
	    .max_retries = row->max_retries,
	    .created_us = row->created_at,
	    .changed_us = row->changed_at,
	    .stored = arena_dup(a, row->conf),
	};
	if (row->uid.n == sizeof(c->uid.b))
		memcpy(c->uid.b, row->uid.p, row->uid.n);
	if (row->description.p)
		c->description = arena_dup(a, row->description);
	return c->url.p && c->stored.p &&
	       (!row->description.p || c->description.p);
}

int
config_list(struct db *db, int64_t owner, const struct uuid *uid, int64_t after,
    size_t most, struct arena *a, struct config **ret, size_t *ret_n,
    struct err *e)
{
	struct config *v = arena_array(a, most, sizeof(*v));
	struct str id = uid ? uuid_str(uid) : (struct str){.p = NULL};
	struct sql_task_config_list_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = v ? sql_task_config_list(db, &rows, e, .owner = owner,
			 .uid = id, .after = after, .most = (int64_t)most)
		   : no_room(e);

	while (rc >= 0 && n < most && (rc = rows_next(rows, e)) > 0) {
		sql_task_config_list_get(rows, &row);
		if (!take(&row, owner, a, &v[n++]))
			rc = no_room(e);
	}
	rows_close(rows);
	if (rc < 0)
		return rc;
	if (uid && n == 0)
		return err_set(e, ERR_ABSENT, "there is no such configuration");
	*ret = v;
	*ret_n = n;
	return OK;
}

static int
check_count(struct db *db, int64_t owner, struct err *e)
{
	struct rows *rows = NULL;
	int64_t n = 0;
	int rc = sql_task_config_count(db, &rows, e, .owner = owner);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		n = rows_int(rows, 0);
	rows_close(rows);
	if (rc >= 0 && n >= TASK_CONFIGS_MAX)
		return err_set(e, ERR_CONFLICT,
		    "a key has at most %d configurations", TASK_CONFIGS_MAX);
	return rc < 0 ? rc : OK;
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
	int rc = check_count(db, c->owner, e);

	if (rc < 0)
		return rc;
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
	if (sql_task_count_end(db, e, .owner = c->owner, .sub = c->sub) < 0 ||
	    sql_task_event_end(db, e, .sub = c->sub) < 0 ||
	    sql_task_config_del(db, e, .uid = uuid_str(&c->uid)) < 0)
		return e->code;
	return OK;
}

/* Showing it ----------------------------------------------------------------------- */

static void
add_headers(const struct sub_conf *s, struct buf *b)
{
	buf_addz(b, ",\"headers\":{");
	for (size_t i = 0; i < s->n_headers; i++) {
		const struct sub_header *h = &s->headers[i];

		if (i > 0)
			buf_addc(b, ',');
		buf_json(b, h->name);
		buf_addc(b, ':');
		buf_json(b, h->secret ? STR(SUB_MASK) : h->value);
	}
	buf_addc(b, '}');
}

void
config_show(
    const struct config *c, const struct sub_conf *s, bool once, struct buf *b)
{
	buf_addz(b, "{\"id\":\"");
	uuid_add(b, c->uid);
	buf_addz(b, "\",\"url\":");
	buf_json(b, c->url);
	buf_addz(b, ",\"events\":");
	add_events(c->events, b);
	buf_addz(b, ",\"secret\":");
	buf_json(
	    b, once && s->n_secrets > 0 ? s->secrets[0].text : STR(SUB_MASK));
	buf_fmt(b,
	    ",\"isActive\":%s,\"timeout\":%lld,\"retryEnabled\":%s,\"maxRetries\":%lld",
	    c->active ? "true" : "false",
	    (long long)(s->timeout_ms ? s->timeout_ms : s->preset->total_ms),
	    c->retry_enabled ? "true" : "false", (long long)c->max_retries);
	buf_addz(b, ",\"description\":");
	if (c->description.p)
		buf_json(b, c->description);
	else
		buf_addz(b, "null");
	add_headers(s, b);
	buf_addz(b, ",\"createdAt\":\"");
	time_add(b, c->created_us);
	buf_addz(b, "\",\"updatedAt\":\"");
	time_add(b, c->changed_us);
	buf_addz(b, "\"}");
}
