#include "contract/request.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
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

/* The body, .p NULL when it is over the preset's limit. */
static int
body_once(struct maker *m, struct str *ret)
{
	const struct preset *p = m->s->preset;
	int rc = 1;

	if (m->ev->rendered.p)
		*ret = m->ev->rendered;
	else if (p->body == PRESET_ENVELOPE)
		*ret = m->ev->body;
	else if (p->body == PRESET_PAYLOAD)
		rc = maker_value(m, VAR_PAYLOAD, ret);
	else
		rc = maker_render(m, &p->text, VARS_BODY, ret);
	return rc < 0 ? rc : OK;
}

static int
make_body(struct maker *m, struct request *r)
{
	size_t most = (size_t)m->s->preset->body_max;
	int rc = body_once(m, &r->body);

	for (int i = 0; rc == OK && r->body.n > most; i++) {
		if (i == 2 || !m->s->preset->truncate || m->ev->rendered.p)
			return maker_fail(m, REASON_TOO_LARGE,
			    "the body has %zu bytes; %zu are allowed",
			    r->body.n, most);
		m->truncate = true;
		m->tiny = i == 1;
		r->truncated = true;
		rc = body_once(m, &r->body);
	}
	m->body = r->body;
	return rc;
}

static int
add_header(struct maker *m, struct request *r, struct str name,
    struct str value, bool secret)
{
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return maker_fail(m, REASON_RENDER,
			    "the value of header %.*s has control characters",
			    STR_ARG(name));
	}
	if (r->n == REQUEST_HEADERS_MAX)
		return maker_fail(m, REASON_RENDER, "too many headers");
	r->headers[r->n++] = (struct request_header){name, value, secret};
	return OK;
}

/* CloudEvents over HTTP, 3.1.3.2: printable ASCII but " and %. */
static int
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
	*ret = arena_dup(m->a, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : maker_no_room(m);
}

static int
preset_headers(struct maker *m, struct request *r)
{
	const struct preset *p = m->s->preset;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < p->n_headers; i++) {
		const struct preset_header *h = &p->headers[i];
		struct str value = STR_EMPTY;
		int there = 0;

		if (maker_has(m->s, h->when))
			there = maker_render(m, &h->value,
			    h->secret ? VARS_SECRET : VARS_HEADER, &value);
		if (there < 0)
			return there;
		if (there && h->percent)
			rc = percented(m, value, &value);
		if (there && rc == OK)
			rc = add_header(m, r, h->name, value, h->secret);
	}
	return rc;
}

/* What is signed, in parts, so that the body isn't copied. */
static int
signed_parts(struct maker *m, const struct vars *content, struct str *parts)
{
	for (size_t i = 0; i < content->n; i++) {
		const struct vars_piece *p = &content->pieces[i];
		int rc = 1;

		parts[i] = p->text;
		if (p->var != VAR_LITERAL)
			rc = maker_value(m, p->var, &parts[i]);
		if (rc < 0)
			return rc;
		if (rc == 0)
			parts[i] = STR_EMPTY;
	}
	return OK;
}

/* One row of the preset with one secret: " v1,base64" behind what is there. */
static int
sign_once(struct maker *m, const struct preset_signature *g, struct signer *s,
    const struct str *parts, struct buf *b)
{
	unsigned char mac[SIGN_MAX];
	struct str bytes = {(const char *)mac, 0};
	int n = signer_sign(s, parts, g->content.n, mac, m->e);

	if (n < 0)
		return n;
	bytes.n = (size_t)n;
	if (b->n > 0)
		buf_addc(b, ' ');
	buf_add(b, g->prefix);
	if (g->encoding == PRESET_HEX)
		buf_hex(b, bytes);
	else
		base64_add(b, bytes);
	return OK;
}

static int
sign_row(struct maker *m, const struct preset_signature *g, struct buf *b)
{
	struct str parts[VARS_PIECES_MAX];
	const struct sub_conf *s = m->s;
	int rc = signed_parts(m, &g->content, parts);

	for (size_t i = 0; rc == OK && i < s->n_secrets; i++) {
		const struct sub_secret *k = &s->secrets[i];
		struct signer *with =
		    g->decoded ? k->decode_signer : k->text_signer;

		if (i > 0 && (!g->all || k->until_us <= m->at->now_us))
			continue;
		if (signer_algorithm(with) == g->algorithm)
			rc = sign_once(m, g, with, parts, b);
	}
	return rc;
}

