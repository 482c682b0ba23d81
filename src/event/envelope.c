#include "event/envelope.h"

#include "event/cloud/trace.h"
#include "event/envelope_priv.h"
#include "event/limits.h"
#include "event/type/catalog.h"
#include "event/type/fault.h"
#include "event/type/types.h"
#include "seal/tenant.h"

static const struct {
	const char *at;
	struct str name;
} FIELDS[AT_COUNT] = {
    [EVENT_ID] = {"/eventId", STR("eventId")},
    [SCHEMA_VERSION] = {"/schemaVersion", STR("schemaVersion")},
    [EVENT_TYPE] = {"/eventType", STR("eventType")},
    [OCCURRED_AT] = {"/occurredAt", STR("occurredAt")},
    [TENANT_ID] = {"/tenantId", STR("tenantId")},
    [PRODUCER] = {"/producer", STR("producer")},
    [CORRELATION_ID] = {"/correlationId", STR("correlationId")},
    [SEQUENCE] = {"/sequence", STR("sequence")},
    [PAYLOAD] = {"/payload", STR("payload")},
    [SEQ] = {"/seq", STR("seq")},
    [RECEIVED_AT] = {"/receivedAt", STR("receivedAt")},
    [DELIVERIES] = {"/deliveries", STR("deliveries")},
    [SERVICE] = {"/producer/service", STR("service")},
    [INSTANCE_ID] = {"/producer/instanceId", STR("instanceId")},
    [PARTITION_KEY] = {"/sequence/partitionKey", STR("partitionKey")},
    [RECORD_VERSION] = {"/sequence/recordVersion", STR("recordVersion")},
};

/* One walk over the members; each field would else be a search of its own. Most
 * come in the order of the table: the next is looked at first. */
static void
envelope_find(
    const struct json *object, enum at from, enum at to, struct found *f)
{
	const struct json *c =
	    object && object->type == JSON_OBJECT ? object->child : NULL;

	enum at i = from;

	for (; c; c = c->next)
		for (enum at n = from; n <= to; n++) {
			enum at here = i;

			i = i == to ? from : i + 1;
			if (str_eq(c->key, FIELDS[here].name)) {
				f->v[here] = c;
				break;
			}
		}
}

static int
wrong(struct err *e, enum at at, const char *why)
{
	return json_wrong(e, FIELDS[at].at, "%s", why);
}

/* A field of that type; NULL and e set when it is not so. */
static const struct json *
need(const struct found *f, enum at at, enum json_type type, struct err *e)
{
	const struct json *j = f->v[at];

	if (j && j->type == type)
		return j;
	if (j)
		(void)json_wrong(e, FIELDS[at].at, "must be %s, not %s",
		    json_type_name(type), json_type_name(j->type));
	else
		(void)wrong(e, at, "is required");
	return NULL;
}

static int
read_uuid(const struct found *f, enum at at, struct uuid *ret, struct err *e)
{
	const struct json *j = need(f, at, JSON_STRING, e);

	if (!j)
		return e->code;
	if (!uuid_parse(j->text, ret))
		return wrong(
		    e, at, "must be a UUID, 8-4-4-4-12 hexadecimal digits");
	return OK;
}

static int
read_event_id(struct reading *r, enum at at, struct err *e)
{
	r->made.event_id = !r->f.v[at];
	return r->made.event_id ? OK : read_uuid(&r->f, at, &r->ev.event_id, e);
}

static int
read_correlation(struct reading *r, enum at at, struct err *e)
{
	r->made.correlation = !r->f.v[at];
	return r->made.correlation
		   ? OK
		   : read_uuid(&r->f, at, &r->ev.correlation, e);
}

static int
tenant_missing(const struct reading *r, enum at at, struct err *e)
{
	return wrong(e, at,
	    r->o->defaults
		? "is required: the caller's key is for several tenants"
		: "is required");
}

