/* envelope.h: the bytes to store, of those received and what was made up. */
#include "base/put.h"
#include "event/envelope_priv.h"
#include "event/limits.h"
#include "event/mask.h"

/* What was received, with masks and what is filled in; the bytes around the
 * payload. */
struct body {
	struct str raw, bytes;
	size_t before, after;
};

/* The pieces of a body that are put behind its opening brace. */
struct pieces {
	struct str v[32];
	size_t n, bytes;
	char ids[2][UUID_LEN + 1], time[TIME_LEN + 1];
};

static void
piece(struct pieces *p, struct str s)
{
	assert(p->n < COUNT_OF(p->v));
	p->v[p->n++] = s;
	p->bytes += s.n;
}

static void
piece_text(struct pieces *p, struct str name, struct str text)
{
	piece(p, name);
	piece(p, text);
	piece(p, STR("\","));
}

/* All of the sequence, with its comma. */
static struct str
write_sequence(struct arena *a, const struct reading *r)
{
	struct buf b CLEANUP(buf_done) = BUF(8 * EVENT_KEY_MAX);

	if (!r->made.key && r->made.rv.n == 0)
		return STR("\"sequence\":{\"partitionKey\":\"\"},");
	put_open(&b, "sequence", '{');
	put_text(&b, "partitionKey", r->ev.key.n > 0 ? r->ev.key : STR_EMPTY);
	if (r->made.rv.n > 0)
		put_raw(&b, "recordVersion", r->made.rv);
	put_close(&b, '}');
	buf_addc(&b, ',');
	assert(!b.failed);
	return arena_dup(a, buf_str(&b));
}

/* The members we made up, each with its comma. */
static void
write_made(struct arena *a, const struct reading *r, struct pieces *p)
{
	const struct made *m = &r->made;
	const struct event *ev = &r->ev;
	const struct event_defaults *d = r->o->defaults;

	if (m->event_id) {
		uuid_format(ev->event_id, p->ids[0]);
		piece_text(p, STR("\"eventId\":\""),
		    (struct str){p->ids[0], UUID_LEN});
	}
	if (m->occurred) {
		time_format(ev->occurred_us, p->time);
		piece_text(p, STR("\"occurredAt\":\""), str_of(p->time));
	}
	if (m->correlation) {
		uuid_format(ev->correlation, p->ids[1]);
		piece_text(p, STR("\"correlationId\":\""),
		    (struct str){p->ids[1], UUID_LEN});
	}
	if (m->trace)
		piece_text(p, STR("\"traceparent\":\""), r->o->trace);
	if (m->version)
		piece(p, STR("\"schemaVersion\":1,"));
	if (m->tenant)
		piece_text(p, STR("\"tenantId\":\""), d->tenant_name);
	if (m->producer) {
		piece(p, STR("\"producer\":"));
		piece(p, d->producer);
		piece(p, STR(","));
	}
	if (m->sequence)
		piece(p, write_sequence(a, r));
}

/* Behind the opening brace; there are members after it. */
static struct str
insert(struct arena *a, struct str bytes, const struct pieces *p)
{
	char *to, *at;

	if (p->bytes == 0)
		return bytes;
	to = at = arena_try(a, bytes.n + p->bytes);
	if (!to)
		return (struct str){.p = NULL};
	*at++ = '{';
	for (size_t i = 0; i < p->n; i++) {
		memcpy(at, p->v[i].p, p->v[i].n);
		at += p->v[i].n;
	}
	memcpy(at, bytes.p + 1, bytes.n - 1);
	return (struct str){to, bytes.n + p->bytes};
}

/* `text` in place of `drop` bytes. */
static int
splice(struct arena *a, size_t at, size_t drop, struct str text,
    struct str *bytes, struct err *e)
{
	char *p = arena_try(a, bytes->n - drop + text.n);

	if (!p)
		return err_set(e, ERR_LIMIT, "no room for the event");
	memcpy(p, bytes->p, at);
	memcpy(p + at, text.p, text.n);
	memcpy(p + at + text.n, bytes->p + at + drop, bytes->n - at - drop);
	*bytes = (struct str){p, bytes->n - drop + text.n};
	return OK;
}

/* Behind the brace of the sequence; a recordVersion that is null is replaced. */
static int
fill_in(struct arena *a, const struct reading *r, struct body *b, struct err *e)
{
	const struct json *sequence = r->f.v[SEQUENCE],
			  *null_rv = r->f.v[RECORD_VERSION];
	const char *payload = r->ev.payload->raw.p;
	struct buf more CLEANUP(buf_done) = BUF(8 * EVENT_KEY_MAX);
	size_t before = b->bytes.n, at;

	/* What a mask changed lies inside the payload. */
	at = sequence->raw.p > payload ? b->bytes.n - b->raw.n : 0;
	if (r->made.rv.n > 0 && null_rv)
		TRY(splice(a, at + (size_t)(null_rv->raw.p - b->raw.p),
		    null_rv->raw.n, r->made.rv, &b->bytes, e));
	if (r->made.key)
		put_text(&more, "partitionKey", r->ev.key);
	if (r->made.rv.n > 0 && !null_rv)
		put_raw(&more, "recordVersion", r->made.rv);
	if (more.n > 0) {
		if (sequence->child)
			buf_addc(&more, ',');
		TRY(splice(a, at + (size_t)(sequence->raw.p - b->raw.p) + 1, 0,
		    buf_str(&more), &b->bytes, e));
	}
	if (sequence->raw.p > payload)
		b->after += b->bytes.n - before;
	else
		b->before += b->bytes.n - before;
	return OK;
}

int
envelope_compose(
    struct arena *a, struct json *tree, struct reading *r, struct err *e)
{
	struct event *ev = &r->ev;
	/* Masks work inside the payload: what surrounds it keeps its size. */
	struct body b = {.raw = tree->raw, .bytes = tree->raw};
	UNINIT struct pieces p;

	b.before = (size_t)(ev->payload->raw.p - b.raw.p);
	b.after = b.raw.n - b.before - ev->payload->raw.n;
	p.n = p.bytes = 0;
	write_made(a, r, &p);
	if (r->o->mask)
		TRY(mask_apply(a, r->o->mask, ev->type, tree, &b.bytes, e));
	if (!r->made.sequence && (r->made.key || r->made.rv.n > 0))
		TRY(fill_in(a, r, &b, e));
	ev->body = insert(a, b.bytes, &p);
	if (!ev->body.p)
		return err_set(e, ERR_LIMIT, "no room for the event");
	ev->payload_raw = str_from(ev->body, b.before + p.bytes);
	ev->payload_raw.n -= b.after;
	return OK;
}
