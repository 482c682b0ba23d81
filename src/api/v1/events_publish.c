
#include "account/limiter.h"
#include "api/api.h"
#include "api/handlers.h"
#include "api/io.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/limits.h"
#include "event/append.h"
#include "event/cloud/cloudevent.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "event/type/fault.h"
#include "http/server/limits.h"
#include "http/server/reply.h"
#include "seal/digest.h"

/*
 * POST /v1/events. The http thread parses and checks, the commit thread makes
 * it durable, and only then is anything answered. A batch is answered item by
 * item: what is wrong with one does not touch the others. CloudEvents become
 * envelopes first (event/cloud/cloudevent.h) and are then events as all others.
 */

#define CE_TYPE       "application/cloudevents+json"
#define CE_BATCH_TYPE "application/cloudevents-batch+json"
#define RESULT_BYTES  112 /* of an event that was taken, in the answer */

enum form { NATIVE, CE_STRUCTURED, CE_BINARY };

/* What is to be told of one. */
struct verdict {
	struct err *refused; /* NULL: it has the next entry */
	struct str told;     /* all faults: "errors" or "warnings"; .p NULL */
};

struct publish {
	struct append_job job; /* its entries: those that were not refused */
	struct req *r;
	enum form form;
	bool many;
	size_t n, room;
	struct verdict *verdicts; /* of each */
	size_t failed;            /* before anything is written */
	struct event_defaults defaults;
	struct arena *scratch;
	struct str idempotency; /* the header; empty when there is none */
	struct str trace;       /* the same: traceparent */
};

/* The id that a repeat of this request will derive again. */
static struct uuid
derived_id(const struct req *r, struct str idempotency, size_t index)
{
	struct buf b CLEANUP(buf_done) = BUF(IDEMPOTENCY_KEY_MAX + 128);
	unsigned char digest[DIGEST_LEN];

	buf_fmt(
	    &b, "%d %lld %zu ", (int)r->who.kind, (long long)r->who.id, index);
	buf_add(&b, idempotency);
	assert(!b.failed);
	digest_sha256(buf_str(&b), digest);
	return uuid_from_digest(digest);
}

static int
check_idempotency(struct str key, struct err *e)
{
	if (key.n > IDEMPOTENCY_KEY_MAX)
		return err_at(e, ERR_INVALID, "Idempotency-Key",
		    "Idempotency-Key is over %d bytes", IDEMPOTENCY_KEY_MAX);
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] < 0x20 || key.p[i] > 0x7e)
			return err_at(e, ERR_INVALID, "Idempotency-Key",
			    "Idempotency-Key must be printable ASCII");
	return OK;
}

/* So that who looks at the log sees it, too: the first of them. */
static void
warn(const struct req *r, const struct event *ev)
{
	const struct fault *first = ev->faults->first;
	struct log_line l;

	log_begin(&l, LOG_WARN, "event does not fit its schema");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "type", ev->type);
	log_str(&l, "pointer", first->at);
	log_str(&l, "reason", first->text);
	log_end(&l);
}

/* [{"pointer","message"}], as long as the request. */
static struct str
keep_warnings(const struct req *r, const struct event *ev)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	faults_put(ev->faults, NULL, &b);
	return arena_dup(r->arena, buf_str(&b));
}

/* [{"code","message","pointer"}]: the error and all others of its kind. */
static struct str
keep_errors(const struct publish *p, const struct faults *f)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);
	struct err one = {.code = ERR_INVALID};

	put_open(&b, NULL, '[');
	for (const struct fault *x = f->first; x; x = x->next) {
		if (x->told)
			continue;
		(void)snprintf(
		    one.text, sizeof(one.text), "%.*s", STR_ARG(x->text));
		(void)snprintf(one.at, sizeof(one.at), "%.*s", STR_ARG(x->at));
		if (p->form != NATIVE)
			cloudevent_blame(&one, p->form == CE_BINARY);
		put_name(&b, NULL);
		http_error_json(&b, &one);
	}
	put_close(&b, ']');
	return arena_dup(p->r->arena, buf_str(&b));
}

/* The envelope that a CloudEvent makes. */
static int
read_cloudevent(struct publish *p, struct arena *a, struct str bytes,
    struct json *node, struct str *ret, struct err *e)
{
	struct str tenant = STR_EMPTY; /* as for all others: the defaults */

	if (p->form == CE_BINARY) {
		size_t n;
		struct str_pair *headers = api_headers(p->r, a, &n);

		return cloudevent_binary(a, headers, n, bytes, tenant, ret, e);
	}
	if (!node)
		TRY(json_parse(a, bytes, &node, e));
	return cloudevent_structured(a, node, tenant, ret, e);
}

static int
parse_event(struct publish *p, struct arena *a, struct str *bytes,
    struct json *node, const struct envelope_opts *o, struct event *ret,
    struct err *e)
{
	int rc;

	if (p->form == NATIVE)
		return node ? envelope_read(a, node, o, ret, e)
			    : envelope_parse(a, *bytes, o, ret, e);
	TRY(read_cloudevent(p, a, *bytes, node, bytes, e));
	rc = envelope_parse(a, *bytes, o, ret, e);
	if (rc < 0)
		cloudevent_blame(e, p->form == CE_BINARY);
	return rc;
}