static int
read_tenant(struct reading *r, enum at at, struct err *e)
{
	const struct event_defaults *d = r->o->defaults;
	const struct json *j = r->f.v[at];

	r->made.tenant = !j && !r->o->exact;
	if (r->made.tenant) {
		if (!d || d->tenant_name.n == 0)
			return tenant_missing(r, at, e);
		r->ev.tenant = d->tenant;
		if (!tenant_is_uuid(d->tenant_name))
			r->ev.tenant_name = d->tenant_name;
		return OK;
	}
	if (r->o->exact)
		return read_uuid(&r->f, at, &r->ev.tenant, e);
	j = need(&r->f, at, JSON_STRING, e);
	if (!j)
		return e->code;
	if (uuid_parse(j->text, &r->ev.tenant))
		return OK;
	r->ev.tenant_name = j->text;
	if (d && str_eq(j->text, d->tenant_name))
		r->ev.tenant = d->tenant; /* need not be computed again */
	else if (!tenant_parse(j->text, &r->ev.tenant))
		return wrong(e, at, "must be " TENANT_WORDS);
	return OK;
}

bool
envelope_has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

static int
read_name(const struct found *f, enum at at, size_t max, struct str *ret,
    struct err *e)
{
	const struct json *j = need(f, at, JSON_STRING, e);

	if (!j)
		return e->code;
	if (j->text.n < 1 || j->text.n > max)
		return json_wrong(e, FIELDS[at].at,
		    "must be 1 to %zu bytes, not %zu", max, j->text.n);
	if (envelope_has_control(j->text))
		return wrong(e, at, "must not have control characters");
	*ret = j->text;
	return OK;
}

static int
read_version(struct reading *r, enum at at, struct err *e)
{
	const struct json *j;
	int64_t v;

	r->ev.schema_version = 1;
	r->made.version = !r->f.v[at] && !r->o->exact;
	if (r->made.version)
		return OK;
	j = need(&r->f, at, JSON_NUMBER, e);
	if (!j)
		return e->code;
	if (!json_int(j, &v) || v < 1 || v > INT32_MAX)
		return json_wrong(e, FIELDS[at].at,
		    "must be a whole number from 1 to %d", INT32_MAX);
	r->ev.schema_version = v;
	return OK;
}

const char *
envelope_type_wrong(struct str type)
{
	char last = '.';

	if (type.n < 1 || type.n > EVENT_TYPE_MAX)
		return "has the wrong length";
	if ((type.p[0] | 0x20) < 'a' || (type.p[0] | 0x20) > 'z')
		return "must begin with a letter";
	for (size_t i = 0; i < type.n; i++) {
		char c = type.p[i], low = (char)(c | 0x20);

		if (c == '.' && last == '.')
			return "must not have an empty part between dots";
		if ((low < 'a' || low > 'z') && (c < '0' || c > '9') &&
		    c != '.' && c != '_' && c != '-')
			return "must have letters, digits, . _ and - only";
		last = c;
	}
	return last == '.' ? "must not end with a dot" : NULL;
}

const char *
envelope_type_ours(struct str type)
{
	static const char *const OURS[] = {"ops.", "hikyaku."};

	for (size_t i = 0; i < COUNT_OF(OURS); i++)
		if (str_starts(type, str_of(OURS[i])))
			return OURS[i];
	return NULL;
}

static int
read_type(struct reading *r, enum at at, struct err *e)
{
	const char *why;

	TRY(read_name(&r->f, at, EVENT_TYPE_MAX, &r->ev.type, e));
	why = envelope_type_wrong(r->ev.type);
	if (why)
		return wrong(e, at, why);
	why = r->o->own ? NULL : envelope_type_ours(r->ev.type);
	return why ? json_wrong(e, FIELDS[at].at,
			 "must not begin with %s, which is the server's", why)
		   : OK;
}

static int
read_occurred(struct reading *r, enum at at, struct err *e)
{
	const struct json *j;
	bool utc = false;

	r->ev.occurred_us = r->o->now_us;
	r->made.occurred = !r->f.v[at];
	if (r->made.occurred)
		return OK;
	j = need(&r->f, at, JSON_STRING, e);
	if (!j)
		return e->code;
	if (!time_parse(j->text, &r->ev.occurred_us, &utc))
		return wrong(e, at,
		    "must be a time as in RFC 3339, 2026-01-10T12:34:56.789Z");
	if (!utc)
		return wrong(e, at, "must be in UTC and end in Z");
	return OK;
}

