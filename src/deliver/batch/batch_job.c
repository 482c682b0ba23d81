/* batch.h: one commit, from what is due to the log. */
#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/mem.h"
#include "base/str.h"
#include "deliver/batch/batch_priv.h"
#include "deliver/engine/flush.h"
#include "deliver/engine/letter.h"
#include "deliver/limits.h"
#include "node/node.h"
#include "seal/digest.h"
#include "sql.h"

#define US_PER_MIN (60 * US_PER_S)
#define JOB_BYTES  (4 * MIB) /* of singles: then the next job */

/* Commit thread ------------------------------------------------------------- */

static int
write_step(struct db *db, void *ctx, struct err *e)
{
	struct batch_job *j = ctx;
	int64_t n = node_fence(db, deliver_opts(j->b->d)->node, j->epoch, e);

	if (n == OK)
		n = sql_batch_step(db, e, .sub = j->sub, .pos = j->pos,
		    .idle = j->idle, .step = j->step, .state = j->state);
	j->known = n == 0;
	if (n > 0)
		n = flush_deads(db, j->fails, j->n_fails, j->minute, e);
	return n < 0 ? (int)e->code : OK;
}

/* Behind the entries: the audit is the last thing a transaction does. */
static int
drops(struct db *db, void *ctx, struct err *e)
{
	struct batch_job *j = ctx;

	if (j->known || j->dropped == 0)
		return OK;
	if (sql_stat_drop(db, e, .sub = j->sub, .minute = j->minute,
		.dropped = j->dropped) < 0)
		return e->code;
	return audit_put_many(db, j->audits, j->n_audits, e);
}

static int
step_alone(struct db *db, void *ctx, struct err *e)
{
	int rc = write_step(db, ctx, e);

	return rc < 0 ? rc : drops(db, ctx, e);
}

static void
job_done(struct append_job *job)
{
	struct batch_job *j = LINK_OF(job, struct batch_job, job);
	struct batcher *b = j->b;
	/* When the box is closed, batcher_free() finds the job. */
	bool posted = mailbox_post(b->box, &j->note.mail);

	(void)posted;
	(void)atomic_fetch_sub(&b->in_flight, 1);
}

static int
engage(struct db *db, void *ctx, struct err *e)
{
	struct batcher *b = ctx;
	int rc = node_fence(db, deliver_opts(b->d)->node, b->engage.epoch, e);

	for (size_t i = 0; rc == OK && i < b->engage.n; i++)
		if (sql_batch_engage(db, e, .sub = b->engage.v[i].sub,
			.pos = b->engage.v[i].pos) < 0)
			rc = e->code;
	return rc;
}

static void
engage_done(struct append_job *job)
{
	struct batcher *b = job->ctx;
	bool posted = mailbox_post(b->box, &b->engage.note.mail);

	(void)posted;
	(void)atomic_fetch_sub(&b->in_flight, 1);
}

/* Dispatch thread ------------------------------------------------------------ */

void
batch_engage_post(struct batcher *b)
{
	struct err e;

	b->engage.note.kind = NOTE_BATCH;
	b->engage.job =
	    (struct append_job){.fn = engage, .ctx = b, .done = engage_done};
	(void)atomic_fetch_add(&b->in_flight, 1);
	b->engage.busy =
	    append_post(deliver_opts(b->d)->append, &b->engage.job, &e) == OK;
	if (!b->engage.busy) {
		(void)atomic_fetch_sub(&b->in_flight, 1);
		b->engage.retry_us = deliver_now(b->d) + BATCH_RETRY_US;
	}
}

void
batch_job_free(struct batch_job *j)
{
	if (!j)
		return;
	batch_job_forget_fails(j);
	arena_free(j->arena);
	free(j);
}

static struct batch_job *
job_new(struct gather *g, int64_t now)
{
	struct batch_job *j = mem_get(sizeof(*j));

	assert(!g->job);
	j->arena = arena_new(BATCH_JOB_MEM);
	j->note.kind = NOTE_BATCH;
	j->b = g->b;
	j->g = g;
	j->sub = g->sub;
	j->step = ++g->step;
	j->epoch = g->b->epoch;
	j->minute = now / US_PER_MIN;
	j->state = STR_EMPTY;
	g->job = j;
	return j;
}

