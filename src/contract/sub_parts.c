/* sub.h: lists, headers, auth, retry and batch. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/sub_priv.h"
#include "event/envelope.h"

static const char *const AUTHS[] = {
    "none", "basic", "bearer", "apikey", "oauth2", "mtls", NULL};
static const char *const MODES[] = {"immediate", "batched", "summary", NULL};

#define AUTH(field) offsetof(struct sub_auth, field)
#define AUTH_TYPE                                                              \
	{                                                                      \
		.name = "type", .kind = MEMBER_OWN                             \
	}
static const struct member NONE[] = {AUTH_TYPE, {.name = NULL}};
static const struct member BASIC[] = {AUTH_TYPE,
    {"username", MEMBER_TEXT, AUTH(username), 1, SUB_TEXT_MAX, NULL},
    {"password", MEMBER_SECRET, AUTH(password), 1, SUB_TEXT_MAX, NULL},
    {.name = NULL}};
static const struct member BEARER[] = {AUTH_TYPE,
    {"token", MEMBER_SECRET, AUTH(token), 1, SUB_TEXT_MAX, NULL},
    {.name = NULL}};
static const struct member APIKEY[] = {AUTH_TYPE,
    {"header", MEMBER_TEXT, AUTH(header), 1, SUB_HEADER_NAME_MAX, NULL},
    {"value", MEMBER_SECRET, AUTH(value), 1, SUB_HEADER_VALUE_MAX, NULL},
    {.name = NULL}};
static const struct member OAUTH2[] = {AUTH_TYPE,
    {"tokenUrl", MEMBER_TEXT, AUTH(token_url), 1, SUB_URL_MAX, NULL},
    {"clientId", MEMBER_TEXT, AUTH(client_id), 1, SUB_TEXT_MAX, NULL},
    {"clientSecret", MEMBER_SECRET, AUTH(client_secret), 1, SUB_TEXT_MAX, NULL},
    {"scope", MEMBER_TEXT, AUTH(scope), 0, SUB_TEXT_MAX, NULL}, {.name = NULL}};
static const struct member MTLS[] = {AUTH_TYPE,
    {"certificate", MEMBER_LONG, AUTH(certificate), 1, SUB_PEM_MAX, NULL},
    {"key", MEMBER_SECRET, AUTH(key), 1, SUB_PEM_MAX, NULL}, {.name = NULL}};
#undef AUTH
static const struct member *const AUTH_TABLES[] = {
    NONE, BASIC, BEARER, APIKEY, OAUTH2, MTLS};

static const struct member BATCH[] = {
    {"mode", MEMBER_CHOICE, offsetof(struct sub_batch, mode), 0, 0, MODES},
    {"windowSeconds", MEMBER_INT, offsetof(struct sub_batch, window_s), 1,
	SUB_BATCH_WINDOW_MAX_S, NULL},
    {"maxSize", MEMBER_INT, offsetof(struct sub_batch, max_size), 1,
	SUB_BATCH_MAX, NULL},
    {.name = NULL}};

static const struct member MANAGED[] = {
    {"by", MEMBER_TEXT, offsetof(struct sub_managed, by), 0, SUB_TEXT_MAX,
	NULL},
    {"objectId", MEMBER_TEXT, offsetof(struct sub_managed, object_id), 0,
	SUB_TEXT_MAX, NULL},
    {"objectPath", MEMBER_TEXT, offsetof(struct sub_managed, object_path), 0,
	SUB_TEXT_MAX, NULL},
    {"webhookId", MEMBER_TEXT, offsetof(struct sub_managed, webhook_id), 0,
	SUB_TEXT_MAX, NULL},
    {"ackWaitSeconds", MEMBER_INT, offsetof(struct sub_managed, ack_wait_s), 1,
	CONSUMER_WAIT_MAX_S, NULL},
    {.name = NULL}};

/* A list with one to `most` elements, and room for them; NULL: it is none. */
static void *
open_list(struct sub_reader *r, const struct json *j, const char *at,
    unsigned most, size_t size)
{
	if (j->type == JSON_NULL || !reading_want(&r->g, j, JSON_ARRAY, at))
		return NULL;
	if (j->n < 1 || j->n > most) {
		reading_wrong(&r->g, at,
		    "must have 1 to %u elements; leave it out for all", most);
		return NULL;
	}
	return arena_array(r->g.io.arena, j->n, size);
}

static void
element_wrong(struct sub_reader *r, const char *at, size_t i, const char *why)
{
	char index[24];

	(void)snprintf(index, sizeof(index), "%zu", i);
	reading_wrong(&r->g, reading_at(&r->g, at, index), "%s", why);
}

