#include "event/envelope.h"

#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "event/catalog.h"
#include "event/limits.h"
#include "event/mask.h"

/* What we made up, in the order in which it is put in front. */
struct made {
	bool event_id, occurred, correlation;
};
#define MADE_BYTES ((size_t)256) /* three names and their values */

/* Every field, with the object it is a member of. */
enum at {
	EVENT_ID,
	SCHEMA_VERSION,
	EVENT_TYPE,
	OCCURRED_AT,
	TENANT_ID,
	PRODUCER,
	CORRELATION_ID,
	SEQUENCE,
	PAYLOAD,
	SEQ,
	RECEIVED_AT,
	DELIVERIES,
	SERVICE,
	INSTANCE_ID,
	PARTITION_KEY,
	RECORD_VERSION,
	AT_COUNT
};
#define FIELD(pointer, name)                                                   \
	{                                                                      \
		pointer,                                                       \
		{                                                              \
			name, sizeof(name) - 1                                 \
		}                                                              \
	}
static const struct {
	const char *at;
	struct str name;
} FIELDS[AT_COUNT] = {
    [EVENT_ID] = FIELD("/eventId", "eventId"),
    [SCHEMA_VERSION] = FIELD("/schemaVersion", "schemaVersion"),
    [EVENT_TYPE] = FIELD("/eventType", "eventType"),
    [OCCURRED_AT] = FIELD("/occurredAt", "occurredAt"),
    [TENANT_ID] = FIELD("/tenantId", "tenantId"),
    [PRODUCER] = FIELD("/producer", "producer"),
    [CORRELATION_ID] = FIELD("/correlationId", "correlationId"),
    [SEQUENCE] = FIELD("/sequence", "sequence"),
    [PAYLOAD] = FIELD("/payload", "payload"),
    [SEQ] = FIELD("/seq", "seq"),
    [RECEIVED_AT] = FIELD("/receivedAt", "receivedAt"),
    [DELIVERIES] = FIELD("/deliveries", "deliveries"),
    [SERVICE] = FIELD("/producer/service", "service"),
    [INSTANCE_ID] = FIELD("/producer/instanceId", "instanceId"),
    [PARTITION_KEY] = FIELD("/sequence/partitionKey", "partitionKey"),
    [RECORD_VERSION] = FIELD("/sequence/recordVersion", "recordVersion"),
};