void
batch_job_post(struct gather *g, int64_t now)
{
	struct batch_job *j = g->job;
	struct err e;

	j->job = (struct append_job){
	    .entries = j->entries,
	    .n = j->n_entries,
	    .fn = j->n_entries > 0 ? write_step : step_alone,
	    .after = j->n_entries > 0 ? drops : NULL,
	    .ctx = j,
	    .done = job_done,
	};
	(void)atomic_fetch_add(&g->b->in_flight, 1);
	g->busy = append_post(deliver_opts(g->b->d)->append, &j->job, &e) == OK;
	if (!g->busy) {
		(void)atomic_fetch_sub(&g->b->in_flight, 1);
		g->retry_us = now + BATCH_RETRY_US;
	}
}

/* An entry for this subscription alone. The payload is JSON. */
static bool
add_entry(struct batch_job *j, struct str type, struct uuid tenant,
    struct str key, struct str payload, int64_t now)
{
	struct entry *en = &j->entries[j->n_entries];
	struct buf b = BUF(payload.n + 8 * KIB);
	struct uuid id = uuid_v7(now), correlation = uuid_v7(now);
	struct str text;

	buf_addz(&b, "{\"eventId\":\"");
	uuid_add(&b, id);
	buf_addz(&b, "\",\"occurredAt\":\"");
	time_add(&b, now);
	buf_addz(&b, "\",\"correlationId\":\"");
	uuid_add(&b, correlation);
	buf_addz(&b, "\",\"eventType\":");
	buf_json(&b, type);
	buf_addz(&b, ",\"schemaVersion\":1,\"tenantId\":\"");
	uuid_add(&b, tenant);
	buf_addz(&b, "\",\"producer\":{\"service\":\"hikyaku\",\"instanceId\":"
		     "\"1\"},\"sequence\":{\"partitionKey\":");
	buf_json(&b, key);
	buf_addz(&b, "},\"payload\":");
	buf_add(&b, payload);
	buf_addc(&b, '}');
	text = b.failed ? STR_EMPTY : arena_dup(j->arena, buf_str(&b));
	buf_done(&b);
	if (text.n == 0)
		return false;
	*en = (struct entry){
	    .tenant = tenant,
	    .event_id = id,
	    .correlation = correlation,
	    .type = arena_dup(j->arena, type),
	    .key = arena_dup(j->arena, key),
	    .body = text,
	    .to_sub = j->sub,
	};
	digest_short(text, en->hash);
	j->n_entries++;
	return true;
}

static struct str
uid_text(struct batch_job *j)
{
	char *text = arena_alloc(j->arena, UUID_LEN + 1);

	uuid_format(j->g->wish->uid, text);
	return (struct str){text, UUID_LEN};
}

static struct audit_row *
audit_drop(struct batch_job *j, int64_t n, int64_t now, struct str details)
{
	struct audit_row *row = &j->audits[j->n_audits++];

	assert(j->n_audits <= BATCH_AUDITS);
	j->dropped += n;
	*row = (struct audit_row){
	    .category = AUDIT_WEBHOOK_DELIVERY_DROPPED,
	    .at_us = now,
	    .target_type = STR("folder"),
	    .webhook_id = uid_text(j),
	    .details = details,
	};
	return row;
}

/* Windows --------------------------------------------------------------------- */

void
batch_job_window(struct gather *g, int64_t now)
{
	struct batch_window *w = g->open;
	struct batch_job *j = job_new(g, now);

	for (size_t i = 0; i < batch_window_count(w); i++) {
		struct buf b = BUF(BATCH_BYTES_MAX + 64 * KIB);
		struct batch_made m;
		bool fits;

		batch_window_make(w, i, &m, &b);
		fits = !b.failed && add_entry(j, str_of(m.type), m.tenant,
					m.key, buf_str(&b), now);
		assert(fits); /* a window is bounded */
		buf_done(&b);
	}
	j->pos = g->handled = batch_window_last(w);
	j->idle = g->live && (!g->limit || child_limit_idle(g->limit));
	if (g->limit && !child_limit_idle(g->limit)) {
		struct buf b = BUF(CHILD_STATE_MAX);

		child_limit_save(g->limit, &b);
		j->state = arena_dup(j->arena, buf_str(&b));
		buf_done(&b);
	}
	batch_job_fails(j);
	if (batch_window_child(w))
		ring_add(&g->closed, batch_per_minute(g->b), now);
	g->b->bytes -= batch_window_bytes(w);
	g->open = NULL;
	g->forced = false;
	batch_window_free(w);
}

/* There was something once; under the terms of now there is not. */
void
batch_job_leave(struct gather *g, int64_t now)
{
	struct batch_job *j = job_new(g, now);

	j->pos = g->handled = g->seen;
	j->idle = g->live;
	batch_job_fails(j);
}

