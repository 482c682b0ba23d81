#include "event/envelope.h"

#include "event/catalog.h"
#include "event/cloud/trace.h"
#include "event/limits.h"
#include "event/mask.h"

/* What we made up: in front, in that order; and in the sequence. */
struct made {
	bool event_id, occurred, correlation, trace;
	bool key;
	struct str rv;               /* as JSON; empty: not made up */
	const struct event_type *of; /* NULL: nothing is known of the type */
	const struct json *sequence; /* NULL: all of it is made up */
	const struct json *null_rv;  /* stands where rv goes */
};
#define MADE_BYTES ((size_t)360) /* four names and their values */

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
take_name(
    struct str text, enum at at, size_t max, struct str *ret, struct err *e)
{
	if (text.n < 1 || text.n > max)
		return json_wrong(e, FIELDS[at].at,
		    "must be 1 to %zu bytes, not %zu", max, text.n);
	if (envelope_has_control(text))
		return wrong(e, at, "must not have control characters");
	*ret = text;
	return OK;
}

static int
read_name(const struct found *f, enum at at, size_t max, struct str *ret,
    struct err *e)
{
	const struct json *j = need(f, at, JSON_STRING, e);

	return j ? take_name(j->text, at, max, ret, e) : (int)e->code;
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
	static const struct str OURS[] = {STR("ops."), STR("hikyaku.")};
	const char *why;

	TRY(read_name(f, EVENT_TYPE, EVENT_TYPE_MAX, ret, e));
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
read_producer(struct found *f, struct event *ev, struct err *e)
{
	if (!need(f, PRODUCER, JSON_OBJECT, e))
		return e->code;
	envelope_find(f->v[PRODUCER], SERVICE, INSTANCE_ID, f);
	TRY(read_name(f, SERVICE, EVENT_SERVICE_MAX, &ev->service, e));
	return read_name(f, INSTANCE_ID, EVENT_SERVICE_MAX, &ev->instance, e);
}

static int
read_sequence(
    struct found *f, struct event *ev, struct made *made, struct err *e)
{
	made->of = catalog_find(ev->type);
	made->sequence = f->v[SEQUENCE];
	if ((made->sequence || !made->of) && !need(f, SEQUENCE, JSON_OBJECT, e))
		return e->code;
	envelope_find(made->sequence, PARTITION_KEY, RECORD_VERSION, f);
	made->key = made->of && !f->v[PARTITION_KEY];
	if (!made->key)
		TRY(read_name(f, PARTITION_KEY, EVENT_KEY_MAX, &ev->key, e));
	made->null_rv = f->v[RECORD_VERSION];
	return read_rv(f, ev, e);
}

/* Of a type that is known the payload says what the sequence lacks. */
static int
fill_sequence(
    struct arena *a, struct event *ev, struct made *made, struct err *e)
{
	const struct json *rv;

	if (!made->of)
		return OK;
	if (made->key) {
		struct str key =
		    catalog_key(a, made->of, &ev->tenant, ev->payload);

		/* Which member it lacks says more. */
		if (key.n == 0)
			TRY(catalog_check(made->of, ev, e));
		if (key.n == 0)
			return wrong(e, PARTITION_KEY, "is required");
		TRY(take_name(key, PARTITION_KEY, EVENT_KEY_MAX, &ev->key, e));
	}
	if (ev->has_rv)
		return OK;
	rv = catalog_version(made->of, ev->payload, &ev->rv_us);
	ev->has_rv = rv != NULL;
	made->rv = rv ? rv->raw : STR_EMPTY;
	return OK;
}

static int
read_fields(struct arena *a, const struct json *tree,
    const struct envelope_opts *o, struct event *ev, struct made *made,
    struct err *e)
{
	struct found f = {0};