void
sub_types_read(struct sub_reader *r, const struct json *j)
{
	struct str *list =
	    open_list(r, j, "/types", SUB_TYPES_MAX, sizeof(*list));
	size_t n = 0;

	for (const struct json *c = list ? j->child : NULL; c; c = c->next) {
		struct str family = c->text;
		const char *why = "must be a string";

		if (str_ends(family, STR(".*")))
			family.n -= 2;
		if (c->type == JSON_STRING)
			why = envelope_type_wrong(family);
		if (why)
			element_wrong(r, "/types", n, why);
		list[n++] = arena_dup(r->g.io.arena, c->text);
	}
	r->s->types = list;
	r->s->n_types = n;
}

void
sub_tenants_read(struct sub_reader *r, const struct json *j)
{
	struct uuid *list =
	    open_list(r, j, "/tenants", SUB_TENANTS_MAX, sizeof(*list));
	size_t n = 0;

	for (const struct json *c = list ? j->child : NULL; c; c = c->next, n++)
		if (c->type != JSON_STRING || !uuid_parse(c->text, &list[n]))
			element_wrong(r, "/tenants", n, "must be a UUID");
	r->s->tenants = list;
	r->s->n_tenants = n;
}

static struct sub_header *
header_find(struct sub_header *list, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(list[i].name, name))
			return &list[i];
	return NULL;
}

/* What tells a server who calls is secret whatever is said of it. */
static bool
is_credential(struct str name)
{
	return str_eq_nocase(name, STR("Authorization")) ||
	       str_eq_nocase(name, STR("Cookie"));
}

/* {"value": …, "secret": true}, or a string. */
static void
header_value(struct sub_reader *r, const struct json *j, const char *at,
    struct sub_header *h)
{
	static const char *const NAMES[] = {"value", "secret", NULL};
	const struct json *value = j, *mark = NULL;
	char here[JSON_POINTER_MAX + 1];
	struct reading *g = &r->g;
	bool plain;

	(void)snprintf(here, sizeof(here), "%s", at);
	if (j->type == JSON_OBJECT) {
		g->rc = json_known(j, at, NAMES, g->e);
		mark = json_get(j, "secret");
		value = json_get(j, "value");
		if (mark && !json_is_bool(mark))
			reading_wrong(g, reading_at(g, at, "secret"),
			    "must be true or false");
		reading_need(g, value, at, "value");
		member_at(here, at, "value");
	}
	if (g->rc < 0)
		return;
	/* Once secret it stays so, until somebody says false. */
	if (mark)
		h->secret = mark->type == JSON_TRUE;
	/* One that was stored before it was a secret is plain there. */
	plain = !mark && g->io.form == FORM_STORED;
	if (is_credential(h->name))
		h->secret = true;
	if (h->secret && !plain)
		sub_one_secret(r, value, here, SUB_HEADER_VALUE_MAX, &h->value);
	else
		g->rc = member_text(value, here, SUB_HEADER_VALUE_MAX,
		    g->io.arena, &h->value, g->e);
	reading_one_line(g, h->value, here);
}

static void
header_one(struct sub_reader *r, const struct json *j, struct sub_header *list,
    size_t *n)
{
	char at[JSON_POINTER_MAX + 1] = "/headers";
	struct sub_header *h = header_find(list, *n, j->key);

	json_point(at, j->key);
	if (j->type == JSON_NULL) {
		if (h)
			*h = list[--*n];
		return;
	}
	if (!member_token_ok(j->key) || j->key.n > SUB_HEADER_NAME_MAX)
		reading_wrong(&r->g, at,
		    "is not a header's name of 1 to %d bytes",
		    SUB_HEADER_NAME_MAX);
	if (!h && *n == SUB_HEADERS_MAX)
		reading_wrong(&r->g, at,
		    "is one header too many; %d are allowed", SUB_HEADERS_MAX);
	if (r->g.rc < 0)
		return;
	if (!h) {
		h = &list[(*n)++];
		*h = (struct sub_header){.value = STR_EMPTY};
	}
	h->name = arena_dup(r->g.io.arena, j->key);
	header_value(r, j, at, h);
}

void
sub_headers_read(struct sub_reader *r, const struct json *j)
{
	struct sub_header list[SUB_HEADERS_MAX];
	struct sub_conf *s = r->s;
	size_t n = s->n_headers;

	if (j->type == JSON_NULL) {
		s->n_headers = 0;
		return;
	}
	if (!reading_want(&r->g, j, JSON_OBJECT, "/headers"))
		return;
	for (size_t i = 0; i < n; i++)
		list[i] = s->headers[i];
	for (const struct json *c = j->child; r->g.rc == OK && c; c = c->next)
		header_one(r, c, list, &n);
	s->headers = arena_array(r->g.io.arena, n + 1, sizeof(*s->headers));
	memcpy(s->headers, list, n * sizeof(*list));
	s->n_headers = n;
}