/* An event as an entry, or what is wrong with it. `a` ends before the entry. */
static int
read_event(struct publish *p, struct arena *a, struct str bytes,
    struct json *node, struct entry *ret, struct str *ret_told, struct err *e)
{
	struct req *r = p->r;
	struct uuid id;
	struct envelope_opts o =
	    api_envelope(r->app, clock_now_us(), &p->defaults);
	struct faults wrong = {.n = 0};
	struct event ev;
	int rc;

	o.faults = &wrong;
	if (p->idempotency.n > 0) {
		id = derived_id(r, p->idempotency, p->n);
		o.event_id = &id;
	}
	o.trace = p->trace;
	rc = parse_event(p, a, &bytes, node, &o, &ev, e);
	if (wrong.n > 0)
		*ret_told = keep_errors(p, &wrong);
	if (rc < 0)
		return rc;
	if (!api_tenant_ok(&r->who, ev.tenant)) {
		(void)err_at(e, ERR_DENIED, "/tenantId",
		    "this key is limited to other tenants");
		if (p->form != NATIVE)
			cloudevent_blame(e, p->form == CE_BINARY);
		return ERR_DENIED;
	}
	if (ev.faults) {
		warn(r, &ev);
		*ret_told = keep_warnings(r, &ev);
	}
	entry_fill(ret, &ev, bytes);
	return OK;
}

/* What lies in the request's body lives long enough; the rest is copied. */
static void
keep_text(const struct req *r, struct str *s)
{
	if (s->p < r->body.p || s->p >= r->body.p + r->body.n)
		*s = arena_dup(r->arena, *s);
}

/* How many there will be, when all are as long as the first; and one more. */
static size_t
guess(const struct publish *p, size_t first_n)
{
	size_t n = p->many ? p->r->body.n / (first_n + 1) + 1 : 1;

	return n < EVENT_BATCH_MAX ? n : EVENT_BATCH_MAX;
}

/* Room for one item more, of so many bytes. Each array is twice the last: few
 * are left behind. */
static int
make_room(struct publish *p, size_t n, struct err *e)
{
	struct arena *a = p->r->arena;
	size_t room = p->room ? 2 * p->room : guess(p, n);
	struct verdict *verdicts;
	struct entry *entries;

	if (p->n >= EVENT_BATCH_MAX)
		return err_set(e, ERR_LIMIT,
		    "at most %d events are taken in one request",
		    EVENT_BATCH_MAX);
	if (p->n < p->room)
		return OK;
	verdicts = arena_array(a, room, sizeof(*verdicts));
	entries = arena_array(a, room, sizeof(*entries));
	if (arena_over(a))
		return err_set(e, ERR_LIMIT, "the events need too much memory");
	if (p->n > 0) {
		memcpy(verdicts, p->verdicts, p->n * sizeof(*verdicts));
		memcpy(entries, p->job.entries, p->job.n * sizeof(*entries));
	}
	p->verdicts = verdicts;
	p->job.entries = entries;
	p->room = room;
	return OK;
}

/* One of many: what is wrong with it is kept for its place in the answer. */
static int
take_event(
    struct publish *p, struct str bytes, struct json *node, struct err *e)
{
	struct req *r = p->r;
	struct err wrong = {0};
	struct entry *en;
	struct verdict *v;

	TRY(make_room(p, bytes.n, e));
	en = &p->job.entries[p->job.n];
	v = &p->verdicts[p->n];
	if (read_event(p, p->scratch, bytes, node, en, &v->told, &wrong) ==
	    OK) {
		p->job.n++;
		keep_text(r, &en->type);
		keep_text(r, &en->key);
		keep_text(r, &en->tenant_name);
		keep_text(r, &en->body);
	} else {
		metric_add(M_EVENTS_REJECTED, 1);
		p->failed++;
		v->refused = arena_alloc(r->arena, sizeof(wrong));
		*v->refused = wrong;
	}
	p->n++;
	return arena_over(r->arena)
		   ? err_set(e, ERR_LIMIT, "the events need too much memory")
		   : OK;
}

static int
take_element(void *ctx, struct json *element, struct err *e)
{
	return take_event(ctx, element->raw, element, e);
}

static int
read_lines(struct publish *p, struct err *e)
{
	struct str rest = p->r->body, line;

	while (json_line(&rest, &line)) {
		TRY(take_event(p, line, NULL, e));
		arena_reset(p->scratch);
	}
	return OK;
}

static int
read_many(struct publish *p, bool lines, struct err *e)
{
	struct arena *scratch CLEANUP(arena_freep) = arena_new(HTTP_ARENA_MAX);

	p->many = true;
	p->scratch = scratch;
	TRY(lines ? read_lines(p, e)
		  : json_each(
			p->r->arena, scratch, p->r->body, take_element, p, e));
	/* A batch of CloudEvents may be empty: their specification says so. */
	if (p->n == 0 && p->form == NATIVE)
		return err_set(e, ERR_INVALID, "there is no event in the body");
	return OK;
}

