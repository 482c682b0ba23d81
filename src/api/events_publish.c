#include <assert.h>

#include "account/limiter.h"
#include "api/api.h"
#include "api/events.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/str.h"
#include "event/append.h"
#include "event/catalog.h"
#include "event/envelope.h"
#include "http/reply.h"
#include "seal/digest.h"

/*
 * POST /v1/events. The http thread parses and checks, the commit thread makes
 * it durable, and only then is anything answered. A batch is answered item by
 * item: what is wrong with one does not touch the others.
 */

struct item {
	struct entry *entry; /* NULL: refused, see err */
	struct err err;
};

struct publish {
	struct append_job job;
	struct req *r;
	bool many;
	size_t n;
	struct item *items;
	struct str idempotency; /* the header; empty when there is none */
};

/* The id that a repeat of this request will derive again. */
static struct uuid
derived_id(const struct req *r, struct str idempotency, size_t index)
{
	struct buf b = BUF(IDEMPOTENCY_KEY_MAX + 128);
	unsigned char digest[DIGEST_LEN];

	buf_fmt(
	    &b, "%d %lld %zu ", (int)r->who.kind, (long long)r->who.id, index);
	buf_add(&b, idempotency);
	assert(!b.failed);
	digest_sha256(buf_str(&b), digest);
	buf_done(&b);
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

static void
warn(const struct req *r, const struct event *ev)
{
	struct log_line l;

	log_begin(&l, LOG_WARN, "event does not fit its schema");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "type", ev->type);
	log_str(&l, "reason", ev->warning);
	log_end(&l);
}

/* Fills items[i] from an event's bytes, or says what is wrong with them. */
static int
read_item(struct publish *p, size_t i, struct str bytes, struct json *node,
    struct err *e)
{
	struct req *r = p->r;
	const struct api *api = r->app;
	struct uuid id;
	struct envelope_opts o = {
	    .now_us = clock_now_us(),
	    .strict = api->strict,
	    .mask = api->mask,
	    .body_max = (size_t)api->conf->webhook_max_payload_size,
	};
	struct event ev;
	struct entry *en = &p->job.entries[p->job.n];
	int rc;

	if (p->idempotency.n > 0) {
		id = derived_id(r, p->idempotency, i);
		o.event_id = &id;
	}
	rc = node ? envelope_read(r->arena, node, &o, &ev, e)
		  : envelope_parse(r->arena, bytes, &o, &ev, e);
	if (rc < 0)
		return rc;
	if (!api_tenant_ok(&r->who, ev.tenant))
		return err_at(e, ERR_DENIED, "/tenantId",
		    "this key is limited to other tenants");
	/* Types of the users' own are no reason for a line each. */
	if (ev.warning.n > 0 && catalog_find(ev.type))
		warn(r, &ev);
	*en = (struct entry){
	    .tenant = ev.tenant,
	    .event_id = ev.event_id,
	    .correlation = ev.correlation,
	    .type = ev.type,
	    .key = ev.key,
	    .body = ev.body,
	    .has_rv = ev.has_rv,
	    .rv_us = ev.rv_us,
	};
	digest_short(bytes, en->hash);
	p->items[i].entry = en;
	p->job.n++;
	return OK;
}

static void
take_item(struct publish *p, size_t i, struct str bytes, struct json *node)
{
	if (read_item(p, i, bytes, node, &p->items[i].err) < 0)
		metric_add(M_EVENTS_REJECTED, 1);
}

static int
room_for(struct publish *p, size_t n, struct err *e)
{
	if (n == 0)
		return err_set(e, ERR_INVALID, "there is no event in the body");
	if (n > EVENT_BATCH_MAX)
		return err_set(e, ERR_LIMIT,
		    "%zu events in one request, at "
		    "most %d are taken",
		    n, EVENT_BATCH_MAX);
	p->n = n;
	p->items = arena_array(p->r->arena, n, sizeof(*p->items));
	p->job.entries = arena_array(p->r->arena, n, sizeof(*p->job.entries));
	if (!p->items || !p->job.entries)
		return err_set(e, ERR_LIMIT, "the events need too much memory");
	return OK;
}

static int
read_array(struct publish *p, struct err *e)
{
	struct json *array;
	size_t i = 0;
	int rc = json_parse(p->r->arena, p->r->body, &array, e);

	if (rc < 0)
		return rc;
	rc = room_for(p, array->n, e);
	if (rc < 0)
		return rc;
	for (struct json *v = array->child; v; v = v->next)
		take_item(p, i++, v->raw, v);
	return OK;
}