static int
signatures(struct maker *m, struct request *r)
{
	const struct preset *p = m->s->preset;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < p->n_signatures; i++) {
		struct str header = p->signatures[i].header;
		struct buf b = BUF(SUB_HEADER_VALUE_MAX);
		bool before = false;

		for (size_t k = 0; k < i; k++)
			before |=
			    str_eq_nocase(p->signatures[k].header, header);
		for (size_t k = i; !before && rc == OK && k < p->n_signatures;
		     k++)
			if (str_eq_nocase(p->signatures[k].header, header))
				rc = sign_row(m, &p->signatures[k], &b);
		if (rc == OK && b.failed)
			rc = maker_no_room(m);
		if (rc == OK && b.n > 0) {
			struct str value = arena_dup(m->a, buf_str(&b));

			rc = value.p ? add_header(m, r, header, value, true)
				     : maker_no_room(m);
		}
		buf_done(&b);
	}
	return rc;
}

static int
basic(struct maker *m, struct str *ret)
{
	const struct sub_auth *a = &m->s->auth;
	struct buf b = BUF(4 * SUB_TEXT_MAX), pair = BUF(2 * SUB_TEXT_MAX + 1);

	buf_add(&pair, a->username);
	buf_addc(&pair, ':');
	buf_add(&pair, a->password);
	buf_addz(&b, "Basic ");
	base64_add(&b, buf_str(&pair));
	*ret = arena_dup(m->a, buf_str(&b));
	buf_done(&b);
	buf_done(&pair);
	return ret->p ? OK : maker_no_room(m);
}

static int
auth(struct maker *m, struct request *r)
{
	const struct sub_auth *a = &m->s->auth;
	struct str value = STR_EMPTY;
	struct str token =
	    a->type == AUTH_OAUTH2 ? m->at->access_token : a->token;
	int rc = OK;

	switch (a->type) {
	case AUTH_NONE:
	case AUTH_MTLS:
		return OK;
	case AUTH_APIKEY:
		return add_header(m, r, a->header, a->value, true);
	case AUTH_BASIC:
		rc = basic(m, &value);
		break;
	case AUTH_OAUTH2:
	case AUTH_BEARER:
		if (token.n == 0)
			return maker_fail(
			    m, REASON_AUTH, "there is no access token");
		value = arena_fmt(m->a, "Bearer %.*s", STR_ARG(token));
		rc = value.p ? OK : maker_no_room(m);
		break;
	}
	return rc < 0 ? rc
		      : add_header(m, r, STR("Authorization"), value, true);
}

/* A subscription's own; those that the preset also has take its place. */
static int
own_headers(struct maker *m, struct request *r)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < m->s->n_headers; i++) {
		const struct sub_header *h = &m->s->headers[i];
		bool replaced = false;

		for (size_t k = 0; k < r->n && !replaced; k++)
			if (str_eq_nocase(r->headers[k].name, h->name)) {
				r->headers[k].value = h->value;
				r->headers[k].secret |= h->secret;
				replaced = true;
			}
		if (!replaced)
			rc = add_header(m, r, h->name, h->value, h->secret);
	}
	return rc;
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
static int
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
			return maker_fail(m, REASON_RENDER,
			    "a variable makes a segment of the URL's path . or ..");
	return OK;
}

static int
make_url(struct maker *m, struct request *r)
{
	const struct preset_path *p = path_for(m->s, m->ev->type);
	struct str path = STR_EMPTY;
	int rc;

	if (!request_wanted(m->s, m->ev->type))
		return maker_fail(m, REASON_FILTER,
		    "the preset %.*s sends no events of type %.*s",
		    STR_ARG(m->s->preset->name), STR_ARG(m->ev->type));
	rc = maker_render(m, &m->s->url_vars, VARS_URL, &r->url);
	if (rc >= 0)
		rc = check_dots(m, &m->s->url_vars, r->url);
	if (rc < 0 || !p)
		return rc < 0 ? rc : OK;
	rc = maker_render(m, &p->path, VARS_URL, &path);
	if (rc >= 0)
		rc = check_dots(m, &p->path, path);
	if (rc < 0)
		return rc;
	while (r->url.n > 0 && r->url.p[r->url.n - 1] == '/' &&
	       str_starts(path, STR("/")))
		r->url.n--;
	r->url = arena_fmt(m->a, "%.*s%.*s", STR_ARG(r->url), STR_ARG(path));
	return r->url.p ? OK : maker_no_room(m);
}