	envelope_find(tree, EVENT_ID, DELIVERIES, &f);
	TRY(read_uuid_or(&f, EVENT_ID, &made->event_id, &ev->event_id, e));
	TRY(read_version(&f, &ev->schema_version, e));
	TRY(read_type(&f, o->own, &ev->type, e));
	TRY(read_occurred(&f, o->now_us, &made->occurred, &ev->occurred_us, e));
	TRY(read_uuid(&f, TENANT_ID, &ev->tenant, e));
	TRY(read_producer(&f, ev, e));
	TRY(read_uuid_or(
	    &f, CORRELATION_ID, &made->correlation, &ev->correlation, e));
	TRY(read_sequence(&f, ev, made, e));
	ev->payload = need(&f, PAYLOAD, JSON_OBJECT, e);
	if (!ev->payload)
		return e->code;
	TRY(fill_sequence(a, ev, made, e));
	for (enum at i = SEQ; i <= DELIVERIES; i++)
		if (f.v[i])
			return wrong(
			    e, i, "is set by the server and must not be given");
	return OK;
}

/* Against the catalog: refused in strict mode, else remembered. */
static int
judge(struct arena *a, const struct envelope_opts *o,
    const struct event_type *t, struct event *ev, struct err *e)
{
	UNINIT struct err why;
	int rc;

	/* The world is open: only strict mode minds a type it doesn't know. */
	if (!t && (o->own || !o->strict))
		return OK;
	rc = t ? catalog_check(t, ev, &why)
	       : json_wrong(&why, "/eventType", "is not in the catalog");
	if (rc == OK)
		rc = catalog_check_sequence(a, t, ev, &why);
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
write_made(const struct event *ev, const struct made *made, struct str trace,
    char ret[MADE_BYTES])
{
	const struct {
		bool made;
		const char *name;
		const struct uuid *id; /* NULL: the time */
	} parts[] = {
	    {made->event_id, "eventId", &ev->event_id},
	    {made->occurred, "occurredAt", NULL},
	    {made->correlation, "correlationId", &ev->correlation},
	};
	char text[UUID_LEN + 1];
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (!parts[i].made)
			continue;
		if (parts[i].id)
			uuid_format(*parts[i].id, text);
		else
			time_format(ev->occurred_us, text);
		n += (size_t)snprintf(ret + n, MADE_BYTES - n, "\"%s\":\"%s\",",
		    parts[i].name, text);
	}
	if (made->trace)
		n += (size_t)snprintf(ret + n, MADE_BYTES - n,
		    "\"traceparent\":\"%.*s\",", STR_ARG(trace));
	return (struct str){ret, n};
}

/* Members of the sequence that we made up. */
static struct str
write_sequence(struct arena *a, const struct event *ev, const struct made *made)
{
	struct buf b CLEANUP(buf_done) = BUF(8 * EVENT_KEY_MAX);
	bool rv = made->rv.n > 0 && !made->null_rv;

	if (!made->key && !rv)
		return STR_EMPTY;
	if (!made->sequence)
		put_open(&b, "sequence", '{');
	if (made->key)
		put_text(&b, "partitionKey", ev->key);
	if (rv)
		put_raw(&b, "recordVersion", made->rv);
	if (!made->sequence)
		put_close(&b, '}');
	if (!made->sequence || made->sequence->child)
		buf_addc(&b, ',');
	assert(!b.failed);
	return arena_dup(a, buf_str(&b));
}

/* `text` takes the place of `drop` bytes at `at` of what was received. */
struct edit {
	size_t at, drop;
	struct str text;
};

/*
 * The bytes with the edits, in the order of their places; *ret_before: by how
 * much that moved the payload. Masks work inside the payload, so that what lies
 * behind it has moved by `grown` already.
 */
static struct str
edited(struct arena *a, struct str bytes, const struct edit *v, size_t n,
    size_t payload, size_t grown, size_t *ret_before)
{
	size_t from = 0, more = 0;
	char *p, *out;

	*ret_before = 0;
	for (size_t i = 0; i < n; i++)
		more += v[i].text.n;
	if (more == 0)
		return bytes;
	p = out = arena_try(a, bytes.n + more);
	if (!p)
		return (struct str){.p = NULL};
	for (size_t i = 0; i < n; i++) {
		bool before = v[i].at <= payload;
		size_t at = v[i].at + (before ? 0 : grown);

		memcpy(out, bytes.p + from, at - from);
		out += at - from;
		if (v[i].text.n > 0)
			memcpy(out, v[i].text.p, v[i].text.n);
		out += v[i].text.n;
		from = at + v[i].drop;
		if (before)
			*ret_before += v[i].text.n - v[i].drop;
	}
	memcpy(out, bytes.p + from, bytes.n - from);
	out += bytes.n - from;
	return (struct str){p, (size_t)(out - p)};
}

static int
compose(struct arena *a, struct json *tree, const struct envelope_opts *o,
    const struct made *made, struct event *ev, struct err *e)
{
	char room[MADE_BYTES];
	struct str raw = tree->raw, bytes = raw;
	size_t before = (size_t)(ev->payload->raw.p - raw.p);
	size_t after = raw.n - before - ev->payload->raw.n, moved;
	struct edit v[3] = {
	    {.at = 1, .text = write_made(ev, made, o->trace, room)}};
	size_t n = 1;

	v[n++] = (struct edit){.text = write_sequence(a, ev, made), .at = 1};
	if (made->sequence)
		v[1].at = (size_t)(made->sequence->raw.p - raw.p) + 1;
	if (made->null_rv && made->rv.n > 0)
		v[n++] = (struct edit){(size_t)(made->null_rv->raw.p - raw.p),
		    made->null_rv->raw.n, made->rv};
	if (o->mask)
		TRY(mask_apply(a, o->mask, ev->type, tree, &bytes, e));
	ev->body = edited(a, bytes, v, n, before, bytes.n - raw.n, &moved);
	if (!ev->body.p)
		return err_set(e, ERR_LIMIT, "no room for the event");
	ev->payload_raw = str_from(ev->body, before + moved);
	if (made->sequence && made->sequence->raw.p > ev->payload->raw.p)
		after += ev->body.n - bytes.n - moved;
	ev->payload_raw.n -= after;
	return OK;
}

int
envelope_read(struct arena *a, struct json *tree, const struct envelope_opts *o,
    struct event *ret, struct err *e)
{
	struct event ev = {.tree = tree, .warning = STR_EMPTY};
	struct made made = {0};

