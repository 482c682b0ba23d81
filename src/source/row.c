#include "source/row.h"

#include "event/envelope.h"
#include "seal/tenant.h"
#include "source/refused.h"

/* A column as a JSON string, or null. */
static void
add_text(struct buf *b, const char *name, struct str v)
{
	put_text(b, name, str_utf8_bad(v) == v.n ? v : STR("(no UTF-8)"));
}

/* A column of JSON as it stands; as a string when it is none. */
static void
add_json(struct buf *b, const char *name, struct str v, bool quoted)
{
	if (quoted)
		add_text(b, name, v);
	else
		put_raw(b, name, v);
}

static void
add_envelope(
    struct buf *b, const struct outbox_row *row, bool quoted, bool odd_producer)
{
	const struct str *v = row->v;
	int64_t n;

	put_open(b, NULL, '{');
	add_text(b, "eventId", v[COL_EVENT_ID]);
	if (v[COL_VERSION].p)
		add_json(b, "schemaVersion", v[COL_VERSION],
		    !str_int(v[COL_VERSION], &n));
	add_text(b, "eventType", v[COL_TYPE]);
	if (v[COL_OCCURRED].p)
		add_text(b, "occurredAt", v[COL_OCCURRED]);
	else if (v[COL_CREATED].p)
		add_text(b, "occurredAt", v[COL_CREATED]);
	if (v[COL_TENANT].p)
		add_text(b, "tenantId", v[COL_TENANT]);
	if (v[COL_PRODUCER].p)
		add_json(b, "producer", v[COL_PRODUCER], odd_producer);
	if (v[COL_CORRELATION].p)
		add_text(b, "correlationId", v[COL_CORRELATION]);
	put_open(b, "sequence", '{');
	if (v[COL_KEY].p)
		add_text(b, "partitionKey", v[COL_KEY]);
	if (v[COL_RV].p)
		add_text(b, "recordVersion", v[COL_RV]);
	put_close(b, '}');
	add_json(b, "payload", v[COL_PAYLOAD], quoted);
	put_close(b, '}');
}

/* Each is one value of its own, and no more. */
static bool
is_json(struct arena *scratch, struct str v)
{
	struct json *j;
	struct err e;

	return !v.p || json_parse(scratch, v, &j, &e) == OK;
}

static bool
in(struct str whole, struct str part)
{
	return part.p >= whole.p && part.p + part.n <= whole.p + whole.n;
}

/* What does not lie in the text, which is kept, is copied. */
static void
keep_entry(struct arena *keep, struct str text, struct entry *en)
{
	struct str *const parts[] = {
	    &en->type, &en->key, &en->tenant_name, &en->body};

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (!in(text, *parts[i]))
			*parts[i] = arena_dup(keep, *parts[i]);
}

/* Makes the entry of what is no event; `x` lacks its source and its row. */
static int
refuse(const struct row_opts *o, struct arena *a, int64_t id, struct refused *x,
    const struct mask *mask, struct entry *ret, struct err *e)
{
	char ref[24];

	(void)snprintf(ref, sizeof(ref), "%lld", (long long)id);
	x->ref = str_of(ref);
	x->source = o->source;
	return refused_entry(a, x, mask, o->now_us, ret, e);
}

/* The envelope; of a row that is too long what it is, if not what it says. */
static int
write_row(const struct row_opts *o, const struct outbox_row *row, bool quoted,
    bool odd_producer, struct str *ret_text, struct err *e)
{
	struct buf *b = o->text;
	bool fits;

	buf_clear(b);
	add_envelope(b, row, quoted, odd_producer);
	fits = !b->failed;
	if (!fits) {
		buf_clear(b);
		put_open(b, NULL, '{');
		add_text(b, "eventId", str_chars(row->v[COL_EVENT_ID], 64));
		put_close(b, '}');
	}
	*ret_text = arena_dup(o->keep, buf_str(b));
	return fits ? OK
		    : err_at(e, ERR_LIMIT, "",
			  "the row is larger than an event may be");
}

/* What is wrong with the row, or OK and the event; *ret_text is the bytes. */
static int
read_row(const struct row_opts *o, const struct outbox_row *row,
    struct event *ret, struct str *ret_text, bool *ret_whole, struct err *e)
{
	const struct event_defaults defaults = {
	    .tenant = tenant_default(),
	    .tenant_name = STR(TENANT_DEFAULT),
	    .producer = STR("{\"service\":\"outbox\",\"instanceId\":\"-\"}"),
	};
	struct envelope_opts eo = {
	    .now_us = o->now_us,
	    .strict = o->strict,
	    .exact = o->exact,
	    .defaults = &defaults,
	    .types = o->types,
	    .mask = o->mask,
	    .body_max = o->body_max,
	};
	bool payload_ok, producer_ok;
	int rc;

	*ret_whole = false;
	TRY(write_row(o, row, false, false, ret_text, e));
	*ret_whole = true;
	if (row->v[COL_TOO_LARGE].p)
		return err_at(e, ERR_LIMIT, "/payload",
		    "the payload has %.*s bytes; webhook.max.payload.size allows %zu",
		    STR_ARG(row->v[COL_TOO_LARGE]), o->body_max);
	rc = envelope_parse(o->scratch, *ret_text, &eo, ret, e);
	/* scratch holds any event there is: this one will never fit. */
	if (rc == ERR_LIMIT)
		return rc;
	if (rc == OK &&
	    str_eq(ret->payload->raw, str_trim(row->v[COL_PAYLOAD])) &&
	    (!row->v[COL_PRODUCER].p ||
		str_eq(json_get(ret->tree, "producer")->raw,
		    str_trim(row->v[COL_PRODUCER]))))
		return OK;
	payload_ok = is_json(o->scratch, row->v[COL_PAYLOAD]);
	producer_ok = is_json(o->scratch, row->v[COL_PRODUCER]);
	if (payload_ok && producer_ok)
		return rc;
	/* One of the two is no JSON by itself, whatever came of the whole. */
	TRY(write_row(o, row, !payload_ok, !producer_ok, ret_text, e));
	return payload_ok
		   ? err_at(e, ERR_INVALID, "/producer", "producer is no JSON")
		   : err_at(e, ERR_INVALID, "/payload", "payload is no JSON");
}

int
row_entry(const struct row_opts *o, const struct outbox_row *row,
    struct entry *ret, bool *ret_refused, struct err *e)
{
	struct err why = {0};
	struct event ev;
	struct str text;
	struct uuid correlation;
	bool whole;

	*ret_refused = read_row(o, row, &ev, &text, &whole, &why) < 0;
	if (*ret_refused) {
		struct refused x = {
		    .pointer = str_of(why.at),
		    .reason = str_of(why.text),
		    .copy = text,
		    .truncated = !whole || row->v[COL_TOO_LARGE].p,
		};

		if (uuid_parse(row->v[COL_CORRELATION], &correlation))
			x.correlation = &correlation;
		arena_reset(o->scratch);
		TRY(refuse(o, o->scratch, row->id, &x, o->mask, ret, e));
	} else {
		entry_fill(ret, &ev, text);
	}
	keep_entry(o->keep, text, ret);
	return OK;
}

int
row_refuse(const struct row_opts *o, int64_t id, const char *pointer,
    const char *reason, struct entry *en, struct err *e)
{
	struct refused x = {
	    .pointer = str_of(pointer),
	    .reason = str_of(reason),
	    .copy = en->body,
	    .correlation = &en->correlation,
	};
	struct entry made;

	TRY(refuse(o, o->keep, id, &x, NULL, &made, e));
	*en = made;
	return OK;
}
