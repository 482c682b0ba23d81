/* sub.h: lists, headers, auth and retry. */
#include "contract/limits.h"
#include "contract/sub_priv.h"
#include "event/envelope.h"

static const char *const AUTHS[] = {
    "none", "basic", "bearer", "apikey", "oauth2", "mtls", NULL};

#define AUTH(field) offsetof(struct sub_auth, field)
#define AUTH_TYPE                                                              \
	{                                                                      \
		.name = "type", .kind = MEMBER_OWN                             \
	}
static const struct member NONE[] = {AUTH_TYPE, {.name = NULL}};
static const struct member BASIC[] = {AUTH_TYPE,
    {"username", MEMBER_TEXT, AUTH(username), 1, SUB_TEXT_MAX},
    {"password", MEMBER_SECRET, AUTH(password), 1, SUB_TEXT_MAX},
    {.name = NULL}};
static const struct member BEARER[] = {AUTH_TYPE,
    {"token", MEMBER_SECRET, AUTH(token), 1, SUB_TEXT_MAX}, {.name = NULL}};
static const struct member APIKEY[] = {AUTH_TYPE,
    {"header", MEMBER_TEXT, AUTH(header), 1, SUB_HEADER_NAME_MAX},
    {"value", MEMBER_SECRET, AUTH(value), 1, SUB_HEADER_VALUE_MAX},
    {.name = NULL}};
static const struct member OAUTH2[] = {AUTH_TYPE,
    {"tokenUrl", MEMBER_TEXT, AUTH(token_url), 1, SUB_URL_MAX},
    {"clientId", MEMBER_TEXT, AUTH(client_id), 1, SUB_TEXT_MAX},
    {"clientSecret", MEMBER_SECRET, AUTH(client_secret), 1, SUB_TEXT_MAX},
    {"scope", MEMBER_TEXT, AUTH(scope), 0, SUB_TEXT_MAX}, {.name = NULL}};
static const struct member MTLS[] = {AUTH_TYPE,
    {"certificate", MEMBER_LONG, AUTH(certificate), 1, SUB_PEM_MAX},
    {"key", MEMBER_SECRET, AUTH(key), 1, SUB_PEM_MAX}, {.name = NULL}};
#undef AUTH
static const struct member *const AUTH_TABLES[] = {
    NONE, BASIC, BEARER, APIKEY, OAUTH2, MTLS};

int
sub_types_read(
    const struct member_io *io, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
	char at[JSON_POINTER_MAX + 1];

	s->n_types = 0;
	if (j->type == JSON_NULL)
		return OK;
	TRY(member_want(j, JSON_ARRAY, "/types", e));
	if (j->n < 1 || j->n > SUB_TYPES_MAX)
		return json_wrong(e, "/types",
		    "must have 1 to %d elements; leave it out for all",
		    SUB_TYPES_MAX);
	s->types = arena_array(io->arena, j->n, sizeof(*s->types));
	for (const struct json *c = j->child; c; c = c->next) {
		struct str family = c->text;
		const char *why = "must be a string";

		member_at_index(at, "/types", s->n_types);
		if (str_ends(family, STR(".*")))
			family.n -= 2;
		if (c->type == JSON_STRING)
			why = envelope_type_wrong(family);
		if (why)
			return json_wrong(e, at, "%s", why);
		s->types[s->n_types++] = arena_dup(io->arena, c->text);
	}
	return OK;
}