	if (tree->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID,
		    "an event must be an object, not %s",
		    json_type_name(tree->type));
	if (o->body_max > 0 && tree->raw.n > o->body_max)
		return err_set(e, ERR_LIMIT,
		    "the event has %zu bytes, at most %zu are allowed",
		    tree->raw.n, o->body_max);
	TRY(read_fields(a, tree, o, &ev, &made, e));
	if (made.event_id)
		ev.event_id = o->event_id ? *o->event_id : uuid_v7(o->now_us);
	if (made.correlation)
		ev.correlation = uuid_v7(o->now_us);
	made.trace = trace_valid(o->trace) && !json_get(tree, "traceparent");
	TRY(judge(a, o, made.of, &ev, e));
	TRY(compose(a, tree, o, &made, &ev, e));
	*ret = ev;
	return OK;
}

int
envelope_parse(struct arena *a, struct str bytes, const struct envelope_opts *o,
    struct event *ret, struct err *e)
{
	struct json *tree;

	TRY(json_parse(a, bytes, &tree, e));
	return envelope_read(a, tree, o, ret, e);
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

/* Behind the string that begins at `at`; the end when it has none. */
static size_t
string_end(struct str s, size_t at)
{
	for (at++; at < s.n && s.p[at] != '"'; at++)
		at += s.p[at] == '\\';
	return at < s.n ? at + 1 : s.n;
}

bool
envelope_text(struct str body, struct str quoted, struct str *ret)
{
	size_t at = 0, depth = 0;

	while (at < body.n) {
		char c = body.p[at];
		size_t end = c == '"' ? string_end(body, at) : at + 1;
		struct str s = {body.p + at, end - at};

		depth += c == '{' || c == '[';
		depth -= depth > 0 && (c == '}' || c == ']');
		at = end;
		if (depth != 1 || !str_eq(s, quoted))
			continue;
		s = str_trim(str_from(body, at));
		if (!str_pass(&s, STR(":")))
			continue; /* a value that looks like the name */
		s = str_trim(s);
		if (s.n == 0 || s.p[0] != '"')
			return false;
		end = string_end(s, 0);
		*ret = (struct str){s.p + 1, end - 2};
		return end > 1 && s.p[end - 1] == '"';
	}
	return false;
}

bool
envelope_correlation(struct str body, struct uuid *ret)
{
	struct str text;

	return envelope_text(body, STR("\"correlationId\""), &text) &&
	       uuid_parse(text, ret);
}
