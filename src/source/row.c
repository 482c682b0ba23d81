#include "source/row.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "event/envelope.h"
#include "source/refused.h"

/* A column as a JSON string, or null. */
static void
add_text(struct buf *b, const char *before, struct str v)
{
	buf_addz(b, before);
	if (!v.p)
		buf_addz(b, "null");
	else if (str_utf8_bad(v) == v.n)
		buf_json(b, v);
	else
		buf_addz(b, "\"(no UTF-8)\"");
}

/* A column of JSON as it stands; as a string when it is none. */
static void
add_json(struct buf *b, const char *before, struct str v, bool quoted)
{
	if (quoted || !v.p) {
		add_text(b, before, v);
		return;
	}
	buf_addz(b, before);
	buf_add(b, v);
}

static bool
is_number(struct str v)
{
	int64_t n;

	return v.p && str_int(v, &n);
}

static void
add_envelope(
    struct buf *b, const struct outbox_row *row, bool quoted, bool odd_producer)
{
	const struct str *v = row->v;

	add_text(b, "{\"eventId\":", v[COL_EVENT_ID]);
	if (is_number(v[COL_VERSION])) {
		buf_addz(b, ",\"schemaVersion\":");
		buf_add(b, v[COL_VERSION]);
	} else {
		add_text(b, ",\"schemaVersion\":", v[COL_VERSION]);
	}
	add_text(b, ",\"eventType\":", v[COL_TYPE]);
	if (v[COL_OCCURRED].p)
		add_text(b, ",\"occurredAt\":", v[COL_OCCURRED]);
	else if (v[COL_CREATED].p)
		add_text(b, ",\"occurredAt\":", v[COL_CREATED]);
	add_text(b, ",\"tenantId\":", v[COL_TENANT]);
	add_json(b, ",\"producer\":", v[COL_PRODUCER], odd_producer);
	if (v[COL_CORRELATION].p)
		add_text(b, ",\"correlationId\":", v[COL_CORRELATION]);
	add_text(b, ",\"sequence\":{\"partitionKey\":", v[COL_KEY]);
	if (v[COL_RV].p)
		add_text(b, ",\"recordVersion\":", v[COL_RV]);
	add_json(b, "},\"payload\":", v[COL_PAYLOAD], quoted);
	buf_addc(b, '}');
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
static bool
keep_it(struct arena *keep, struct str text, struct str *s)
{
	if (in(text, *s))
		return true;
	*s = arena_dup(keep, *s);
	return s->p != NULL;
}

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for rows of the outbox");
}

static int
keep_entry(struct arena *keep, struct str text, struct entry *en, struct err *e)
{
	return keep_it(keep, text, &en->type) &&
		       keep_it(keep, text, &en->key) &&
		       keep_it(keep, text, &en->body)
		   ? OK
		   : no_memory(e);
}

static int
refuse(struct arena *keep, struct arena *scratch, const struct outbox_row *row,
    struct str copy, const struct row_opts *o, const struct err *why,
    struct entry *ret, struct err *e)
{
	int rc;
	struct uuid correlation;
	char ref[24];
	struct refused x = {
	    .source = o->source,
	    .pointer = str_of(why->at),
	    .reason = str_of(why->text),
	    .copy = copy,
	};

	(void)snprintf(ref, sizeof(ref), "%lld", (long long)row->id);
	x.ref = str_of(ref);
	if (row->v[COL_CORRELATION].p &&
	    uuid_parse(row->v[COL_CORRELATION], &correlation))
		x.correlation = &correlation;
	arena_reset(scratch);
	rc = refused_entry(scratch, &x, o->mask, o->now_us, ret, e);
	return rc == OK ? keep_entry(keep, copy, ret, e) : rc;
}