int
sub_types_write(
    const struct member_io *, const void *base, struct buf *b, struct err *)
{
	const struct sub_conf *s = base;

	put_texts(b, "types", s->types, s->n_types);
	return OK;
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
header_value(const struct member_io *io, const struct json *j, const char *at,
    struct sub_header *h, struct err *e)
{
	static const char *const NAMES[] = {"value", "secret", NULL};
	const struct json *value = j, *mark = json_get(j, "secret");
	char here[JSON_POINTER_MAX + 1];
	bool plain;

	(void)snprintf(here, sizeof(here), "%s", at);
	if (j->type == JSON_OBJECT) {
		TRY(json_known(j, at, NAMES, e));
		value = json_get(j, "value");
		if (mark && !json_is_bool(mark))
			return member_wrong(
			    e, at, "secret", "must be true or false");
		TRY(member_need(value, at, "value", e));
		member_at(here, at, "value");
	}
	/* Once secret it stays so, until somebody says false. */
	if (mark)
		h->secret = mark->type == JSON_TRUE;
	/* One that was stored before it was a secret is plain there. */
	plain = !mark && io->form == FORM_STORED;
	if (is_credential(h->name))
		h->secret = true;
	if (h->secret && !plain)
		TRY(member_secret_read(
		    io, value, here, SUB_HEADER_VALUE_MAX, &h->value, e));
	else
		TRY(member_text(value, here, SUB_HEADER_VALUE_MAX, io->arena,
		    &h->value, e));
	return member_one_line(h->value, here, e);
}

static int
header_one(const struct member_io *io, const struct json *j,
    struct sub_header *list, size_t *n, struct err *e)
{
	char at[JSON_POINTER_MAX + 1] = "/headers";
	struct sub_header *h = header_find(list, *n, j->key);

	json_point(at, j->key);
	if (j->type == JSON_NULL) {
		if (h)
			*h = list[--*n];
		return OK;
	}
	if (!member_token_ok(j->key) || j->key.n > SUB_HEADER_NAME_MAX)
		return json_wrong(e, at,
		    "is not a header's name of 1 to %d bytes",
		    SUB_HEADER_NAME_MAX);
	if (!h && *n == SUB_HEADERS_MAX)
		return json_wrong(e, at,
		    "is one header too many; %d are allowed", SUB_HEADERS_MAX);
	if (!h) {
		h = &list[(*n)++];
		*h = (struct sub_header){.value = STR_EMPTY};
	}
	h->name = arena_dup(io->arena, j->key);
	return header_value(io, j, at, h, e);
}

int
sub_headers_read(
    const struct member_io *io, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
	struct sub_header list[SUB_HEADERS_MAX];
	size_t n = s->n_headers;

	if (j->type == JSON_NULL) {
		s->n_headers = 0;
		return OK;
	}
	TRY(member_want(j, JSON_OBJECT, "/headers", e));
	for (size_t i = 0; i < n; i++)
		list[i] = s->headers[i];
	for (const struct json *c = j->child; c; c = c->next)
		TRY(header_one(io, c, list, &n, e));
	s->headers = arena_array(io->arena, n + 1, sizeof(*s->headers));
	memcpy(s->headers, list, n * sizeof(*list));
	s->n_headers = n;
	return OK;
}

int
sub_headers_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *e)
{
	const struct sub_conf *s = base;

	put_open(b, "headers", '{');
	for (size_t i = 0; i < s->n_headers; i++) {
		const struct sub_header *h = &s->headers[i];

		put_text(b, NULL, h->name);
		buf_addc(b, ':');
		if (!h->secret) {
			put_text(b, NULL, h->value);
			continue;
		}
		put_open(b, NULL, '{');
		TRY(member_secret_write(io, "value", h->value, b, e));
		put_bool(b, "secret", true);
		put_close(b, '}');
	}
	put_close(b, '}');
	return OK;
}

/* Whether somebody else sets it: HTTP itself, the preset, or `auth`. */
static int
header_free(
    const struct sub_conf *s, struct str name, const char *at, struct err *e)
{
	static const char *const NEVER[] = {"host", "content-length",
	    "transfer-encoding", "connection", "keep-alive", "te", "trailer",
	    "upgrade", "expect", "proxy-authorization", "proxy-connection",
	    NULL};

	for (const char *const *n = NEVER; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			return json_wrong(
			    e, at, "can't be set: it is HTTP's own");
	if (preset_owns_header(s->preset, name))
		return json_wrong(e, at,
		    "can't be set: it is the preset %.*s's own",
		    STR_ARG(s->preset->name));
	return OK;
}

int
sub_headers_check(const struct sub_conf *s, struct err *e)
{
	const struct sub_auth *a = &s->auth;
	bool authorizes = a->type == AUTH_BASIC || a->type == AUTH_BEARER ||
			  a->type == AUTH_OAUTH2;

	for (size_t i = 0; i < s->n_headers; i++) {
		struct str name = s->headers[i].name;
		char at[JSON_POINTER_MAX + 1] = "/headers";

		json_point(at, name);
		TRY(header_free(s, name, at, e));
		if ((authorizes && str_eq_nocase(name, STR("Authorization"))) ||
		    (a->type == AUTH_APIKEY && str_eq_nocase(name, a->header)))
			return json_wrong(
			    e, at, "can't be set beside this auth");
	}
	return OK;
}

int
sub_auth_read(
    const struct member_io *io, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
	static const struct sub_auth INITIAL;
	struct sub_auth *a = &s->auth;
	const struct json *word = json_get(j, "type");
	unsigned type = a->type;

	if (j->type == JSON_NULL) {
		*a = INITIAL;
		return OK;
	}
	TRY(member_want(j, JSON_OBJECT, "/auth", e));
	TRY(member_need(word || a->type != AUTH_NONE, "/auth", "type", e));
	if (word)
		TRY(member_choice(word, "/auth/type", AUTHS, &type, e));
	/* Another type begins anew: no secret wanders from one to another. */
	if (type != a->type)
		*a = (struct sub_auth){.type = type};
	return member_read(
	    io, AUTH_TABLES[a->type], j, "/auth", &INITIAL, a, e);
}

int
sub_auth_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *e)
{
	const struct sub_conf *s = base;
	const struct sub_auth *a = &s->auth;

	put_open(b, "auth", '{');
	put_z(b, "type", AUTHS[a->type]);
	TRY(member_write(io, AUTH_TABLES[a->type], a, b, e));
	put_close(b, '}');
	return OK;
}