static int
read_lines(struct publish *p, struct err *e)
{
	struct str rest = p->r->body, line;
	size_t n = 0, i = 0;
	int rc;

	while (json_line(&rest, &line))
		n++;
	rc = room_for(p, n, e);
	rest = p->r->body;
	while (rc == OK && json_line(&rest, &line))
		take_item(p, i++, line, NULL);
	return rc;
}

static int
read_body(struct publish *p, struct err *e)
{
	struct str body = str_trim(p->r->body);
	struct str type = req_header(p->r, "Content-Type");
	int rc;

	p->many = true;
	if (str_starts(type, STR("application/x-ndjson")))
		return read_lines(p, e);
	if (body.n > 0 && body.p[0] == '[')
		return read_array(p, e);
	p->many = false;
	rc = room_for(p, 1, e);
	if (rc == OK)
		rc = read_item(p, 0, body, NULL, e);
	if (rc < 0)
		metric_add(M_EVENTS_REJECTED, 1);
	return rc;
}

static void
add_known(struct buf *b, const struct entry *en)
{
	buf_addz(b, "{\"eventId\":\"");
	uuid_add(b, en->event_id);
	buf_addz(b, "\",");
}

static int
differs(const struct entry *en, struct err *e)
{
	return err_at(e, ERR_CONFLICT, "/eventId",
	    "this event id is in the log with other content (seq %lld)",
	    (long long)en->seq);
}

static void
add_result(struct buf *b, struct item *it)
{
	const struct entry *en = it->entry;

	if (en && en->state == ENTRY_DIFFERS)
		(void)differs(en, &it->err);
	if (it->err.code != OK) {
		buf_fmt(b, "{\"status\":%d,", http_error_status(&it->err));
		if (en) {
			buf_addz(b, "\"eventId\":\"");
			uuid_add(b, en->event_id);
			buf_addz(b, "\",");
		}
		buf_addz(b, "\"error\":");
		http_error_json(b, &it->err);
		buf_addc(b, '}');
		return;
	}
	add_known(b, en);
	buf_fmt(b, "\"status\":202,\"seq\":%lld,\"duplicate\":%s}",
	    (long long)en->seq, en->state == ENTRY_NEW ? "false" : "true");
}

/* On the http thread again, when all is durable or has failed. */
static int
published(struct req *r, struct err *e)
{
	struct publish *p = r->ctx;
	struct entry *en = p->job.entries;

	if (p->job.err.code != OK) {
		*e = p->job.err;
		return e->code;
	}
	if (p->many) {
		buf_addz(&r->out, "{\"results\":[");
		for (size_t i = 0; i < p->n; i++) {
			if (i > 0)
				buf_addc(&r->out, ',');
			add_result(&r->out, &p->items[i]);
		}
		buf_addz(&r->out, "]}");
		return OK;
	}
	if (en->state == ENTRY_DIFFERS)
		return differs(en, e);
	r->status = 202;
	add_known(&r->out, en);
	buf_fmt(&r->out, "\"seq\":%lld,\"duplicate\":%s}", (long long)en->seq,
	    en->state == ENTRY_NEW ? "false" : "true");
	return OK;
}

static void
committed(struct append_job *job)
{
	req_wake(MAIL_OF(job, struct publish, job)->r);
}

int
api_events_post(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct publish *p = arena_alloc(r->arena, sizeof(*p));
	int64_t rate;
	int rc;

	(void)db;
	if (!p)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	p->r = r;
	p->idempotency = req_header(r, "Idempotency-Key");
	r->ctx = p;
	r->then = published;
	rc = check_idempotency(p->idempotency, e);
	if (rc == OK)
		rc = read_body(p, e);
	if (rc < 0)
		return rc;
	/* The request itself was counted when it was let in. */
	rate = r->who.rate_per_second;
	if (rate > 0 && p->n > 1)
		rc = limiter_take(api->limiter, r->who.id, rate,
		    (int64_t)p->n - 1, clock_mono_us(), e);
	if (rc < 0)
		return rc;
	if (p->job.n == 0)
		return published(r, e);
	p->job.done = committed;
	rc = append_post(api->append, &p->job, e);
	return rc < 0 ? rc : REQ_WAIT;
}