/* The row as far as it goes: what it is, if not what it says. */
static int
too_long(struct arena *keep, struct buf *b, const struct outbox_row *row,
    struct str *ret_text, struct err *e)
{
	buf_clear(b);
	add_text(b, "{\"eventId\":", str_chars(row->v[COL_EVENT_ID], 64));
	buf_addc(b, '}');
	*ret_text = arena_dup(keep, buf_str(b));
	return b->failed || !ret_text->p
		   ? no_memory(e)
		   : err_at(e, ERR_LIMIT, "",
			 "the row is larger than an event may be");
}

/* What is wrong with the row, or OK and the event; *ret_text is the bytes. */
static int
read_row(struct arena *keep, struct arena *scratch, struct buf *b,
    const struct outbox_row *row, const struct row_opts *o, struct event *ret,
    struct str *ret_text, struct err *e)
{
	struct envelope_opts eo = {
	    .now_us = o->now_us,
	    .strict = o->strict,
	    .mask = o->mask,
	    .body_max = o->body_max,
	};
	bool whole;
	int rc;

	buf_clear(b);
	add_envelope(b, row, false, false);
	if (b->failed)
		return too_long(keep, b, row, ret_text, e);
	*ret_text = arena_dup(keep, buf_str(b));
	if (!ret_text->p)
		return no_memory(e);
	if (row->v[COL_TOO_LARGE].p)
		return err_at(e, ERR_LIMIT, "/payload",
		    "the payload has %.*s bytes; webhook.max.payload.size allows %zu",
		    STR_ARG(row->v[COL_TOO_LARGE]), o->body_max);
	rc = envelope_parse(scratch, *ret_text, &eo, ret, e);
	/* scratch holds any event there is: this one will never fit. */
	if (rc == ERR_LIMIT)
		return rc;
	whole = rc == OK &&
		str_eq(ret->payload->raw, str_trim(row->v[COL_PAYLOAD])) &&
		str_eq(json_get(ret->tree, "producer")->raw,
		    str_trim(row->v[COL_PRODUCER]));
	if (whole || (is_json(scratch, row->v[COL_PAYLOAD]) &&
			 is_json(scratch, row->v[COL_PRODUCER])))
		return rc;
	/* One of the two is no JSON by itself, whatever came of the whole. */
	rc = is_json(scratch, row->v[COL_PAYLOAD])
		 ? err_at(e, ERR_INVALID, "/producer", "producer is no JSON")
		 : err_at(e, ERR_INVALID, "/payload", "payload is no JSON");
	buf_clear(b);
	add_envelope(b, row, !is_json(scratch, row->v[COL_PAYLOAD]),
	    !is_json(scratch, row->v[COL_PRODUCER]));
	if (b->failed)
		return too_long(keep, b, row, ret_text, e);
	*ret_text = arena_dup(keep, buf_str(b));
	return ret_text->p ? rc : no_memory(e);
}

int
row_entry(struct arena *keep, struct arena *scratch, struct buf *b,
    const struct outbox_row *row, const struct row_opts *o, struct entry *ret,
    bool *ret_refused, struct err *e)
{
	struct err why = {0};
	struct event ev;
	struct str text;
	int rc = read_row(keep, scratch, b, row, o, &ev, &text, &why);

	*ret_refused = false;
	if (rc == ERR_NOMEM) {
		*e = why;
		return rc;
	}
	if (rc < 0) {
		*ret_refused = true;
		return refuse(keep, scratch, row, text, o, &why, ret, e);
	}
	entry_fill(ret, &ev, text);
	return keep_entry(keep, text, ret, e);
}

int
row_refuse(struct arena *keep, int64_t id, const struct row_opts *o,
    const struct entry *en, const char *pointer, const char *reason,
    struct entry *ret, struct err *e)
{
	char ref[24];
	struct refused x = {
	    .source = o->source,
	    .pointer = str_of(pointer),
	    .reason = str_of(reason),
	    .copy = en->body,
	    .correlation = &en->correlation,
	};

	(void)snprintf(ref, sizeof(ref), "%lld", (long long)id);
	x.ref = str_of(ref);
	return refused_entry(keep, &x, NULL, o->now_us, ret, e);
}
