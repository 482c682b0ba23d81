#include "contract/request.h"

#include "contract/limits.h"
#include "contract/request_priv.h"
#include "http/url.h"
#include "seal/base64.h"

static struct maker
maker_for(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    enum reason *reason, struct err *e)
{
	return (struct maker){.a = a,
	    .s = s,
	    .ev = ev,
	    .at = at,
	    .reason = reason,
	    .e = e,
	    .body = STR_EMPTY,
	    .response = STR_EMPTY};
}

static struct str
body_once(struct maker *m)
{
	const struct preset *p = m->s->preset;
	struct str body = m->ev->rendered;

	if (!body.p && p->body == PRESET_ENVELOPE)
		body = m->ev->body;
	else if (!body.p && p->body == PRESET_PAYLOAD)
		(void)maker_value(m, VAR_PAYLOAD, &body);
	else if (!body.p)
		(void)maker_render(m, &p->text, VARS_BODY, &body);
	return body;
}

static void
make_body(struct maker *m, struct request *r)
{
	size_t most = (size_t)m->s->preset->body_max;

	r->body = body_once(m);
	for (int i = 0; m->rc == OK && r->body.n > most; i++) {
		if (i == 2 || !m->s->preset->truncate || m->ev->rendered.p) {
			maker_fail(m, REASON_TOO_LARGE,
			    "the body has %zu bytes; %zu are allowed",
			    r->body.n, most);
			return;
		}
		m->truncate = true;
		m->tiny = i == 1;
		r->truncated = true;
		r->body = body_once(m);
	}
	m->body = r->body;
}

static void
add_header(struct maker *m, struct request *r, struct str name,
    struct str value, bool secret)
{
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			maker_fail(m, REASON_RENDER,
			    "the value of header %.*s has control characters",
			    STR_ARG(name));
	}
	if (r->n == REQUEST_HEADERS_MAX)
		maker_fail(m, REASON_RENDER, "too many headers");
	else
		r->headers[r->n++] =
		    (struct request_header){name, value, secret};
}

/* CloudEvents over HTTP, 3.1.3.2: printable ASCII but " and %. */
static bool
percented(struct maker *m, struct str s, struct str *ret)
{
	struct buf b = BUF(3 * VARS_TEXT_MAX);

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '%')
			buf_fmt(&b, "%%%02X", c);
		else
			buf_addc(&b, (char)c);
	}
	return maker_done(m, &b, ret);
}

/* ce-*: one for each attribute that the event came with besides. */
static void
extension_headers(
    struct maker *m, struct request *r, const struct preset_header *h)
{
	for (const struct json *j = NULL;
	     m->rc == OK && (j = maker_extension(m, j));) {
		struct str value = j->type == JSON_STRING ? j->text : j->raw;
		struct str name = arena_fmt(m->a, "%.*s%.*s",
		    (int)h->name.n - 1, h->name.p, STR_ARG(j->key));

		if (!h->percent || percented(m, value, &value))
			add_header(m, r, name, value, h->secret);
	}
}

static void
preset_headers(struct maker *m, struct request *r)
{
	const struct preset *p = m->s->preset;

	for (size_t i = 0; m->rc == OK && i < p->n_headers; i++) {
		const struct preset_header *h = &p->headers[i];
		struct str value = STR_EMPTY;

		if (str_ends(h->name, STR("*")))
			extension_headers(m, r, h);
		else if (maker_has(m->s, h->when) &&
			 maker_render(m, &h->value,
			     h->secret ? VARS_SECRET : VARS_HEADER, &value) &&
			 (!h->percent || percented(m, value, &value)))
			add_header(m, r, h->name, value, h->secret);
	}
}

/* What is signed, in parts, so that the body isn't copied. */
static void
signed_parts(struct maker *m, const struct vars *content, struct str *parts)
{
	for (size_t i = 0; i < content->n; i++) {
		const struct vars_piece *p = &content->pieces[i];

		parts[i] = p->text;
		if (p->var != VAR_LITERAL && !maker_value(m, p->var, &parts[i]))
			parts[i] = STR_EMPTY;
	}
}

/* One row of the preset with one secret: " v1,base64" behind what is there. */
static void
sign_once(struct maker *m, const struct preset_signature *g, struct signer *s,
    const struct str *parts, struct buf *b)
{
	unsigned char mac[SIGN_MAX];
	struct str bytes = {(const char *)mac, 0};
	int n = signer_sign(s, parts, g->content.n, mac, m->e);

	if (n < 0) {
		m->rc = n;
		return;
	}
	bytes.n = (size_t)n;
	if (b->n > 0)
		buf_addc(b, ' ');
	buf_add(b, g->prefix);
	if (g->encoding == PRESET_HEX)
		buf_hex(b, bytes);
	else
		base64_add(b, bytes);
}