/* The limiter ----------------------------------------------------------------- */

static void
lost_single(struct batch_job *j, int64_t seq, int64_t now, const char *why)
{
	(void)audit_drop(j, 1, now,
	    arena_fmt(j->arena, "\"seq\":%lld,\"reason\":\"%s\"",
		(long long)seq, why));
}

static int
copy_single(
    struct batch_job *j, const struct letter *l, int64_t now, struct err *e)
{
	struct json *tree = NULL;
	const struct json *payload = NULL;
	struct err why;

	if (l->shut)
		return err_set(e, ERR_AWAY, "no key opens an event");
	if (json_parse(j->arena, l->body, &tree, &why) == OK)
		payload = json_get(tree, "payload");
	if (!payload ||
	    !add_entry(j, l->type, l->tenant, l->key, payload->raw, now))
		lost_single(j, l->seq, now, "too large");
	return OK;
}

/* The event as it was, for this subscription alone. */
static int
add_single(struct batch_job *j, int64_t seq, int64_t now, struct err *e)
{
	struct sql_log_feed_row row;
	struct letter *l = NULL;
	struct rows *rows = NULL;
	int rc = sql_log_feed(
	    j->b->db, &rows, e, .after = seq - 1, .upto = seq, .most = 1);

	if (rc == OK)
		rc = sql_log_feed_next(rows, &row, e);
	if (rc == 0)
		lost_single(j, seq, now, "not in the log any more");
	if (rc > 0) {
		l = letter_new(&row);
		letter_open(l, deliver_opts(j->b->d)->keyring);
		rc = copy_single(j, l, now, e);
		letter_unref(l);
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static void
add_summary(struct batch_job *j, const struct child_out *out, int64_t now)
{
	struct buf b = BUF(BATCH_BYTES_MAX);
	struct str key =
	    out->folder.id.n > 0 ? out->folder.id : STR("cmis.child_summary");
	bool fits;

	batch_summary_payload(out, &b);
	fits = !b.failed && add_entry(j, STR("cmis.child_summary"),
				out->folder.tenant, key, buf_str(&b), now);
	assert(fits);
	buf_done(&b);
}

static void
add_drops(struct batch_job *j, int64_t now)
{
	static const char *const WHY[] = {
	    [CHILD_DROP_QUEUE] = "queue full",
	    [CHILD_DROP_BREAKER] = "circuit breaker",
	};
	struct child_limit *l = j->g->limit;
	struct child_drops d = child_limit_drops(l);
	struct audit_row *row;

	for (size_t i = 0; i < d.n; i++) {
		row = audit_drop(j, 1, now,
		    arena_fmt(j->arena, "\"seq\":%lld,\"reason\":\"%s\"",
			(long long)d.v[i].seq, WHY[d.v[i].why]));
		row->object_id = arena_dup(j->arena, d.v[i].folder);
		row->event_type = str_of(child_type_name(d.v[i].type));
	}
	if (d.more > 0)
		(void)audit_drop(j, d.more, now,
		    arena_fmt(j->arena,
			"\"count\":%lld,\"firstSeq\":%lld,\"lastSeq\":%lld",
			(long long)d.more, (long long)d.more_first,
			(long long)d.more_last));
	child_limit_drops_done(l);
}

int
batch_job_limit(struct gather *g, int64_t now, struct err *e)
{
	struct batch_job *j = job_new(g, now);
	struct buf b = BUF(CHILD_STATE_MAX);
	struct child_out out;
	int rc = OK;

	while (rc == OK && j->n_entries + j->n_audits < CHILD_SENDS_MAX &&
	       arena_used(j->arena) < JOB_BYTES &&
	       child_limit_next(g->limit, now, &out)) {
		if (out.kind == CHILD_OUT_SUMMARY)
			add_summary(j, &out, now);
		else
			rc = add_single(j, out.seq, now, e);
	}
	if (rc < 0) {
		batch_job_free(j);
		g->job = NULL;
		return rc;
	}
	add_drops(j, now);
	j->idle = g->live && !g->open && child_limit_idle(g->limit);
	if (!child_limit_idle(g->limit))
		child_limit_save(g->limit, &b);
	j->state = arena_dup(j->arena, buf_str(&b));
	assert(!b.failed);
	buf_done(&b);
	if (g->last > g->handled)
		g->handled = g->last;
	j->pos = g->handled;
	batch_job_fails(j);
	g->dirty = false;
	return OK;
}