static bool
is_type(struct str type, struct str wanted)
{
	return str_eq_nocase(str_trim(str_cut(&type, ';')), wanted);
}

/* Headers of a CloudEvent, though not all it needs, are meant for one. */
static bool
has_ce_headers(const struct req *r)
{
	return req_header(r, "ce-specversion").n > 0 ||
	       req_header(r, "ce-id").n > 0 || req_header(r, "ce-type").n > 0;
}

static int
read_body(struct publish *p, struct err *e)
{
	struct str body = str_trim(p->r->body);
	struct str type = req_header(p->r, "Content-Type");
	bool lines = is_type(type, STR("application/x-ndjson"));
	bool batch = is_type(type, STR(CE_BATCH_TYPE));
	int rc;

	if (batch || is_type(type, STR(CE_TYPE)))
		p->form = CE_STRUCTURED;
	else if (!lines && has_ce_headers(p->r))
		p->form = CE_BINARY;
	if (lines || batch || (p->form == NATIVE && str_starts(body, STR("["))))
		return read_many(p, lines, e);
	rc = make_room(p, body.n, e);
	if (rc == OK)
		rc = read_event(p, p->r->arena, body, NULL, &p->job.entries[0],
		    &p->verdicts[0].told, e);
	if (rc < 0) {
		metric_add(M_EVENTS_REJECTED, 1);
		if (p->verdicts)
			p->r->errors = p->verdicts[0].told;
	} else
		p->n = p->job.n = 1;
	return rc;
}

static void
add_seq(struct buf *b, const struct entry *en)
{
	put_int(b, "seq", en->seq);
	put_bool(b, "duplicate", en->state != ENTRY_NEW);
}

static int
differs(const struct entry *en, struct err *e)
{
	return err_at(e, ERR_CONFLICT, "/eventId",
	    "this event id is in the log with other content (seq %lld)",
	    (long long)en->seq);
}

static void
add_wrong(struct buf *b, const struct err *wrong)
{
	put_int(b, "status", http_error_status(wrong));
	put_name(b, "error");
	http_error_json(b, wrong);
}

/* One of many: why it was refused, or its entry. */
static void
add_result(struct buf *b, const struct verdict *v, const struct entry *en)
{
	struct err other;

	put_open(b, NULL, '{');
	if (v->refused) {
		add_wrong(b, v->refused);
		if (v->told.p)
			put_raw(b, "errors", v->told);
	} else {
		put_uuid(b, "eventId", en->event_id);
		if (en->state == ENTRY_DIFFERS) {
			(void)differs(en, &other);
			add_wrong(b, &other);
		} else {
			put_int(b, "status", 202);
			add_seq(b, en);
		}
		if (v->told.p)
			put_raw(b, "warnings", v->told);
	}
	put_close(b, '}');
}

/* On the http thread again, when all is durable or has failed. */
static int
published(struct req *r, struct err *e)
{
	struct publish *p = r->ctx;
	struct entry *en = p->job.entries;
	size_t failed = p->failed;

	if (p->many) {
		(void)buf_room(&r->out, p->n * RESULT_BYTES);
		buf_addz(&r->out, "{\"results\":[");
		for (size_t i = 0; i < p->n; i++)
			add_result(&r->out, &p->verdicts[i],
			    p->verdicts[i].refused ? NULL : en++);
		for (size_t i = 0; i < p->job.n; i++)
			failed += p->job.entries[i].state == ENTRY_DIFFERS;
		put_close(&r->out, ']');
		put_int(&r->out, "failed", (int64_t)failed);
		put_close(&r->out, '}');
		return OK;
	}
	if (en->state == ENTRY_DIFFERS)
		return differs(en, e);
	r->status = 202;
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "eventId", en->event_id);
	add_seq(&r->out, en);
	if (p->verdicts[0].told.p)
		put_raw(&r->out, "warnings", p->verdicts[0].told);
	put_close(&r->out, '}');
	return OK;
}

/* When the answer has gone, or the client. */
static void
tell_log(struct req *r)
{
	const struct publish *p = r->ctx;

	if (p->job.err.code != OK)
		return;
	log_hold();
	entry_tell(p->job.entries, p->job.n);
	log_release();
}

int
api_events_post(struct req *r, struct db *, struct err *e)
{
	const struct api *api = r->app;
	struct publish *p = arena_alloc(r->arena, sizeof(*p));

	p->r = r;
	p->idempotency = req_header(r, "Idempotency-Key");
	p->trace = req_header(r, "traceparent");
	p->defaults = api_defaults(r, r->arena, STR_EMPTY);
	r->ctx = p;
	api_then(r, published);
	TRY(check_idempotency(p->idempotency, e));
	TRY(read_body(p, e));
	if (r->who.kind == WHO_KEY)
		TRY(limiter_take(api->limiter, r->who.id,
		    r->who.rate_per_second, (int64_t)p->n, clock_mono_us(), e));
	if (p->job.n == 0)
		return published(r, e);
	p->job.quiet = p->many;
	TRY(api_append(r, &p->job, e));
	if (p->many)
		r->done = tell_log;
	return REQ_WAIT;
}