static void
sign_row(struct maker *m, const struct preset_signature *g, struct buf *b)
{
	struct str parts[VARS_PIECES_MAX];
	const struct sub_conf *s = m->s;

	signed_parts(m, &g->content, parts);
	for (size_t i = 0; m->rc == OK && i < s->n_secrets; i++) {
		const struct sub_secret *k = &s->secrets[i];
		struct signer *with =
		    g->decoded ? k->decode_signer : k->text_signer;

		if (i > 0 && (!g->all || k->until_us <= m->at->now_us))
			continue;
		if (signer_algorithm(with) == g->algorithm)
			sign_once(m, g, with, parts, b);
	}
}

static void
signatures(struct maker *m, struct request *r)
{
	const struct preset *p = m->s->preset;

	for (size_t i = 0; m->rc == OK && i < p->n_signatures; i++) {
		struct str header = p->signatures[i].header, value;
		struct buf b CLEANUP(buf_done) = BUF(SUB_HEADER_VALUE_MAX);
		bool before = false;

		for (size_t k = 0; k < i; k++)
			before |=
			    str_eq_nocase(p->signatures[k].header, header);
		for (size_t k = i; !before && k < p->n_signatures; k++)
			if (str_eq_nocase(p->signatures[k].header, header))
				sign_row(m, &p->signatures[k], &b);
		if (b.n > 0 && maker_done(m, &b, &value))
			add_header(m, r, header, value, true);
	}
}

static struct str
basic(struct maker *m)
{
	const struct sub_auth *a = &m->s->auth;
	struct str pair = arena_fmt(
	    m->a, "%.*s:%.*s", STR_ARG(a->username), STR_ARG(a->password));
	struct buf b CLEANUP(buf_done) = BUF(4 * SUB_TEXT_MAX);

	buf_addz(&b, "Basic ");
	base64_add(&b, pair);
	return arena_dup(m->a, buf_str(&b));
}

static void
auth(struct maker *m, struct request *r)
{
	const struct sub_auth *a = &m->s->auth;
	struct str value;
	struct str token =
	    a->type == AUTH_OAUTH2 ? m->at->access_token : a->token;

	switch (a->type) {
	case AUTH_NONE:
	case AUTH_MTLS:
		return;
	case AUTH_APIKEY:
		add_header(m, r, a->header, a->value, true);
		return;
	case AUTH_BASIC:
		value = basic(m);
		break;
	case AUTH_OAUTH2:
	case AUTH_BEARER:
		if (token.n == 0)
			maker_fail(m, REASON_AUTH, "there is no access token");
		value = arena_fmt(m->a, "Bearer %.*s", STR_ARG(token));
		break;
	}
	add_header(m, r, STR("Authorization"), value, true);
}

/* A subscription's own; those that the preset also has take its place. */
static void
own_headers(struct maker *m, struct request *r)
{
	for (size_t i = 0; i < m->s->n_headers; i++) {
		const struct sub_header *h = &m->s->headers[i];
		bool replaced = false;

		for (size_t k = 0; k < r->n && !replaced; k++)
			if (str_eq_nocase(r->headers[k].name, h->name)) {
				r->headers[k].value = h->value;
				r->headers[k].secret |= h->secret;
				replaced = true;
			}
		if (!replaced)
			add_header(m, r, h->name, h->value, h->secret);
	}
}

static bool
type_fits(struct str pattern, struct str type)
{
	if (!str_ends(pattern, STR(".*")))
		return str_eq(pattern, type);
	pattern.n--; /* with its dot */
	return str_starts(type, pattern);
}

static const struct preset_path *
path_for(const struct sub_conf *s, struct str type)
{
	const struct preset *p = s->preset;

	for (size_t i = 0; i < p->n_paths; i++)
		if (type_fits(p->paths[i].types, type) &&
		    maker_has(s, p->paths[i].when))
			return &p->paths[i];
	return NULL;
}

bool
request_wanted(const struct sub_conf *s, struct str type)
{
	return s->preset->n_paths == 0 || path_for(s, type);
}

