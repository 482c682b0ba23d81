/* subscription.h: lists, headers, auth, retry and batch. */
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

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for a subscription");
}

/* A list with one to `most` elements, and room for them. */
static int
open_list(struct sub_reader *r, const struct json *j, const char *at,
    unsigned most, size_t size, void **ret)
{
	int rc = member_want(j, JSON_ARRAY, at, r->e);

	if (rc < 0)
		return rc;
	if (j->n < 1 || j->n > most)
		return json_wrong(r->e, at,
		    "must have 1 to %u elements; leave it out for all", most);
	*ret = arena_array(r->io.arena, j->n, size);
	return *ret ? OK : no_room(r->e);
}

static void
element_at(char ret[JSON_POINTER_MAX + 1], const char *at, size_t i)
{
	char index[24];

	(void)snprintf(index, sizeof(index), "%zu", i);
	member_at(ret, at, index);
}

int
sub_types_read(struct sub_reader *r, const struct json *j)
{
	char at[JSON_POINTER_MAX + 1];
	void *room = NULL;
	struct str *list;
	size_t n = 0;
	int rc = OK;

	if (j->type != JSON_NULL)
		rc = open_list(
		    r, j, "/types", SUB_TYPES_MAX, sizeof(*list), &room);
	list = room;
	for (const struct json *c = list ? j->child : NULL; c; c = c->next) {
		struct str family;
		const char *why = "must be a string";

		element_at(at, "/types", n);
		family = c->text;
		if (str_ends(family, STR(".*")))
			family.n -= 2;
		if (c->type == JSON_STRING)
			why = envelope_type_wrong(family);
		if (why)
			return json_wrong(r->e, at, "%s", why);
		list[n] = arena_dup(r->io.arena, c->text);
		if (!list[n++].p)
			return no_room(r->e);
	}
	if (rc == OK) {
		r->s->types = list;
		r->s->n_types = n;
	}
	return rc;
}