struct found {
	const struct json *v[AT_COUNT];
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

/* Absent: made is set and *ret is untouched. */
static int
read_uuid_or(const struct found *f, enum at at, bool *ret_made,
    struct uuid *ret, struct err *e)
{
	*ret_made = !f->v[at];
	return *ret_made ? OK : read_uuid(f, at, ret, e);
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
read_version(const struct found *f, int64_t *ret, struct err *e)
{
	const struct json *j = need(f, SCHEMA_VERSION, JSON_NUMBER, e);
	int64_t v;

	if (!j)
		return e->code;
	if (!json_int(j, &v) || v < 1 || v > INT32_MAX)
		return json_wrong(e, FIELDS[SCHEMA_VERSION].at,
		    "must be a whole number from 1 to %d", INT32_MAX);
	*ret = v;
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

static int
read_type(const struct found *f, bool own, struct str *ret, struct err *e)
{
	static const struct str OURS[] = {{"ops.", 4}, {"hikyaku.", 8}};
	const char *why;
	int rc = read_name(f, EVENT_TYPE, EVENT_TYPE_MAX, ret, e);

	if (rc < 0)
		return rc;
	why = envelope_type_wrong(*ret);
	if (why)
		return wrong(e, EVENT_TYPE, why);
	for (size_t i = 0; i < COUNT_OF(OURS) && !own; i++)
		if (str_starts(*ret, OURS[i]))
			return json_wrong(e, FIELDS[EVENT_TYPE].at,
			    "must not begin with %.*s, which is the server's",
			    STR_ARG(OURS[i]));
	return OK;
}

static int
read_occurred(const struct found *f, int64_t now_us, bool *ret_made,
    int64_t *ret, struct err *e)
{
	const struct json *j;
	bool utc = false;

	*ret = now_us;
	*ret_made = !f->v[OCCURRED_AT];
	if (*ret_made)
		return OK;
	j = need(f, OCCURRED_AT, JSON_STRING, e);
	if (!j)
		return e->code;
	if (!time_parse(j->text, ret, &utc))
		return wrong(e, OCCURRED_AT,
		    "must be a time as in RFC 3339, 2026-01-10T12:34:56.789Z");
	if (!utc)
		return wrong(e, OCCURRED_AT, "must be in UTC and end in Z");
	return OK;
}

static int
read_rv(const struct found *f, struct event *ev, struct err *e)
{
	const struct json *j = f->v[RECORD_VERSION];

	if (!j || j->type == JSON_NULL)
		return OK;
	if (j->type != JSON_STRING || !time_parse(j->text, &ev->rv_us, NULL))
		return wrong(e, RECORD_VERSION,
		    "must be a time as in RFC 3339, or null");
	ev->has_rv = true;
	return OK;
}

static int
refuse_reserved(const struct found *f, struct err *e)
{
	for (enum at i = SEQ; i <= DELIVERIES; i++)
		if (f->v[i])
			return wrong(
			    e, i, "is set by the server and must not be given");
	return OK;
}

static int
read_producer(struct found *f, struct event *ev, struct err *e)
{
	int rc;

	if (!need(f, PRODUCER, JSON_OBJECT, e))
		return e->code;
	envelope_find(f->v[PRODUCER], SERVICE, INSTANCE_ID, f);
	rc = read_name(f, SERVICE, EVENT_SERVICE_MAX, &ev->service, e);
	if (rc < 0)
		return rc;
	return read_name(f, INSTANCE_ID, EVENT_SERVICE_MAX, &ev->instance, e);
}

static int
read_sequence(struct found *f, struct event *ev, struct err *e)
{
	int rc;

	if (!need(f, SEQUENCE, JSON_OBJECT, e))
		return e->code;
	envelope_find(f->v[SEQUENCE], PARTITION_KEY, RECORD_VERSION, f);
	rc = read_name(f, PARTITION_KEY, EVENT_KEY_MAX, &ev->key, e);
	return rc < 0 ? rc : read_rv(f, ev, e);
}

static int
read_payload(const struct found *f, struct event *ev, struct err *e)
{
	ev->payload = need(f, PAYLOAD, JSON_OBJECT, e);
	return ev->payload ? OK : e->code;
}

static int
read_fields(const struct json *tree, const struct envelope_opts *o,
    struct event *ev, struct made *made, struct err *e)
{
	struct found f = {0};
	int rc;

	envelope_find(tree, EVENT_ID, DELIVERIES, &f);
	rc = read_uuid_or(&f, EVENT_ID, &made->event_id, &ev->event_id, e);
	if (rc == OK)
		rc = read_version(&f, &ev->schema_version, e);
	if (rc == OK)
		rc = read_type(&f, o->own, &ev->type, e);
	if (rc == OK)
		rc = read_occurred(
		    &f, o->now_us, &made->occurred, &ev->occurred_us, e);
	if (rc == OK)
		rc = read_uuid(&f, TENANT_ID, &ev->tenant, e);
	if (rc == OK)
		rc = read_producer(&f, ev, e);
	if (rc == OK)
		rc = read_uuid_or(&f, CORRELATION_ID, &made->correlation,
		    &ev->correlation, e);
	if (rc == OK)
		rc = read_sequence(&f, ev, e);
	if (rc == OK)
		rc = read_payload(&f, ev, e);
	return rc == OK ? refuse_reserved(&f, e) : rc;
}

/* Against the catalog: refused in strict mode, else remembered. */
static int
judge(struct arena *a, const struct envelope_opts *o, struct event *ev,
    struct err *e)
{
	const struct event_type *t = catalog_find(ev->type);
	UNINIT struct err why;
	int rc;

	/* The world is open: only strict mode minds a type it doesn't know. */
	if (!t && (o->own || !o->strict))
		return OK;
	rc = t ? catalog_check(t, ev, &why)
	       : json_wrong(&why, "/eventType", "is not in the catalog");
	if (rc == OK)
		return OK;
	if (o->strict) {
		*e = why;
		return rc;
	}
	ev->warning = arena_fmt(a, "%s: %s", why.at, why.text);
	return OK;
}

/* The members we made up, each with its comma. */
static struct str
write_made(
    const struct event *ev, const struct made *made, char ret[MADE_BYTES])
{
	char text[UUID_LEN + 1];
	int n = 0;

	if (made->event_id) {
		uuid_format(ev->event_id, text);
		n += snprintf(ret, MADE_BYTES, "\"eventId\":\"%s\",", text);
	}
	if (made->occurred) {
		time_format(ev->occurred_us, text);
		n += snprintf(ret + n, MADE_BYTES - (size_t)n,
		    "\"occurredAt\":\"%s\",", text);
	}
	if (made->correlation) {
		uuid_format(ev->correlation, text);
		n += snprintf(ret + n, MADE_BYTES - (size_t)n,
		    "\"correlationId\":\"%s\",", text);
	}
	return (struct str){ret, (size_t)n};
}

/* Puts `head` behind the opening brace; there are members after it. */
static struct str
insert(struct arena *a, struct str bytes, struct str head)
{
	char *p;

	if (head.n == 0)
		return bytes;
	p = arena_try(a, bytes.n + head.n);
	if (!p)
		return (struct str){.p = NULL};
	p[0] = '{';
	memcpy(p + 1, head.p, head.n);
	memcpy(p + 1 + head.n, bytes.p + 1, bytes.n - 1);
	return (struct str){p, bytes.n + head.n};
}

static int
compose(struct arena *a, struct json *tree, const struct envelope_opts *o,
    const struct made *made, struct event *ev, struct err *e)
{
	char room[MADE_BYTES];
	struct str head = write_made(ev, made, room), raw = tree->raw;
	/* Masks work inside the payload: what surrounds it keeps its size. */
	size_t before = (size_t)(ev->payload->raw.p - raw.p);
	size_t after = raw.n - before - ev->payload->raw.n;
	struct str bytes = raw;
	int rc;

	if (o->mask) {
		rc = mask_apply(a, o->mask, ev->type, tree, &bytes, e);
		if (rc < 0)
			return rc;
	}
	ev->body = insert(a, bytes, head);
	if (!ev->body.p)
		return err_set(e, ERR_LIMIT, "no room for the event");
	ev->payload_raw = str_from(ev->body, before + head.n);
	ev->payload_raw.n -= after;
	return OK;
}

int
envelope_read(struct arena *a, struct json *tree, const struct envelope_opts *o,
    struct event *ret, struct err *e)
{
	struct event ev = {.tree = tree, .warning = STR_EMPTY};
	struct made made = {0};
	int rc;

	if (tree->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID,
		    "an event must be an object, not %s",
		    json_type_name(tree->type));
	if (o->body_max > 0 && tree->raw.n > o->body_max)
		return err_set(e, ERR_LIMIT,
		    "the event has %zu bytes, at most %zu are allowed",
		    tree->raw.n, o->body_max);
	rc = read_fields(tree, o, &ev, &made, e);
	if (rc != OK)
		return rc;
	if (made.event_id)
		ev.event_id = o->event_id ? *o->event_id : uuid_v7(o->now_us);
	if (made.correlation)
		ev.correlation = uuid_v7(o->now_us);
	rc = judge(a, o, &ev, e);
	if (rc == OK)
		rc = compose(a, tree, o, &made, &ev, e);
	if (rc == OK)
		*ret = ev;
	return rc;
}

int
envelope_parse(struct arena *a, struct str bytes, const struct envelope_opts *o,
    struct event *ret, struct err *e)
{
	struct json *tree;
	int rc = json_parse(a, bytes, &tree, e);

	return rc < 0 ? rc : envelope_read(a, tree, o, ret, e);
}

void
envelope_show_open(
    struct buf *b, struct str body, int64_t seq, int64_t received_us)
{
	assert(body.n > 2 && body.p[0] == '{' && body.p[body.n - 1] == '}');
	body.n--;
	buf_add(b, body);
	buf_addz(b, ",\"seq\":");
	buf_int(b, seq);
	buf_addz(b, ",\"receivedAt\":\"");
	time_add(b, received_us);
	buf_addc(b, '"');
}

void
envelope_show(struct buf *b, struct str body, int64_t seq, int64_t received_us)
{
	envelope_show_open(b, body, seq, received_us);
	buf_addc(b, '}');
}

void
envelope_show_all(struct buf *b, struct str body, int64_t seq,
    int64_t received_us, struct str deliveries)
{
	envelope_show_open(b, body, seq, received_us);
	buf_addz(b, ",\"deliveries\":");
	buf_add(b, deliveries);
	buf_addc(b, '}');
}
