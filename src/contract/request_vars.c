/* request.h: what variables stand for, and texts filled with them. */
#include <stdarg.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/request_priv.h"

int
maker_fail(struct maker *m, enum reason why, const char *fmt, ...)
{
	char text[sizeof(m->e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (m->reason)
		*m->reason = why;
	return err_set(m->e, ERR_INVALID, "%s", text);
}

int
maker_no_room(struct maker *m)
{
	return err_set(m->e, ERR_NOMEM, "no memory for a request");
}

static int
tree_of(struct maker *m)
{
	struct json *tree;
	struct err inner;
	int rc;

	if (m->tree)
		return OK;
	rc = json_parse(m->a, m->ev->body, &tree, &inner);
	if (rc == ERR_NOMEM)
		return maker_no_room(m);
	if (rc < 0)
		return maker_fail(m, REASON_RENDER,
		    "the event can't be read: %.200s", inner.text);
	m->tree = tree;
	return OK;
}

const struct json *
maker_payload(struct maker *m)
{
	const struct json *payload;

	if (tree_of(m) < 0)
		return NULL;
	payload = json_get(m->tree, "payload");
	if (!payload)
		(void)maker_fail(m, REASON_RENDER, "the event has no payload");
	return payload;
}

/* A scalar as text. */
static bool
scalar(const struct json *j, struct str *ret)
{
	if (!j || j->type == JSON_NULL || j->type >= JSON_ARRAY)
		return false;
	*ret = j->type == JSON_STRING ? j->text : j->raw;
	return true;
}

/* The member of the envelope at that pointer. */
static int
pointed(struct maker *m, const char *pointer, struct str *ret)
{
	int rc = tree_of(m);

	if (rc < 0)
		return rc;
	return scalar(json_at(m->tree, str_of(pointer)), ret) ? 1 : 0;
}

/* What a subscription says is there must be there. */
static int
sub_value(struct maker *m, const struct sub_value *v, const char *name,
    struct str *ret)
{
	int rc;

	*ret = v->text;
	if (!v->pointer)
		return v->text.n > 0;
	rc = tree_of(m);
	if (rc < 0)
		return rc;
	if (!scalar(json_at(m->tree, v->text), ret))
		return maker_fail(m, REASON_RENDER,
		    "hub.%s: the event has no text at %.*s", name,
		    STR_ARG(v->text));
	return 1;
}

static int
account(struct maker *m, struct str *ret)
{
	const struct json *payload;

	if (!m->s->hub.there)
		return 0;
	payload = maker_payload(m);
	if (!payload)
		return m->e->code;
	return scalar(json_at(payload, m->s->hub.account_pointer), ret) ? 1 : 0;
}

static int
made(struct maker *m, struct str s, struct str *ret)
{
	if (!s.p)
		return maker_no_room(m);
	*ret = s;
	return 1;
}

static int
of_uuid(struct maker *m, struct uuid u, struct str *ret)
{
	char text[UUID_LEN + 1];

	uuid_format(u, text);
	return made(m, arena_dup(m->a, str_of(text)), ret);
}

static int
of_time(struct maker *m, int64_t us, struct str *ret)
{
	char text[TIME_LEN + 1];

	time_format(us, text);
	return made(m, arena_dup(m->a, str_of(text)), ret);
}

/* As the event has it. */
static int
occurred_at(struct maker *m, struct str *ret)
{
	int rc = pointed(m, "/occurredAt", ret);

	return rc != 0 ? rc : of_time(m, m->ev->received_us, ret);
}

static int
of_int(struct maker *m, int64_t v, struct str *ret)
{
	return made(m, arena_fmt(m->a, "%lld", (long long)v), ret);
}

/* Without the first part: cmis.child_created is CHILD_CREATED. */
static int
type_name(struct maker *m, struct str *ret)
{
	struct str rest = m->ev->type, s;
	char *p;

	(void)str_cut(&rest, '.');
	s = arena_dup(m->a, rest.n > 0 ? rest : m->ev->type);
	p = (char *)(uintptr_t)s.p;
	for (size_t i = 0; i < s.n; i++)
		if (p[i] >= 'a' && p[i] <= 'z')
			p[i] = (char)(p[i] - 'a' + 'A');
	return made(m, s, ret);
}

static bool
unreserved(char c)
{
	char low = (char)(c | 0x20);

	return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static void
percent(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (unreserved(s.p[i]))
			buf_addc(b, s.p[i]);
		else
			buf_fmt(b, "%%%02X", (unsigned char)s.p[i]);
}

static int
source(struct maker *m, struct str *ret)
{
	struct buf b = BUF(4 * KIB);
	struct str service;
	int rc = pointed(m, "/producer/service", &service);

	if (rc <= 0)
		return rc;
	buf_addc(&b, '/');
	percent(&b, service);
	rc = made(m, arena_dup(m->a, buf_str(&b)), ret);
	buf_done(&b);
	return rc;
}

/* The code, in the form that the header's template gives it. */
static int
otp(struct maker *m, struct str *ret)
{
	const struct sub_hub *h = &m->s->hub;
	char code[OTP_MAX + 1];
	struct str bound = STR_EMPTY, tenant, t = h->otp_template;
	size_t at = 0;
	int rc;

	if (!h->there || !h->has_otp)
		return 0;
	rc = h->otp_bind == BIND_NONE ? 1 : maker_value(m, VAR_TENANT, &tenant);
	if (rc < 0)
		return rc;
	if (h->otp_bind == BIND_TENANT)
		bound = tenant;
	if (h->otp_bind == BIND_ISSUER)
		bound = arena_fmt(m->a, "https://%.*s.%.*s/auth",
		    STR_ARG(tenant), STR_ARG(h->domain));
	if (!bound.p)
		return maker_no_room(m);
	(void)otp_make(&h->otp, bound, m->at->now_us, code);
	while (memcmp(t.p + at, "{otp}", 5) != 0)
		at++;
	return made(m,
	    arena_fmt(m->a, "%.*s%s%.*s", (int)at, t.p, code,
		(int)(t.n - at - 5), t.p + at + 5),
	    ret);
}

static int
webhook_config(struct maker *m, struct str *ret)
{
	const struct sub_managed *g = &m->s->managed;
	struct buf b = BUF(32 * KIB);
	int rc;

	if (g->by.n == 0)
		return 0;
	buf_addz(&b, "{\"webhookId\":");
	buf_json(&b, g->webhook_id);
	buf_addz(&b, ",\"sourceObjectId\":");
	buf_json(&b, g->object_id);
	buf_addz(&b, ",\"sourceObjectPath\":");
	buf_json(&b, g->object_path);
	buf_addc(&b, '}');
	rc = b.failed ? maker_no_room(m)
		      : made(m, arena_dup(m->a, buf_str(&b)), ret);
	buf_done(&b);
	return rc;
}

/* All of it but the values in `cut`: names of them, or when tiny not even. */
static void
add_cut(struct maker *m, const struct json *j, const struct json *cut,
    struct buf *b)
{
	bool around = j->type == JSON_OBJECT && j->raw.p <= cut->raw.p &&
		      cut->raw.p + cut->raw.n <= j->raw.p + j->raw.n;

	if (!around) {
		buf_add(b, j->raw);
		return;
	}
	buf_addc(b, '{');
	for (const struct json *c = j == cut && m->tiny ? NULL : j->child; c;
	     c = c->next) {
		if (c != j->child)
			buf_addc(b, ',');
		buf_json(b, c->key);
		buf_addc(b, ':');
		if (j == cut)
			buf_addz(b, "{}");
		else
			add_cut(m, c, cut, b);
	}
	buf_addc(b, '}');
}

static bool
in_frame(const struct preset *p, struct str name)
{
	for (size_t i = 0; i < p->n_frame; i++)
		if (str_eq(p->frame[i], name))
			return true;
	return false;
}

/* Each member, a comma before it; not what the frame around them has. */
static int
payload_members(struct maker *m, struct str *ret)
{
	struct buf b = BUF(REQUEST_BODY_MAX);
	const struct json *payload = maker_payload(m), *cut = NULL;
	const struct preset *p = m->s->preset;
	int rc;

	if (!payload)
		return m->e->code;
	if (m->truncate)
		cut = json_at(payload, p->truncate_pointer);
	for (const struct json *j = payload->child; j; j = j->next) {
		if (in_frame(p, j->key))
			continue;
		buf_addc(&b, ',');
		buf_json(&b, j->key);
		buf_addc(&b, ':');
		if (json_is(cut, JSON_OBJECT))
			add_cut(m, j, cut, &b);
		else
			buf_add(&b, j->raw);
	}
	if (m->truncate) {
		buf_addc(&b, ',');
		buf_json(&b, p->truncate_mark);
		buf_addz(&b, ":true");
	}
	rc = b.failed ? maker_no_room(m)
		      : made(m, arena_dup(m->a, buf_str(&b)), ret);
	buf_done(&b);
	return rc;
}

static int
text_of(struct str s, struct str *ret)
{
	*ret = s;
	return s.n > 0;
}

static int
hub_value(struct maker *m, enum var var, struct str *ret)
{
	const struct sub_hub *h = &m->s->hub;

	if (var == VAR_DOMAIN)
		return text_of(h->domain, ret);
	if (var == VAR_ORGANIZATION_ID)
		return sub_value(m, &h->organization_id, "organizationId", ret);
	if (var == VAR_SERVICE_PARTITION)
		return sub_value(
		    m, &h->service_partition, "servicePartition", ret);
	if (var == VAR_SENDER)
		return sub_value(m, &h->sender, "sender", ret);
	if (var == VAR_USER_PATH)
		return text_of(h->user_path, ret);
	if (var == VAR_ORGANIZATION_PATH)
		return text_of(h->organization_path, ret);
	if (var == VAR_SHARED_INTERNAL_KEY)
		return text_of(h->shared_internal_key, ret);
	return text_of(h->event_api_key, ret);
}

int
maker_value(struct maker *m, enum var var, struct str *ret)
{
	const struct request_event *ev = m->ev;
	const struct json *payload;

	switch (var) {
	case VAR_ID:
	case VAR_DELIVERY_ID:
		return of_uuid(m, m->at->delivery_id, ret);
	case VAR_ORIGINAL_ID:
		return m->at->repeats ? of_uuid(m, m->at->original_id, ret) : 0;
	case VAR_EVENT_ID:
		return of_uuid(m, ev->event_id, ret);
	case VAR_TYPE:
		return text_of(ev->type, ret);
	case VAR_TYPE_NAME:
		return type_name(m, ret);
	case VAR_TENANT:
		if (m->s->hub.there)
			return sub_value(m, &m->s->hub.tenant, "tenant", ret);
		return of_uuid(m, ev->tenant, ret);
	case VAR_TENANT_ID:
		return of_uuid(m, ev->tenant, ret);
	case VAR_KEY:
		return text_of(ev->key, ret);
	case VAR_OCCURRED_AT:
		return occurred_at(m, ret);
	case VAR_CORRELATION_ID:
		return pointed(m, "/correlationId", ret);
	case VAR_SCHEMA_VERSION:
		return pointed(m, "/schemaVersion", ret);
	case VAR_INSTANCE_ID:
		return pointed(m, "/producer/instanceId", ret);
	case VAR_RECORD_VERSION:
		return pointed(m, "/sequence/recordVersion", ret);
	case VAR_SOURCE:
		return source(m, ret);
	case VAR_SEQ:
		return of_int(m, ev->seq, ret);
	case VAR_ATTEMPT:
		return of_int(m, m->at->number, ret);
	case VAR_SUBSCRIPTION_ID:
		return of_uuid(m, m->at->subscription_id, ret);
	case VAR_TIMESTAMP:
		return of_int(m, m->at->now_us / US_PER_S, ret);
	case VAR_TIMESTAMP_MS:
		return of_int(m, m->at->now_us / US_PER_MS, ret);
	case VAR_TIMESTAMP_ISO:
		return of_time(m, m->at->now_us, ret);
	case VAR_DOMAIN:
	case VAR_ORGANIZATION_ID:
	case VAR_SERVICE_PARTITION:
	case VAR_SENDER:
	case VAR_USER_PATH:
	case VAR_ORGANIZATION_PATH:
	case VAR_SHARED_INTERNAL_KEY:
	case VAR_EVENT_API_KEY:
		return hub_value(m, var, ret);
	case VAR_ACCOUNT:
		return account(m, ret);
	case VAR_OTP:
		return otp(m, ret);
	case VAR_BODY:
		*ret = m->body;
		return 1;
	case VAR_ENVELOPE:
		return text_of(ev->body, ret);
	case VAR_PAYLOAD:
		payload = maker_payload(m);
		return payload ? text_of(payload->raw, ret) : m->e->code;
	case VAR_PAYLOAD_MEMBERS:
		return payload_members(m, ret);
	case VAR_WEBHOOK_CONFIG:
		return webhook_config(m, ret);
	case VAR_RESPONSE:
		*ret = m->response;
		return 1;
	case VAR_ORGANIZATION_EVENTS:
	case VAR_LITERAL:
	case VAR_COUNT:
		break;
	}
	return 0;
}

bool
maker_has(const struct sub_conf *s, enum var var)
{
	if (var == VAR_COUNT)
		return true;
	if (var == VAR_OTP)
		return s->hub.there && s->hub.has_otp;
	if (var == VAR_ORGANIZATION_EVENTS)
		return s->hub.there && s->hub.organization_events;
	if (var == VAR_SHARED_INTERNAL_KEY)
		return s->hub.shared_internal_key.n > 0;
	if (var == VAR_EVENT_API_KEY)
		return s->hub.event_api_key.n > 0;
	if (var == VAR_WEBHOOK_CONFIG)
		return s->managed.by.n > 0;
	return true;
}

static bool
is_raw_json(enum var v)
{
	return v == VAR_ENVELOPE || v == VAR_PAYLOAD ||
	       v == VAR_PAYLOAD_MEMBERS || v == VAR_WEBHOOK_CONFIG ||
	       v == VAR_SEQ || v == VAR_SCHEMA_VERSION || v == VAR_ATTEMPT ||
	       v == VAR_TIMESTAMP || v == VAR_TIMESTAMP_MS;
}

/* For a line of the log: whatever the bytes, it stays one line. */
static void
escaped(struct buf *b, struct str s)
{
	while (s.n > 0) {
		size_t good = str_utf8_bad(s);

		for (size_t i = 0; i < good; i++) {
			unsigned char c = (unsigned char)s.p[i];

			if (c == '\n')
				buf_addz(b, "\\n");
			else if (c == '\r')
				buf_addz(b, "\\r");
			else if (c == '\t')
				buf_addz(b, "\\t");
			else if (c < 0x20 || c == 0x7f)
				buf_fmt(b, "\\x%02x", c);
			else
				buf_addc(b, (char)c);
		}
		s = str_from(s, good);
		if (s.n > 0)
			buf_fmt(b, "\\x%02x", (unsigned char)s.p[0]);
		s = str_from(s, s.n > 0);
	}
}

static bool
is_label(struct str s)
{
	bool ok = s.n >= 1 && s.n <= 63 && s.p[0] != '-' && s.p[s.n - 1] != '-';

	for (size_t i = 0; ok && i < s.n; i++)
		ok = unreserved(s.p[i]) && !str_has(STR("._~"), s.p[i]);
	return ok;
}

/* Are we still between :// and the next slash? */
static bool
in_host(const struct buf *b)
{
	struct str s = buf_str(b);

	if (str_starts(s, STR("https://")))
		s = str_from(s, 8);
	else if (str_starts(s, STR("http://")))
		s = str_from(s, 7);
	else
		return false;
	return !str_has(s, '/') && !str_has(s, '?') && !str_has(s, '#');
}

static int
add_to_url(struct maker *m, enum var var, struct str s, struct buf *b)
{
	/* These were checked as parts of a URL when they were saved. */
	bool checked = var == VAR_DOMAIN || var == VAR_USER_PATH ||
		       var == VAR_ORGANIZATION_PATH;

	if (!checked && !in_host(b))
		percent(b, s);
	else if (checked || is_label(s))
		buf_add(b, s);
	else
		return maker_fail(m, REASON_RENDER,
		    "a part of the host is no DNS label: letters, digits and - only");
	return OK;
}

/* One variable at its place; 0 when a header has to go without. */
static int
add_value(struct maker *m, enum var var, enum vars_place place, struct buf *b)
{
	struct str s = STR_EMPTY;
	int rc = maker_value(m, var, &s);

	if (rc < 0)
		return rc;
	if (rc == 0 && var == VAR_ACCOUNT && place == VARS_KEY)
		s = m->ev->key;
	switch (place) {
	case VARS_HEADER:
	case VARS_SECRET:
		if (rc == 0)
			return 0;
		buf_add(b, s);
		break;
	case VARS_BODY:
		if (rc == 0)
			buf_addz(b, "null");
		else if (is_raw_json(var))
			buf_add(b, s);
		else
			buf_json(b, s);
		break;
	case VARS_URL:
		if (rc == 0)
			return maker_fail(m, REASON_RENDER,
			    "a variable of the URL has no value");
		rc = add_to_url(m, var, s, b);
		if (rc < 0)
			return rc;
		break;
	case VARS_LOG:
		escaped(b, s);
		break;
	case VARS_KEY:
	case VARS_SIGN:
		buf_add(b, s);
		break;
	}
	return 1;
}

int
maker_render(struct maker *m, const struct vars *v, enum vars_place place,
    struct str *ret)
{
	struct buf b = BUF(REQUEST_BODY_MAX);
	struct str s = STR_EMPTY;
	int rc = 1;

	for (size_t i = 0; rc == 1 && i < v->n; i++)
		if (v->pieces[i].var == VAR_LITERAL)
			buf_add(&b, v->pieces[i].text);
		else
			rc = add_value(m, v->pieces[i].var, place, &b);
	if (rc == 1 && b.failed)
		rc =
		    maker_fail(m, REASON_TOO_LARGE, "the request is too large");
	if (rc == 1)
		s = arena_dup(m->a, buf_str(&b));
	if (rc == 1 && !s.p)
		rc = maker_no_room(m);
	if (rc == 1)
		*ret = s;
	buf_done(&b);
	return rc;
}
