/* request.h: what variables stand for. */
#include <stdarg.h>

#include "contract/limits.h"
#include "contract/request_priv.h"
#include "http/percent.h"

bool
maker_fail(struct maker *m, enum reason why, const char *fmt, ...)
{
	char text[sizeof(m->e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (m->rc == OK && m->reason)
		*m->reason = why;
	if (m->rc == OK)
		m->rc = err_set(m->e, ERR_INVALID, "%s", text);
	return false;
}

bool
maker_done(struct maker *m, struct buf *b, struct str *ret)
{
	if (b->failed)
		maker_fail(m, REASON_TOO_LARGE, "the request is too large");
	else
		*ret = arena_dup(m->a, buf_str(b));
	buf_done(b);
	return m->rc == OK;
}

/* The envelope. */
static const struct json *
tree_of(struct maker *m)
{
	struct json *tree = NULL;
	struct err inner;

	if (!m->tree && json_parse(m->a, m->ev->body, &tree, &inner) < 0)
		maker_fail(m, REASON_RENDER, "the event can't be read: %.200s",
		    inner.text);
	else if (!m->tree)
		m->tree = tree;
	return m->tree;
}

static const struct json *
payload_of(struct maker *m)
{
	const struct json *payload = json_get(tree_of(m), "payload");

	if (!payload)
		maker_fail(m, REASON_RENDER, "the event has no payload");
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
static bool
pointed(struct maker *m, const char *pointer, struct str *ret)
{
	const struct json *tree = tree_of(m);

	return tree && scalar(json_at(tree, str_of(pointer)), ret);
}

/* What a subscription says is there must be there. */
static bool
sub_value(struct maker *m, const struct sub_value *v, const char *name,
    struct str *ret)
{
	const struct json *tree;

	*ret = v->text;
	if (!v->pointer)
		return v->text.n > 0;
	tree = tree_of(m);
	if (tree && scalar(json_at(tree, v->text), ret))
		return true;
	*ret = STR("test");
	return m->at->made || maker_fail(m, REASON_RENDER,
				  "hub.%s: the event has no text at %.*s", name,
				  STR_ARG(v->text));
}

static bool
account(struct maker *m, struct str *ret)
{
	const struct json *payload = m->s->hub.there ? payload_of(m) : NULL;

	return payload &&
	       scalar(json_at(payload, m->s->hub.account_pointer), ret);
}

static bool
of_uuid(struct maker *m, struct uuid u, struct str *ret)
{
	char text[UUID_LEN + 1];

	uuid_format(u, text);
	*ret = arena_dup(m->a, str_of(text));
	return true;
}

/* As the event calls it. */
static bool
tenant_id(struct maker *m, struct str *ret)
{
	return pointed(m, "/tenantId", ret) || of_uuid(m, m->ev->tenant, ret);
}

static bool
of_time(struct maker *m, int64_t us, struct str *ret)
{
	char text[TIME_LEN + 1];

	time_format(us, text);
	*ret = arena_dup(m->a, str_of(text));
	return true;
}

/* As the event has it. */
static bool
occurred_at(struct maker *m, struct str *ret)
{
	return pointed(m, "/occurredAt", ret) ||
	       (m->rc == OK && of_time(m, m->ev->received_us, ret));
}

static bool
of_int(struct maker *m, int64_t v, struct str *ret)
{
	*ret = arena_fmt(m->a, "%lld", (long long)v);
	return true;
}

/* Without the first part: cmis.child_created is CHILD_CREATED. */
static bool
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
	*ret = s;
	return true;
}

static bool
source(struct maker *m, struct str *ret)
{
	struct buf b = BUF(4 * KIB);
	struct str service;

	if (pointed(m, "/cloudEvent/source", ret))
		return true;
	if (m->rc < 0 || !pointed(m, "/producer/service", &service))
		return false;
	buf_addc(&b, '/');
	percent_add(&b, service);
	return maker_done(m, &b, ret);
}

/* Of a CloudEvent as it came; else the event's own. */
static bool
ce_id(struct maker *m, struct str *ret)
{
	return pointed(m, "/cloudEvent/id", ret) ||
	       (m->rc == OK && of_uuid(m, m->ev->event_id, ret));
}

static bool
ce_subject(struct maker *m, struct str *ret)
{
	if (pointed(m, "/cloudEvent/subject", ret))
		return true;
	if (m->rc < 0 || pointed(m, "/cloudEvent/partitionkey", ret))
		return false;
	*ret = m->ev->key;
	return true;
}

static bool
ce_correlation(struct maker *m, struct str *ret)
{
	return pointed(m, "/cloudEvent/correlationid", ret) ||
	       (m->rc == OK && pointed(m, "/correlationId", ret));
}

const struct json *
maker_extension(struct maker *m, const struct json *last)
{
	static const char *const OWN[] = {
	    "id", "source", "subject", "correlationid"};
	const struct json *tree = last ? NULL : tree_of(m);
	const struct json *all = tree ? json_get(tree, "cloudEvent") : NULL;
	const struct json *j = last ? last->next : NULL;

	if (all && all->type == JSON_OBJECT)
		j = all->child;
	for (; j; j = j->next) {
		bool own = j->type >= JSON_ARRAY;

		for (size_t i = 0; i < COUNT_OF(OWN); i++)
			own = own || str_eq(j->key, str_of(OWN[i]));
		if (!own)
			return j;
	}
	return NULL;
}

static bool
extensions(struct maker *m, struct str *ret)
{
	struct buf b = BUF(REQUEST_BODY_MAX);

	for (const struct json *j = NULL; (j = maker_extension(m, j));) {
		buf_addc(&b, ',');
		buf_json(&b, j->key);
		buf_addc(&b, ':');
		buf_add(&b, j->raw);
	}
	return maker_done(m, &b, ret);
}

/* The code, in the form that the header's template gives it. */
static bool
otp(struct maker *m, struct str *ret)
{
	const struct sub_hub *h = &m->s->hub;
	char code[OTP_MAX + 1];
	struct str bound = STR_EMPTY, tenant = STR_EMPTY, t = h->otp.template;
	size_t at = 0;

	if (!h->there || !h->has_otp)
		return false;
	if (h->otp.bind != BIND_NONE)
		(void)maker_value(m, VAR_TENANT, &tenant);
	if (m->rc < 0)
		return false;
	if (h->otp.bind == BIND_TENANT)
		bound = tenant;
	if (h->otp.bind == BIND_ISSUER)
		bound = arena_fmt(m->a, "https://%.*s.%.*s/auth",
		    STR_ARG(tenant), STR_ARG(h->domain));
	(void)otp_make(&h->otp.otp, bound, m->at->now_us, code);
	while (memcmp(t.p + at, "{otp}", 5) != 0)
		at++;
	*ret = arena_fmt(m->a, "%.*s%s%.*s", (int)at, t.p, code,
	    (int)(t.n - at - 5), t.p + at + 5);
	return true;
}

static bool
webhook_config(struct maker *m, struct str *ret)
{
	const struct sub_managed *g = &m->s->managed;
	struct buf b = BUF(32 * KIB);

	if (g->by.n == 0)
		return false;
	buf_addz(&b, "{\"webhookId\":");
	buf_json(&b, g->webhook_id);
	buf_addz(&b, ",\"sourceObjectId\":");
	buf_json(&b, g->object_id);
	buf_addz(&b, ",\"sourceObjectPath\":");
	buf_json(&b, g->object_path);
	buf_addc(&b, '}');
	return maker_done(m, &b, ret);
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
static bool
payload_members(struct maker *m, struct str *ret)
{
	struct buf b = BUF(REQUEST_BODY_MAX);
	const struct json *payload = payload_of(m), *cut = NULL;
	const struct preset *p = m->s->preset;

	if (!payload)
		return false;
	if (m->truncate)
		cut = json_at(payload, p->truncate_pointer);
	for (const struct json *j = payload->child; j; j = j->next) {
		if (in_frame(p, j->key))
			continue;
		buf_addc(&b, ',');
		buf_json(&b, j->key);
		buf_addc(&b, ':');
		if (cut && cut->type == JSON_OBJECT)
			add_cut(m, j, cut, &b);
		else
			buf_add(&b, j->raw);
	}
	if (m->truncate) {
		buf_addc(&b, ',');
		buf_json(&b, p->truncate_mark);
		buf_addz(&b, ":true");
	}
	return maker_done(m, &b, ret);
}

static bool
request_vars_text_of(struct str s, struct str *ret)
{
	*ret = s;
	return s.n > 0;
}

/* A field as it is, a member of the envelope, or what a function makes. */
static const struct field {
	enum { FIELD_NONE, OF_EVENT, OF_ATTEMPT, OF_HUB, OF_ENVELOPE, MADE } of;
	enum { FIELD_TEXT, FIELD_UUID, FIELD_VALUE } kind;
	size_t offset;
	const char *name; /* FIELD_VALUE; the pointer of OF_ENVELOPE */
	bool (*make)(struct maker *m, struct str *ret); /* MADE */
} FIELDS[VAR_COUNT] = {
#define EVENT(field)     OF_EVENT, FIELD_TEXT, offsetof(struct request_event, field)
#define ID(from, field)  FIELD_UUID, offsetof(struct from, field)
#define HUB(kind, field) OF_HUB, kind, offsetof(struct sub_hub, field)
    [VAR_ID] = {OF_ATTEMPT, ID(request_attempt, delivery_id), NULL},
    [VAR_DELIVERY_ID] = {OF_ATTEMPT, ID(request_attempt, delivery_id), NULL},
    [VAR_SUBSCRIPTION_ID] = {OF_ATTEMPT, ID(request_attempt, subscription_id),
	NULL},
    [VAR_EVENT_ID] = {OF_EVENT, ID(request_event, event_id), NULL},
    [VAR_TENANT_ID] = {.of = MADE, .make = tenant_id},
    [VAR_TYPE] = {EVENT(type), NULL},
    [VAR_KEY] = {EVENT(key), NULL},
    [VAR_ENVELOPE] = {EVENT(body), NULL},
    [VAR_DOMAIN] = {HUB(FIELD_TEXT, domain), NULL},
    [VAR_USER_PATH] = {HUB(FIELD_TEXT, user_path), NULL},
    [VAR_ORGANIZATION_PATH] = {HUB(FIELD_TEXT, organization_path), NULL},
    [VAR_SHARED_INTERNAL_KEY] = {HUB(FIELD_TEXT, shared_internal_key), NULL},
    [VAR_EVENT_API_KEY] = {HUB(FIELD_TEXT, event_api_key), NULL},
    [VAR_ORGANIZATION_ID] = {HUB(FIELD_VALUE, organization_id),
	"organizationId"},
    [VAR_SERVICE_PARTITION] = {HUB(FIELD_VALUE, service_partition),
	"servicePartition"},
    [VAR_SENDER] = {HUB(FIELD_VALUE, sender), "sender"},
    [VAR_CORRELATION_ID] = {.of = OF_ENVELOPE, .name = "/correlationId"},
    [VAR_SCHEMA_VERSION] = {.of = OF_ENVELOPE, .name = "/schemaVersion"},
    [VAR_INSTANCE_ID] = {.of = OF_ENVELOPE, .name = "/producer/instanceId"},
    [VAR_RECORD_VERSION] = {.of = OF_ENVELOPE,
	.name = "/sequence/recordVersion"},
    [VAR_TYPE_NAME] = {.of = MADE, .make = type_name},
    [VAR_OCCURRED_AT] = {.of = MADE, .make = occurred_at},
    [VAR_SOURCE] = {.of = MADE, .make = source},
    [VAR_CE_ID] = {.of = MADE, .make = ce_id},
    [VAR_CE_SUBJECT] = {.of = MADE, .make = ce_subject},
    [VAR_CE_CORRELATION_ID] = {.of = MADE, .make = ce_correlation},
    [VAR_EXTENSIONS] = {.of = MADE, .make = extensions},
    [VAR_ACCOUNT] = {.of = MADE, .make = account},
    [VAR_OTP] = {.of = MADE, .make = otp},
    [VAR_PAYLOAD_MEMBERS] = {.of = MADE, .make = payload_members},
    [VAR_WEBHOOK_CONFIG] = {.of = MADE, .make = webhook_config},
#undef EVENT
#undef ID
#undef HUB
};

static bool
field_value(struct maker *m, const struct field *f, struct str *ret)
{
	const void *from = f->of == OF_EVENT     ? (const void *)m->ev
			   : f->of == OF_ATTEMPT ? (const void *)m->at
						 : (const void *)&m->s->hub;
	const void *at = (const char *)from + f->offset;

	if (f->of == MADE)
		return f->make(m, ret);
	if (f->of == OF_ENVELOPE)
		return pointed(m, f->name, ret);
	switch (f->kind) {
	case FIELD_UUID:
		return of_uuid(m, *(const struct uuid *)at, ret);
	case FIELD_VALUE:
		return sub_value(m, at, f->name, ret);
	case FIELD_TEXT:
		break;
	}
	return request_vars_text_of(*(const struct str *)at, ret);
}

bool
maker_value(struct maker *m, enum var var, struct str *ret)
{
	const struct sub_hub *h = &m->s->hub;
	const struct json *payload;

	if (var < VAR_COUNT && FIELDS[var].of != FIELD_NONE)
		return field_value(m, &FIELDS[var], ret);
	if (var == VAR_ORIGINAL_ID)
		return m->at->repeats && of_uuid(m, m->at->original_id, ret);
	if (var == VAR_TENANT)
		return h->there ? sub_value(m, &h->tenant, "tenant", ret)
				: tenant_id(m, ret);
	if (var == VAR_SEQ)
		return of_int(m, m->ev->seq, ret);
	if (var == VAR_ATTEMPT)
		return of_int(m, m->at->number, ret);
	if (var == VAR_TIMESTAMP)
		return of_int(m, m->at->now_us / US_PER_S, ret);
	if (var == VAR_TIMESTAMP_MS)
		return of_int(m, m->at->now_us / US_PER_MS, ret);
	if (var == VAR_TIMESTAMP_ISO)
		return of_time(m, m->at->now_us, ret);
	if (var == VAR_PAYLOAD) {
		payload = payload_of(m);
		return payload && request_vars_text_of(payload->raw, ret);
	}
	if (var != VAR_BODY && var != VAR_RESPONSE)
		return false;
	*ret = var == VAR_BODY ? m->body : m->response;
	return true;
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