static int
begin(struct maker *m, struct request *r, struct str method)
{
	*r = (struct request){.method = method,
	    .url = STR_EMPTY,
	    .body = STR_EMPTY,
	    .log_call = STR_EMPTY};
	r->headers =
	    arena_array(m->a, REQUEST_HEADERS_MAX, sizeof(*r->headers));
	return r->headers ? OK : maker_no_room(m);
}

int
request_make(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    struct request *ret, enum reason *ret_reason, struct err *e)
{
	struct maker m = maker_for(a, s, ev, at, ret_reason, e);
	struct request r;
	int rc = begin(&m, &r, STR("POST"));

	if (rc == OK)
		rc = make_url(&m, &r);
	if (rc == OK)
		rc = make_body(&m, &r);
	if (rc == OK)
		rc = add_header(&m, &r, STR("Content-Type"),
		    s->preset->content_type, false);
	if (rc == OK)
		rc = preset_headers(&m, &r);
	if (rc == OK)
		rc = signatures(&m, &r);
	if (rc == OK)
		rc = auth(&m, &r);
	if (rc == OK)
		rc = own_headers(&m, &r);
	if (rc == OK && s->preset->log_call.n > 0)
		rc = maker_render(
		    &m, &s->preset->log_call, VARS_LOG, &r.log_call);
	if (rc < 0)
		return rc;
	*ret = r;
	return OK;
}

static int
key_of(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct vars *key, struct str *ret,
    struct err *e)
{
	static const struct request_attempt NONE = {.number = 0};
	struct maker m = maker_for(a, s, ev, &NONE, NULL, e);
	int rc = maker_render(&m, key, VARS_KEY, ret);

	return rc < 0 ? rc : OK;
}

int
request_order_key(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, struct str *ret, struct err *e)
{
	return key_of(a, s, ev, &s->preset->order_key, ret, e);
}

int
request_spacing_key(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, struct str *ret, struct err *e)
{
	return key_of(a, s, ev, &s->preset->spacing_key, ret, e);
}

int
preflight_make(struct arena *a, const struct sub_conf *s,
    const struct request_event *ev, const struct request_attempt *at,
    struct request *ret, enum reason *ret_reason, struct err *e)
{
	struct maker m = maker_for(a, s, ev, at, ret_reason, e);
	const struct vars *url = &s->preset->preflight.url;
	struct request r;
	int rc;

	if (!s->preset->preflight.on)
		return 0;
	if (s->health_vars.n > 0)
		url = &s->health_vars;
	rc = begin(&m, &r, STR("GET"));
	if (rc == OK)
		rc = maker_render(&m, url, VARS_URL, &r.url);
	if (rc >= 0)
		rc = check_dots(&m, url, r.url);
	if (rc >= 0)
		rc = add_header(
		    &m, &r, STR("Accept"), STR("application/json"), false);
	if (rc < 0)
		return rc;
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
	    "ce-type", "ce-time", "ce-subject", NULL};

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
    const struct outcome *o, struct str *ret, struct str *ret_trace,
    struct err *e)
{
	struct maker m = maker_for(a, s, ev, at, NULL, e);
	struct str line = STR_EMPTY, trace = STR_EMPTY;
	struct json *doc;
	struct err inner;
	int rc = OK;

	m.response = o->body;
	if (m.response.n > REQUEST_LOG_BODY_MAX)
		m.response.n = REQUEST_LOG_BODY_MAX;
	if (s->preset->log_error.n > 0)
		rc = maker_render(&m, &s->preset->log_error, VARS_LOG, &line);
	if (rc < 0)
		return rc;
	if (s->preset->trace_pointer.n > 0 && o->body.n <= VERDICT_BODY_MAX &&
	    json_parse(a, o->body, &doc, &inner) == OK) {
		const struct json *j = json_at(doc, s->preset->trace_pointer);

		if (json_is(j, JSON_STRING))
			trace = j->text;
	}
	*ret = line;
	*ret_trace = trace;
	return OK;
}