static bool
is_pem(struct str s)
{
	return str_starts(str_trim(s), STR("-----BEGIN "));
}

int
sub_auth_check(
    const struct sub_conf *s, const struct sub_rules *k, struct err *e)
{
	const struct sub_auth *a = &s->auth;

	for (const struct member *m = AUTH_TABLES[a->type]; m->name; m++) {
		const struct str *field =
		    (const struct str *)((const char *)a + m->offset);
		char at[JSON_POINTER_MAX + 1];

		if (m->kind == MEMBER_OWN || m->least == 0)
			continue;
		TRY(member_need(field->n > 0, "/auth", m->name, e));
		member_at(at, "/auth", m->name);
		/* Header values are one line. */
		if (a->type != AUTH_MTLS)
			TRY(member_one_line(*field, at, e));
	}
	if (a->type == AUTH_BASIC && str_has(a->username, ':'))
		return json_wrong(e, "/auth/username", "must not have a colon");
	if (a->type == AUTH_APIKEY && !member_token_ok(a->header))
		return json_wrong(e, "/auth/header", "must be a header's name");
	if (a->type == AUTH_APIKEY)
		return header_free(s, a->header, "/auth/header", e);
	if (a->type == AUTH_MTLS && !is_pem(a->certificate))
		return json_wrong(e, "/auth/certificate", "must be PEM");
	if (a->type == AUTH_MTLS && !is_pem(a->key))
		return json_wrong(e, "/auth/key", "must be PEM");
	if (a->type == AUTH_OAUTH2)
		return sub_url_check(k, a->token_url, "/auth/tokenUrl", e);
	return OK;
}

int
sub_retry_read(
    const struct member_io *, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
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

	if (j->type != JSON_NULL) {
		TRY(member_want(j, JSON_OBJECT, "/retry", e));
		TRY(json_known(j, "/retry", NAMES, e));
		if (!delays == !count)
			return json_wrong(
			    e, "/retry", "must have either delaysMs or count");
	}
	if (delays)
		TRY(retry_delays_read(delays, "/retry/delaysMs", &t.list, e));
	else if (jitter)
		return json_wrong(e, "/retry/jitterMs", "needs delaysMs");
	if (jitter)
		TRY(member_int(jitter, "/retry/jitterMs", 0, RETRY_DELAY_MAX_MS,
		    &t.list.jitter_to_ms, e));
	if (count)
		TRY(member_int(count, "/retry/count", 0, s->preset->retries_max,
		    &t.count, e));
	s->retry = t;
	return OK;
}

int
sub_retry_write(
    const struct member_io *, const void *base, struct buf *b, struct err *)
{
	const struct sub_conf *s = base;
	const struct sub_retry *t = &s->retry;

	if (!t->has_count && !t->has_list) {
		put_null(b, "retry");
		return OK;
	}
	put_open(b, "retry", '{');
	if (t->has_count) {
		put_int(b, "count", t->count);
	} else {
		put_open(b, "delaysMs", '[');
		for (int64_t i = 0; i < t->list.retries; i++)
			put_int(b, NULL, t->list.delays_ms[i]);
		put_close(b, ']');
		put_int(b, "jitterMs", t->list.jitter_to_ms);
	}
	put_close(b, '}');
	return OK;
}