struct str
request_test_type(struct arena *a, const struct sub_conf *s)
{
	const struct preset *p = s->preset;
	struct str family = STR_EMPTY;

	if (request_wanted(s, STR("TEST")))
		return STR("TEST");
	for (size_t i = p->n_paths; i-- > 0;)
		if (maker_has(s, p->paths[i].when))
			family = p->paths[i].types;
	if (!str_ends(family, STR(".*")))
		return family;
	family.n--;
	return arena_fmt(a, "%.*stest", STR_ARG(family));
}

/* "." or "..", also as %2e: a client or server goes up a folder for it. */
static bool
is_dots(struct str segment)
{
	size_t dots = 0;

	while (segment.n > 0) {
		struct str escape = {segment.p, segment.n < 3 ? segment.n : 3};

		if (!str_eq_nocase(escape, STR("%2e")) && segment.p[0] != '.')
			return false;
		segment = str_from(segment, segment.p[0] == '.' ? 1 : 3);
		dots++;
	}
	return dots == 1 || dots == 2;
}

/* What comes from an event is part of a path, and never leads out of it. */
static void
check_dots(struct maker *m, const struct vars *v, struct str url)
{
	struct str path = url;
	bool has_vars = false;

	for (size_t i = 0; i < v->n; i++)
		has_vars = has_vars || v->pieces[i].var != VAR_LITERAL;
	path = str_cut(&path, '?');
	path = str_cut(&path, '#');
	while (has_vars && path.n > 0)
		if (is_dots(str_cut(&path, '/')))
			maker_fail(m, REASON_RENDER,
			    "a variable makes a segment of the URL's path . or ..");
}

static void
make_url(struct maker *m, struct request *r)
{
	const struct preset_path *p = path_for(m->s, m->ev->type);
	struct str path = STR_EMPTY;

	if (m->s->url.n == 0)
		maker_fail(m, REASON_RENDER,
		    "the subscription has no URL, and webhooks.endpoint.root is not set");
	else if (!request_wanted(m->s, m->ev->type))
		maker_fail(m, REASON_FILTER,
		    "the preset %.*s sends no events of type %.*s",
		    STR_ARG(m->s->preset->name), STR_ARG(m->ev->type));
	else if (maker_render(m, &m->s->url_vars, VARS_URL, &r->url))
		check_dots(m, &m->s->url_vars, r->url);
	if (!p || m->rc < 0 || !maker_render(m, &p->path, VARS_URL, &path))
		return;
	check_dots(m, &p->path, path);
	while (r->url.n > 0 && r->url.p[r->url.n - 1] == '/' &&
	       str_starts(path, STR("/")))
		r->url.n--;
	r->url = arena_fmt(m->a, "%.*s%.*s", STR_ARG(r->url), STR_ARG(path));
}

static struct request
request_begin(struct arena *a, struct str method)
{
	return (struct request){.method = method,
	    .url = STR_EMPTY,
	    .body = STR_EMPTY,
	    .log_call = STR_EMPTY,
	    .headers = arena_array(
		a, REQUEST_HEADERS_MAX, sizeof(struct request_header))};
}

int
request_make(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    struct request *ret, enum reason *ret_reason, struct err *e)
{
	struct maker m = maker_for(a, s, ev, at, ret_reason, e);
	struct request r = request_begin(a, STR("POST"));

	make_url(&m, &r);
	if (m.rc == OK)
		make_body(&m, &r);
	add_header(&m, &r, STR("Content-Type"), s->preset->content_type, false);
	preset_headers(&m, &r);
	if (at->trace.n > 0)
		add_header(&m, &r, STR("traceparent"), at->trace, false);
	signatures(&m, &r);
	if (m.rc == OK)
		auth(&m, &r);
	own_headers(&m, &r);
	if (m.rc == OK && s->preset->log_call.n > 0)
		(void)maker_render(
		    &m, &s->preset->log_call, VARS_LOG, &r.log_call);
	if (m.rc == OK)
		*ret = r;
	return m.rc;
}

int
request_key(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct vars *key, struct str *ret,
    struct err *e)
{
	static const struct request_attempt NONE = {.number = 0};
	struct maker m = maker_for(a, s, ev, &NONE, NULL, e);

	(void)maker_render(&m, key, VARS_KEY, ret);
	return m.rc;
}

int
preflight_make(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    struct request *ret, enum reason *ret_reason, struct err *e)
{
	struct maker m = maker_for(a, s, ev, at, ret_reason, e);
	const struct vars *url = &s->preset->preflight.url;
	struct request r;

	if (!s->preset->preflight.on)
		return 0;
	if (s->health_vars.n > 0)
		url = &s->health_vars;
	r = request_begin(a, STR("GET"));
	if (maker_render(&m, url, VARS_URL, &r.url))
		check_dots(&m, url, r.url);
	add_header(&m, &r, STR("Accept"), STR("application/json"), false);
	if (m.rc < 0)
		return m.rc;
	*ret = r;
	return 1;
}