static int
read_rv(struct reading *r, enum at at, struct err *e)
{
	const struct json *j = r->f.v[at];

	if (!j || j->type == JSON_NULL)
		return OK;
	if (j->type != JSON_STRING || !time_parse(j->text, &r->ev.rv_us, NULL))
		return wrong(e, at, "must be a time as in RFC 3339, or null");
	r->ev.has_rv = true;
	return OK;
}

static int
read_producer(struct reading *r, enum at at, struct err *e)
{
	const struct event_defaults *d = r->o->defaults;

	r->made.producer = !r->f.v[at] && d && !r->o->exact;
	if (r->made.producer)
		return OK;
	if (!need(&r->f, at, JSON_OBJECT, e))
		return e->code;
	envelope_find(r->f.v[at], SERVICE, INSTANCE_ID, &r->f);
	return OK;
}

/* Of a producer that is there; only the exact envelope needs both. */
static int
read_service(struct reading *r, enum at at, struct err *e)
{
	struct str name;

	if (!json_is(r->f.v[PRODUCER], JSON_OBJECT) ||
	    (!r->f.v[at] && !r->o->exact))
		return OK;
	return read_name(&r->f, at, EVENT_SERVICE_MAX, &name, e);
}

static int
read_sequence(struct reading *r, enum at at, struct err *e)
{
	r->made.sequence = !r->f.v[at] && !r->o->exact;
	if (r->made.sequence)
		return OK;
	if (!need(&r->f, at, JSON_OBJECT, e))
		return e->code;
	envelope_find(r->f.v[at], PARTITION_KEY, RECORD_VERSION, &r->f);
	return OK;
}

/* Empty is as absent: no order. */
static int
read_key(struct reading *r, enum at at, struct err *e)
{
	const struct json *j = r->f.v[at];

	r->ev.key = STR_EMPTY;
	if (!r->o->exact && (!j || (j->type == JSON_STRING && j->text.n == 0)))
		return OK;
	if (!json_is(r->f.v[SEQUENCE], JSON_OBJECT))
		return OK; /* that was told */
	return read_name(&r->f, at, EVENT_KEY_MAX, &r->ev.key, e);
}

static int
read_payload(struct reading *r, enum at at, struct err *e)
{
	r->ev.payload = need(&r->f, at, JSON_OBJECT, e);
	return r->ev.payload ? OK : (int)e->code;
}

static int
read_ours(struct reading *r, enum at at, struct err *e)
{
	return r->f.v[at]
		   ? wrong(e, at, "is set by the server and must not be given")
		   : OK;
}

/* The first that fails is the error; all that do are the list, if wanted. */
static int
read_fields(struct arena *a, struct reading *r, struct err *e)
{
	static const struct {
		int (*read)(struct reading *r, enum at at, struct err *e);
		enum at at;
	} STEPS[] = {
	    {read_event_id, EVENT_ID},
	    {read_version, SCHEMA_VERSION},
	    {read_type, EVENT_TYPE},
	    {read_occurred, OCCURRED_AT},
	    {read_tenant, TENANT_ID},
	    {read_producer, PRODUCER},
	    {read_service, SERVICE},
	    {read_service, INSTANCE_ID},
	    {read_correlation, CORRELATION_ID},
	    {read_sequence, SEQUENCE},
	    {read_key, PARTITION_KEY},
	    {read_rv, RECORD_VERSION},
	    {read_payload, PAYLOAD},
	    {read_ours, SEQ},
	    {read_ours, RECEIVED_AT},
	    {read_ours, DELIVERIES},
	};
	struct faults *faults = r->o->faults;
	UNINIT struct err more;
	int rc = OK;

	envelope_find(r->ev.tree, EVENT_ID, DELIVERIES, &r->f);
	for (size_t i = 0; i < COUNT_OF(STEPS); i++) {
		struct err *to = rc == OK ? e : &more;

		if (STEPS[i].read(r, STEPS[i].at, to) == OK)
			continue;
		rc = e->code;
		if (!faults)
			return rc;
		faults->arena = a;
		faults_add(faults, to, false);
	}
	return rc;
}