int
sub_tenants_read(struct sub_reader *r, const struct json *j)
{
	char at[JSON_POINTER_MAX + 1];
	void *room = NULL;
	struct uuid *list;
	size_t n = 0;
	int rc = OK;

	if (j->type != JSON_NULL)
		rc = open_list(
		    r, j, "/tenants", SUB_TENANTS_MAX, sizeof(*list), &room);
	list = room;
	for (const struct json *c = list ? j->child : NULL; c; c = c->next) {
		element_at(at, "/tenants", n);
		if (c->type != JSON_STRING || !uuid_parse(c->text, &list[n]))
			return json_wrong(r->e, at, "must be a UUID");
		n++;
	}
	if (rc == OK) {
		r->s->tenants = list;
		r->s->n_tenants = n;
	}
	return rc;
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
static int
header_value(struct sub_reader *r, const struct json *j, const char *at,
    struct sub_header *h)
{
	static const char *const NAMES[] = {"value", "secret", NULL};
	const struct json *value = j, *mark = NULL;
	char here[JSON_POINTER_MAX + 1];
	bool plain;
	int rc = OK;

	(void)snprintf(here, sizeof(here), "%s", at);
	if (j->type == JSON_OBJECT) {
		rc = json_known(j, at, NAMES, r->e);
		mark = json_get(j, "secret");
		value = json_get(j, "value");
		member_at(here, at, "secret");
		if (rc == OK && mark && !json_is_bool(mark))
			rc = json_wrong(r->e, here, "must be true or false");
		member_at(here, at, "value");
		if (rc == OK && !value)
			rc = json_wrong(r->e, here, "is required");
	}
	if (rc < 0)
		return rc;
	/* Once secret it stays so, until somebody says false. */
	if (mark)
		h->secret = mark->type == JSON_TRUE;
	/* One that was stored before it was a secret is plain there. */
	plain = !mark && r->io.form == FORM_STORED;
	if (is_credential(h->name))
		h->secret = true;
	if (h->secret && !plain)
		rc = member_secret_read(
		    &r->io, value, here, SUB_HEADER_VALUE_MAX, &h->value, r->e);
	else
		rc = member_text(value, here, SUB_HEADER_VALUE_MAX, r->io.arena,
		    &h->value, r->e);
	for (size_t i = 0; rc == OK && i < h->value.n; i++)
		if ((unsigned char)h->value.p[i] < 0x20)
			rc = json_wrong(
			    r->e, here, "must not have control characters");
	return rc;
}

static int
header_one(struct sub_reader *r, const struct json *j, struct sub_header *list,
    size_t *n)
{
	char at[JSON_POINTER_MAX + 1] = "/headers";
	struct sub_header *h = header_find(list, *n, j->key);
	bool added = !h;
	int rc;

	json_point(at, j->key);
	if (j->type == JSON_NULL) {
		if (h)
			*h = list[--*n];
		return OK;
	}
	if (!member_token_ok(j->key) || j->key.n > SUB_HEADER_NAME_MAX)
		return json_wrong(r->e, at,
		    "is not a header's name of 1 to %d bytes",
		    SUB_HEADER_NAME_MAX);
	if (added && *n == SUB_HEADERS_MAX)
		return json_wrong(r->e, at,
		    "is one header too many; %d are allowed", SUB_HEADERS_MAX);
	if (added)
		h = &list[*n];
	if (added)
		*h = (struct sub_header){.value = STR_EMPTY};
	h->name = arena_dup(r->io.arena, j->key);
	if (!h->name.p)
		return no_room(r->e);
	rc = header_value(r, j, at, h);
	*n += added && rc == OK;
	return rc;
}

int
sub_headers_read(struct sub_reader *r, const struct json *j)
{
	struct sub_header list[SUB_HEADERS_MAX];
	size_t n = r->s->n_headers;
	int rc = OK;

	if (j->type == JSON_NULL) {
		r->s->n_headers = 0;
		return OK;
	}
	rc = member_want(j, JSON_OBJECT, "/headers", r->e);
	for (size_t i = 0; i < n; i++)
		list[i] = r->s->headers[i];
	for (const struct json *c = j->child; rc == OK && c; c = c->next)
		rc = header_one(r, c, list, &n);
	if (rc < 0)
		return rc;
	r->s->headers =
	    arena_array(r->io.arena, n ? n : 1, sizeof(*r->s->headers));
	if (!r->s->headers)
		return no_room(r->e);
	memcpy(r->s->headers, list, n * sizeof(*list));
	r->s->n_headers = n;
	return OK;
}

/* Whether somebody else sets it: HTTP itself, the preset, or `auth`. */
static int
header_free(struct sub_reader *r, struct str name, const char *at)
{
	static const char *const NEVER[] = {"host", "content-length",
	    "transfer-encoding", "connection", "keep-alive", "te", "trailer",
	    "upgrade", "expect", "proxy-authorization", "proxy-connection",
	    NULL};

	for (const char *const *n = NEVER; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			return json_wrong(
			    r->e, at, "can't be set: it is HTTP's own");
	if (preset_owns_header(r->s->preset, name))
		return json_wrong(r->e, at,
		    "can't be set: it is the preset %.*s's own",
		    STR_ARG(r->s->preset->name));
	return OK;
}

int
sub_headers_check(struct sub_reader *r)
{
	enum sub_auth_type type = r->s->auth.type;
	bool authorizes =
	    type == AUTH_BASIC || type == AUTH_BEARER || type == AUTH_OAUTH2;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < r->s->n_headers; i++) {
		struct str name = r->s->headers[i].name;
		char at[JSON_POINTER_MAX + 1] = "/headers";

		json_point(at, name);
		rc = header_free(r, name, at);
		if (rc == OK && authorizes &&
		    str_eq_nocase(name, STR("Authorization")))
			rc = json_wrong(
			    r->e, at, "can't be set beside this auth");
		if (rc == OK && type == AUTH_APIKEY &&
		    str_eq_nocase(name, r->s->auth.header))
			rc = json_wrong(
			    r->e, at, "can't be set beside this auth");
	}
	return rc;
}

int
sub_auth_read(struct sub_reader *r, const struct json *j)
{
	static const struct sub_auth INITIAL;
	struct sub_auth *a = &r->s->auth;
	const struct json *word = json_get(j, "type");
	unsigned type = a->type;
	int rc = OK;

	if (j->type == JSON_NULL) {
		*a = INITIAL;
		return OK;
	}
	rc = member_want(j, JSON_OBJECT, "/auth", r->e);
	if (rc == OK && !word && a->type == AUTH_NONE)
		rc = json_wrong(r->e, "/auth/type", "is required");
	if (rc == OK && word)
		rc = member_choice(word, "/auth/type", AUTHS, &type, r->e);
	if (rc < 0)
		return rc;
	/* Another type begins anew: no secret wanders from one to another. */
	if (type != a->type)
		*a = (struct sub_auth){.type = type};
	return member_read(
	    &r->io, AUTH_TABLES[a->type], j, "/auth", &INITIAL, a, r->e);
}

static bool
is_pem(struct str s)
{
	return str_starts(str_trim(s), STR("-----BEGIN "));
}

int
sub_auth_check(struct sub_reader *r)
{
	const struct sub_auth *a = &r->s->auth;
	char at[JSON_POINTER_MAX + 1] = "";

	for (const struct member *m = AUTH_TABLES[a->type]; m->name; m++) {
		const struct str *field =
		    (const struct str *)((const char *)a + m->offset);

		if (m->kind == MEMBER_OWN || m->least == 0)
			continue;
		member_at(at, "/auth", m->name);
		if (field->n == 0)
			return json_wrong(r->e, at, "is required");
		/* Header values are one line. */
		for (size_t i = 0; a->type != AUTH_MTLS && i < field->n; i++)
			if ((unsigned char)field->p[i] < 0x20)
				return json_wrong(r->e, at,
				    "must not have control characters");
	}
	if (a->type == AUTH_BASIC && str_has(a->username, ':'))
		return json_wrong(
		    r->e, "/auth/username", "must not have a colon");
	if (a->type == AUTH_APIKEY && !member_token_ok(a->header))
		return json_wrong(
		    r->e, "/auth/header", "must be a header's name");
	if (a->type == AUTH_APIKEY)
		return header_free(r, a->header, "/auth/header");
	if (a->type == AUTH_MTLS && !is_pem(a->certificate))
		return json_wrong(r->e, "/auth/certificate", "must be PEM");
	if (a->type == AUTH_MTLS && !is_pem(a->key))
		return json_wrong(r->e, "/auth/key", "must be PEM");
	if (a->type == AUTH_OAUTH2)
		return sub_url_check(r, a->token_url, "/auth/tokenUrl");
	return OK;
}

static int
read_delays(
    struct sub_reader *r, const struct json *j, struct retry_schedule *t)
{
	int rc = member_want(j, JSON_ARRAY, "/retry/delaysMs", r->e);

	if (rc == OK && j->n > RETRY_DELAYS_MAX)
		rc = json_wrong(r->e, "/retry/delaysMs", "must hold at most %d",
		    RETRY_DELAYS_MAX);
	for (const struct json *c = rc == OK ? j->child : NULL; c && rc == OK;
	     c = c->next) {
		int64_t ms = 0;

		rc = member_int(
		    c, "/retry/delaysMs", 0, RETRY_DELAY_MAX_MS, &ms, r->e);
		t->delays_ms[t->retries++] = ms;
		t->most_ms = ms > t->most_ms ? ms : t->most_ms;
	}
	return rc;
}

int
sub_retry_read(struct sub_reader *r, const struct json *j)
{
	static const char *const NAMES[] = {
	    "delaysMs", "jitterMs", "count", NULL};
	const struct json *delays = json_get(j, "delaysMs");
	const struct json *jitter = json_get(j, "jitterMs");
	const struct json *count = json_get(j, "count");
	struct sub_retry t = {
	    .list = {.kind = RETRY_LIST, .jitter_step_ms = 1, .heed = true}};
	int64_t n = 0;
	int rc = OK;

	if (j->type != JSON_NULL) {
		rc = member_want(j, JSON_OBJECT, "/retry", r->e);
		if (rc == OK)
			rc = json_known(j, "/retry", NAMES, r->e);
		if (rc == OK && !delays == !count)
			rc = json_wrong(r->e, "/retry",
			    "must have either delaysMs or count");
		if (rc == OK && jitter && !delays)
			rc = json_wrong(
			    r->e, "/retry/jitterMs", "needs delaysMs");
	}
	if (rc == OK && delays) {
		t.has_list = true;
		rc = read_delays(r, delays, &t.list);
	}
	if (rc == OK && jitter)
		rc = member_int(jitter, "/retry/jitterMs", 0,
		    RETRY_DELAY_MAX_MS, &t.list.jitter_to_ms, r->e);
	if (rc == OK && count) {
		rc = member_int(count, "/retry/count", 0,
		    r->s->preset->retries_max, &n, r->e);
		t.has_count = true;
		t.count = (unsigned)n;
	}
	if (rc == OK)
		r->s->retry = t;
	return rc;
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

int
sub_batch_read(struct sub_reader *r, const struct json *j)
{
	const struct sub_batch INITIAL = sub_batch_initial(r);

	if (j->type == JSON_NULL) {
		r->s->batch = INITIAL;
		return OK;
	}
	return member_read(
	    &r->io, BATCH, j, "/batch", &INITIAL, &r->s->batch, r->e);
}

int
sub_managed_read(struct sub_reader *r, const struct json *j)
{
	static const struct sub_managed INITIAL;

	return j->type == JSON_NULL
		   ? OK
		   : member_read(&r->io, MANAGED, j, "/managed", &INITIAL,
			 &r->s->managed, r->e);
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