/* The same JSON scalar; numbers by their value, not their spelling. */
static bool
same(struct arena *a, const struct json *got, struct str want)
{
	struct json *w;
	struct err e;
	const char *x, *y;

	if (!got || json_parse(a, want, &w, &e) < 0 || got->type != w->type)
		return false;
	if (got->type == JSON_STRING)
		return str_eq(got->text, w->text);
	if (got->type != JSON_NUMBER || str_eq(got->raw, w->raw))
		return str_eq(got->raw, w->raw);
	x = arena_z(a, got->raw);
	y = arena_z(a, w->raw);
	return x && y && !(strtod(x, NULL) < strtod(y, NULL)) &&
	       !(strtod(x, NULL) > strtod(y, NULL));
}

struct judgement
preflight_judge(
    struct arena *a, const struct sub_conf *s, const struct outcome *o)
{
	static const enum verdict VERDICTS[] = {
	    [PREFLIGHT_DEAD] = VERDICT_DEAD,
	    [PREFLIGHT_RETRY] = VERDICT_RETRY,
	    [PREFLIGHT_HOLD] = VERDICT_HOLD,
	};
	const struct preflight *f = &s->preset->preflight;
	enum preflight_fail fail =
	    s->hub.there ? s->hub.preflight_fail : f->fail;
	struct json *doc;
	struct err e;

	if (o->net == NET_ANSWER && o->status == 200 && !o->cut &&
	    o->body.n <= VERDICT_BODY_MAX &&
	    json_parse(a, o->body, &doc, &e) == OK &&
	    same(a, json_at(doc, f->pointer), f->equals))
		return (struct judgement){VERDICT_OK, REASON_NONE};
	return (struct judgement){VERDICTS[fail], REASON_PREFLIGHT};
}

static bool
harmless(struct str name)
{
	static const char *const NAMES[] = {"accept", "content-type",
	    "user-agent", "webhook-id", "webhook-original-id",
	    "webhook-timestamp", "x-nemakiware-event", "x-nemakiware-delivery",
	    "x-nemakiware-timestamp", "x-webhook-event", "x-webhook-id",
	    "x-timestamp", "x-pca-tenant", "x-pca-event-type",
	    "x-pca-event-sender", "ce-specversion", "ce-id", "ce-source",
	    "ce-type", "ce-time", "ce-subject", "traceparent", NULL};

	for (const char *const *n = NAMES; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			return true;
	return false;
}

void
request_head(const struct request *r, struct buf *b)
{
	size_t end = b->n + REQUEST_HEAD_MAX, at;
	char url[URL_TEXT_MAX];

	at = b->n;
	buf_fmt(b, "%.*s ", STR_ARG(r->method));
	buf_add(b, url_masked(r->url, url, sizeof(url)));
	buf_addc(b, '\n');
	for (size_t i = 0; i < r->n && b->n <= end; i++) {
		const struct request_header *h = &r->headers[i];

		at = b->n;
		buf_add(b, h->name);
		buf_addz(b, ": ");
		if (h->secret || !harmless(h->name))
			buf_addz(b, SUB_MASK);
		else
			buf_add(b, h->value);
		buf_addc(b, '\n');
	}
	/* The line that has no room is left out as a whole. */
	if (b->n > end)
		b->n = at;
}

int
request_log_error(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    const struct outcome *o, struct request_error *ret, struct err *e)
{
	struct maker m = maker_for(a, s, ev, at, NULL, e);
	struct request_error said = {STR_EMPTY, STR_EMPTY};
	struct json *doc;
	struct err inner;

	m.response = o->body;
	if (m.response.n > REQUEST_LOG_BODY_MAX)
		m.response.n = REQUEST_LOG_BODY_MAX;
	if (s->preset->log_error.n > 0)
		(void)maker_render(
		    &m, &s->preset->log_error, VARS_LOG, &said.line);
	if (m.rc < 0)
		return m.rc;
	if (s->preset->trace_pointer.n > 0 && o->body.n <= VERDICT_BODY_MAX &&
	    json_parse(a, o->body, &doc, &inner) == OK) {
		const struct json *j = json_at(doc, s->preset->trace_pointer);

		if (json_is(j, JSON_STRING))
			said.trace = j->text;
	}
	*ret = said;
	return OK;
}