/* Of a type of the catalog the payload says what the sequence lacks. */
static int
fill_sequence(struct arena *a, struct reading *r, struct err *e)
{
	const struct event_type *t = catalog_find(r->ev.type);
	struct event *ev = &r->ev;
	const struct json *rv;

	r->made.of = t;
	if (!t)
		return OK;
	if (!r->f.v[PARTITION_KEY] && !r->o->exact)
		ev->key = catalog_key(a, t, ev);
	if (ev->key.n > EVENT_KEY_MAX || envelope_has_control(ev->key))
		return wrong(e, PARTITION_KEY,
		    "must be given: what the payload says is too long, or "
		    "has control characters");
	r->made.key = !r->f.v[PARTITION_KEY] && ev->key.n > 0;
	if (ev->has_rv)
		return OK;
	rv = catalog_version(t, ev->payload, &ev->rv_us);
	ev->has_rv = rv != NULL;
	r->made.rv = rv ? rv->raw : STR_EMPTY;
	return OK;
}

/* Against the catalog and the types of the store: refused, or remembered. */
static int
judge(struct arena *a, const struct reading *r, struct event *ev, struct err *e)
{
	const struct envelope_opts *o = r->o;
	struct faults found = {.arena = a};
	const struct event_type *t = r->made.of;
	bool strict = o->strict;

	if (o->own)
		return OK;
	if (t)
		catalog_check(a, t, ev, &found);
	else if (!types_check(o->types, ev, &found, &strict) && strict) {
		/* The world is open: only strict mode minds one it doesn't
		 * know. */
		(void)json_wrong(e, "/eventType", "is not in the catalog");
		faults_add(&found, e, false);
	}
	if (found.n == 0)
		return OK;
	if (strict && found.refuse > 0) {
		if (o->faults)
			*o->faults = found;
		return faults_say(&found, e);
	}
	ev->faults = arena_alloc(a, sizeof(found));
	*ev->faults = found;
	return OK;
}

int
envelope_read(struct arena *a, struct json *tree, const struct envelope_opts *o,
    struct event *ret, struct err *e)
{
	struct reading r = {.o = o, .ev = {.tree = tree}};

	if (tree->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID,
		    "an event must be an object, not %s",
		    json_type_name(tree->type));
	if (o->body_max > 0 && tree->raw.n > o->body_max)
		return err_set(e, ERR_LIMIT,
		    "the event has %zu bytes, at most %zu are allowed",
		    tree->raw.n, o->body_max);
	TRY(read_fields(a, &r, e));
	TRY(fill_sequence(a, &r, e));
	if (r.made.event_id)
		r.ev.event_id = o->event_id ? *o->event_id : uuid_v7(o->now_us);
	if (r.made.correlation)
		r.ev.correlation = uuid_v7(o->now_us);
	r.made.trace = trace_valid(o->trace) && !json_get(tree, "traceparent");
	TRY(judge(a, &r, &r.ev, e));
	TRY(envelope_compose(a, tree, &r, e));
	*ret = r.ev;
	return OK;
}

struct str
envelope_producer(struct arena *a, struct str service, struct str instance)
{
	struct buf b CLEANUP(buf_done) = BUF(64 + 6 * (service.n + instance.n));

	put_open(&b, NULL, '{');
	put_text(&b, "service", service);
	put_text(&b, "instanceId", instance);
	put_close(&b, '}');
	return arena_dup(a, buf_str(&b));
}

int
envelope_parse(struct arena *a, struct str bytes, const struct envelope_opts *o,
    struct event *ret, struct err *e)
{
	struct json *tree;

	TRY(json_parse(a, bytes, &tree, e));
	return envelope_read(a, tree, o, ret, e);
}