/* Whether somebody else sets it: HTTP itself, the preset, or `auth`. */
static void
header_free(struct sub_reader *r, struct str name, const char *at)
{
	static const char *const NEVER[] = {"host", "content-length",
	    "transfer-encoding", "connection", "keep-alive", "te", "trailer",
	    "upgrade", "expect", "proxy-authorization", "proxy-connection",
	    NULL};

	for (const char *const *n = NEVER; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			reading_wrong(
			    &r->g, at, "can't be set: it is HTTP's own");
	if (preset_owns_header(r->s->preset, name))
		reading_wrong(&r->g, at,
		    "can't be set: it is the preset %.*s's own",
		    STR_ARG(r->s->preset->name));
}

void
sub_headers_check(struct sub_reader *r)
{
	const struct sub_auth *a = &r->s->auth;
	bool authorizes = a->type == AUTH_BASIC || a->type == AUTH_BEARER ||
			  a->type == AUTH_OAUTH2;

	for (size_t i = 0; i < r->s->n_headers; i++) {
		struct str name = r->s->headers[i].name;
		char at[JSON_POINTER_MAX + 1] = "/headers";

		json_point(at, name);
		header_free(r, name, at);
		if ((authorizes && str_eq_nocase(name, STR("Authorization"))) ||
		    (a->type == AUTH_APIKEY && str_eq_nocase(name, a->header)))
			reading_wrong(
			    &r->g, at, "can't be set beside this auth");
	}
}

void
sub_auth_read(struct sub_reader *r, const struct json *j)
{
	static const struct sub_auth INITIAL;
	struct sub_auth *a = &r->s->auth;
	const struct json *word = json_get(j, "type");
	unsigned type = a->type;
	struct reading *g = &r->g;

	if (j->type == JSON_NULL) {
		*a = INITIAL;
		return;
	}
	if (!reading_want(g, j, JSON_OBJECT, "/auth"))
		return;
	reading_need(g, word || a->type != AUTH_NONE, "/auth", "type");
	if (g->rc == OK && word)
		g->rc = member_choice(word, "/auth/type", AUTHS, &type, g->e);
	/* Another type begins anew: no secret wanders from one to another. */
	if (type != a->type)
		*a = (struct sub_auth){.type = type};
	reading_members(g, AUTH_TABLES[a->type], j, "/auth", &INITIAL, a);
}

static bool
is_pem(struct str s)
{
	return str_starts(str_trim(s), STR("-----BEGIN "));
}

void
sub_auth_check(struct sub_reader *r)
{
	const struct sub_auth *a = &r->s->auth;
	struct reading *g = &r->g;

	for (const struct member *m = AUTH_TABLES[a->type]; m->name; m++) {
		const struct str *field =
		    (const struct str *)((const char *)a + m->offset);

		if (m->kind == MEMBER_OWN || m->least == 0)
			continue;
		reading_need(g, field->n > 0, "/auth", m->name);
		/* Header values are one line. */
		if (a->type != AUTH_MTLS)
			reading_one_line(
			    g, *field, reading_at(g, "/auth", m->name));
	}
	if (a->type == AUTH_BASIC && str_has(a->username, ':'))
		reading_wrong(g, "/auth/username", "must not have a colon");
	if (a->type == AUTH_APIKEY && !member_token_ok(a->header))
		reading_wrong(g, "/auth/header", "must be a header's name");
	if (a->type == AUTH_APIKEY)
		header_free(r, a->header, "/auth/header");
	if (a->type == AUTH_MTLS && !is_pem(a->certificate))
		reading_wrong(g, "/auth/certificate", "must be PEM");
	if (a->type == AUTH_MTLS && !is_pem(a->key))
		reading_wrong(g, "/auth/key", "must be PEM");
	if (a->type == AUTH_OAUTH2)
		sub_url_check(r, a->token_url, "/auth/tokenUrl");
}

void
sub_retry_read(struct sub_reader *r, const struct json *j)
{
	static const char *const NAMES[] = {
	    "delaysMs", "jitterMs", "count", NULL};
	const struct json *delays = json_get(j, "delaysMs");
	const struct json *jitter = json_get(j, "jitterMs");
	const struct json *count = json_get(j, "count");
	struct sub_retry t = {
	    .has_list = delays,
	    .list = {.kind = RETRY_LIST, .jitter_step_ms = 1, .heed = true},
	    .has_count = count,
	};
	struct reading *g = &r->g;
	int64_t n = 0;

	if (j->type != JSON_NULL) {
		if (reading_want(g, j, JSON_OBJECT, "/retry"))
			g->rc = json_known(j, "/retry", NAMES, g->e);
		if (!delays == !count)
			reading_wrong(
			    g, "/retry", "must have either delaysMs or count");
		if (jitter && !delays)
			reading_wrong(g, "/retry/jitterMs", "needs delaysMs");
	}
	if (g->rc == OK && delays)
		g->rc =
		    retry_delays_read(delays, "/retry/delaysMs", &t.list, g->e);
	if (g->rc == OK && jitter)
		g->rc = member_int(jitter, "/retry/jitterMs", 0,
		    RETRY_DELAY_MAX_MS, &t.list.jitter_to_ms, g->e);
	if (g->rc == OK && count)
		g->rc = member_int(count, "/retry/count", 0,
		    r->s->preset->retries_max, &n, g->e);
	t.count = (unsigned)n;
	r->s->retry = t;
}

struct sub_batch
sub_batch_initial(const struct sub_reader *r)
{
	const struct conf *c = r->rules ? r->rules->conf : NULL;

	return (struct sub_batch){
	    .mode = BATCH_IMMEDIATE,
	    .window_s = c ? c->webhook_child_event_batch_window_s : 5,
	    .max_size = c ? c->webhook_child_event_batch_max_size : 100,
	};
}

void
sub_batch_read(struct sub_reader *r, const struct json *j)
{
	const struct sub_batch INITIAL = sub_batch_initial(r);

	if (j->type == JSON_NULL)
		r->s->batch = INITIAL;
	else
		reading_members(
		    &r->g, BATCH, j, "/batch", &INITIAL, &r->s->batch);
}

void
sub_managed_read(struct sub_reader *r, const struct json *j)
{
	static const struct sub_managed INITIAL;

	if (j->type != JSON_NULL)
		reading_members(
		    &r->g, MANAGED, j, "/managed", &INITIAL, &r->s->managed);
}

static void
lists_write(const struct sub_conf *s, struct buf *b)
{
	buf_addz(b, ",\"types\":");
	for (size_t i = 0; i < s->n_types; i++) {
		buf_addc(b, i ? ',' : '[');
		buf_json(b, s->types[i]);
	}
	buf_addz(b, s->n_types ? "]" : "null");
	buf_addz(b, ",\"tenants\":");
	for (size_t i = 0; i < s->n_tenants; i++) {
		buf_addz(b, i ? ",\"" : "[\"");
		uuid_add(b, s->tenants[i]);
		buf_addc(b, '"');
	}
	buf_addz(b, s->n_tenants ? "]" : "null");
}

static int
headers_write(const struct member_io *io, const struct sub_conf *s,
    struct buf *b, struct err *e)
{
	int rc = OK;

	buf_addz(b, ",\"headers\":{");
	for (size_t i = 0; rc == OK && i < s->n_headers; i++) {
		const struct sub_header *h = &s->headers[i];

		if (i > 0)
			buf_addc(b, ',');
		buf_json(b, h->name);
		buf_addc(b, ':');
		if (!h->secret) {
			buf_json(b, h->value);
			continue;
		}
		buf_addz(b, "{\"value\":");
		rc = member_secret_write(io, h->value, b, e);
		buf_addz(b, ",\"secret\":true}");
	}
	buf_addc(b, '}');
	return rc;
}

static void
retry_write(const struct sub_conf *s, struct buf *b)
{
	const struct retry_schedule *t = &s->retry.list;

	buf_addz(b, ",\"retry\":");
	if (s->retry.has_count) {
		buf_fmt(b, "{\"count\":%u}", s->retry.count);
	} else if (s->retry.has_list) {
		buf_addz(b, "{\"delaysMs\":[");
		for (unsigned i = 0; i < t->retries; i++) {
			buf_addz(b, i ? "," : "");
			buf_int(b, t->delays_ms[i]);
		}
		buf_addz(b, "],\"jitterMs\":");
		buf_int(b, t->jitter_to_ms);
		buf_addc(b, '}');
	} else {
		buf_addz(b, "null");
	}
}

int
sub_parts_write(const struct member_io *io, const struct sub_conf *s,
    struct buf *b, struct err *e)
{
	int rc;

	lists_write(s, b);
	rc = headers_write(io, s, b, e);
	if (rc < 0)
		return rc;
	buf_fmt(b, ",\"auth\":{\"type\":\"%s\"", AUTHS[s->auth.type]);
	if (s->auth.type != AUTH_NONE)
		buf_addc(b, ',');
	rc = member_write(io, AUTH_TABLES[s->auth.type], &s->auth, b, e);
	buf_addc(b, '}');
	retry_write(s, b);
	buf_addz(b, ",\"batch\":{");
	if (rc == OK)
		rc = member_write(io, BATCH, &s->batch, b, e);
	buf_addc(b, '}');
	if (rc == OK && io->form != FORM_USER) {
		buf_addz(b, ",\"managed\":{");
		rc = member_write(io, MANAGED, &s->managed, b, e);
		buf_addc(b, '}');
	}
	return rc;
}
