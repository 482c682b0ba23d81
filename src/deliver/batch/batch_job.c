/* batch.h: one commit, from what is due to the log. */

#include "base/log/log.h"
#include "base/log/metric.h"
#include "deliver/batch/batch_priv.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/flush.h"
#include "deliver/engine/letter.h"
#include "deliver/limits.h"
#include "match/limits.h"
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

	TRY(node_fence(db, deliver_opts(j->post.b->d)->node, j->epoch, e));
	j->known =
	    TRY((int)sql_batch_step(db, e, .sub = j->sub, .pos = j->pos,
		.idle = j->idle, .step = j->step, .state = j->state)) == 0;
	return j->known ? OK
			: flush_deads(db, j->fails.v, j->fails.n, j->minute, e);
}

/* Behind the entries: the audit is the last thing a transaction does. */
static int
drops(struct db *db, void *ctx, struct err *e)
{
	struct batch_job *j = ctx;

	if (j->known)
		return OK;
	if (j->dropped > 0)
		TRY((int)sql_stat_drop(db, e, .sub = j->sub,
		    .minute = j->minute, .dropped = j->dropped));
	TRY(audit_put_many(db, j->audits, j->n_audits, e));
	return flush_deads_audit(db, j->post.b->d, j->fails.v, j->fails.n, e);
}

static int
step_alone(struct db *db, void *ctx, struct err *e)
{
	TRY(write_step(db, ctx, e));
	return drops(db, ctx, e);
}

static int
engage(struct db *db, void *ctx, struct err *e)
{
	struct batcher *b = ctx;

	TRY(node_fence(db, deliver_opts(b->d)->node, b->engage.epoch, e));
	for (size_t i = 0; i < b->engage.n; i++)
		TRY((int)sql_batch_engage(db, e, .sub = b->engage.v[i].sub,
		    .pos = b->engage.v[i].pos));
	return OK;
}

static void
posted_done(struct append_job *job)
{
	struct posted *p = LINK_OF(job, struct posted, job);
	struct batcher *b = p->b;
	/* When the box is closed, batcher_free() finds the job. */
	bool told = mailbox_post(b->box, &p->note.mail);

	(void)told;
	(void)atomic_fetch_sub(&b->in_flight, 1);
}

/* Dispatch thread ------------------------------------------------------------ */

/* False: the commit thread does not take it now. */
static bool
post(struct batcher *b, struct posted *p, const struct append_job *job)
{
	struct err e;

	p->b = b;
	p->note.kind = NOTE_BATCH;
	p->job = *job;
	p->job.done = posted_done;
	(void)atomic_fetch_add(&b->in_flight, 1);
	if (append_post(deliver_opts(b->d)->append, &p->job, &e) == OK)
		return true;
	(void)atomic_fetch_sub(&b->in_flight, 1);
	return false;
}

void
batch_engage_post(struct batcher *b)
{
	struct append_job job = {.fn = engage, .ctx = b};

	b->engage.busy = post(b, &b->engage.post, &job);
	if (!b->engage.busy)
		b->engage.retry_us = deliver_now(b->d) + BATCH_RETRY_US;
}

bool
batch_fail(
    struct gather *g, const struct letter *l, enum reason r, struct str why)
{
	char text[JQ_REASON_MAX + 1];
	struct flush_detail *detail;

	if (g->fails.n == BATCH_FAILS_MAX || g->reload)
		return false;
	if (!g->fails.v)
		g->fails.v = mem_array(BATCH_FAILS_MAX, sizeof(*g->fails.v));
	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(why));
	detail = detail_dead(text, letter_ours(l));
	detail->audit = g->wish->audited && !detail->own;
	g->fails.v[g->fails.n++] = (struct core_dead){
	    .row.sub = g->sub,
	    .row.okey = letter_lane(l),
	    .row.seq = l->seq,
	    .at = deliver_now(g->b->d),
	    .reason = (int)r,
	    .detail = detail,
	};
	batch_engage(g, l->seq);
	g->seen = l->seq;
	return true;
}

void
batch_fails_done(struct fails *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].detail);
	free(f->v);
	*f = (struct fails){.n = 0};
}

/* They are the job's, with its pos. */
static void
take_fails(struct batch_job *j)
{
	struct gather *g = j->g;

	j->fails = g->fails;
	g->fails = (struct fails){.n = 0};
	if (j->fails.n > 0 && j->fails.v[j->fails.n - 1].row.seq > j->pos)
		j->pos = g->handled = j->fails.v[j->fails.n - 1].row.seq;
}

void
batch_job_free(struct batch_job *j)
{
	if (!j)
		return;
	batch_fails_done(&j->fails);
	arena_free(j->arena);
	free(j);
}

static struct batch_job *
job_new(struct gather *g, int64_t now)
{
	struct batch_job *j = mem_get(sizeof(*j));

	assert(!g->job);
	j->arena = arena_new(BATCH_JOB_MEM);
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
	struct append_job job = {
	    .entries = j->entries,
	    .n = j->n_entries,
	    .fn = j->n_entries > 0 ? write_step : step_alone,
	    .after = j->n_entries > 0 ? drops : NULL,
	    .ctx = j,
	};

	g->busy = post(g->b, &j->post, &job);
	if (!g->busy)
		g->retry_us = now + BATCH_RETRY_US;
}

/* An entry for this subscription alone. The payload is JSON. */
static bool
add_entry(struct batch_job *j, struct str type, struct uuid tenant,
    struct str key, struct str payload, int64_t now)
{
	struct entry *en = &j->entries[j->n_entries];
	struct buf b CLEANUP(buf_done) = BUF(payload.n + 8 * KIB);
	struct uuid id = uuid_v7(now), correlation = uuid_v7(now);
	struct str text;

	put_open(&b, NULL, '{');
	put_uuid(&b, "eventId", id);
	put_time(&b, "occurredAt", now);
	put_uuid(&b, "correlationId", correlation);
	put_text(&b, "eventType", type);
	put_int(&b, "schemaVersion", 1);
	put_uuid(&b, "tenantId", tenant);
	put_raw(&b, "producer",
	    STR("{\"service\":\"hikyaku\",\"instanceId\":\"1\"}"));
	put_open(&b, "sequence", '{');
	put_name(&b, "partitionKey");
	buf_json(&b, key);
	put_close(&b, '}');
	put_raw(&b, "payload", payload);
	put_close(&b, '}');
	if (b.failed)
		return false;
	text = arena_dup(j->arena, buf_str(&b));
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

static struct audit_row *
audit_drop(struct batch_job *j, int64_t n, int64_t now, struct str details)
{
	struct audit_row *row = &j->audits[j->n_audits++];
	char *uid = arena_alloc(j->arena, UUID_LEN + 1);

	uuid_format(j->g->wish->uid, uid);
	assert(j->n_audits <= BATCH_AUDITS);
	j->dropped += n;
	*row = (struct audit_row){
	    .category = AUDIT_WEBHOOK_DELIVERY_DROPPED,
	    .at_us = now,
	    .target_type = STR("folder"),
	    .webhook_id = {uid, UUID_LEN},
	    .details = details,
	};
	return row;
}

/* What the limiter has; without anything, and without a window, it is idle. */
static void
save_limit(struct batch_job *j)
{
	const struct gather *g = j->g;
	struct buf b CLEANUP(buf_done) = BUF(CHILD_STATE_MAX);

	j->idle = g->live && !g->open;
	if (!g->limit || child_limit_idle(g->limit))
		return;
	j->idle = false;
	child_limit_save(g->limit, &b);
	assert(!b.failed);
	j->state = arena_dup(j->arena, buf_str(&b));
}

/* Windows --------------------------------------------------------------------- */

void
batch_job_window(struct gather *g, int64_t now)
{
	struct batch_window *w = g->open;
	struct batch_job *j = job_new(g, now);

	for (size_t i = 0; i < w->n_groups; i++) {
		struct buf b CLEANUP(buf_done) =
		    BUF(BATCH_BYTES_MAX + 64 * KIB);
		struct batch_made m;
		bool fits;

		batch_window_make(w, i, &m, &b);
		fits = !b.failed && add_entry(j, str_of(m.type), m.tenant,
					m.key, buf_str(&b), now);
		assert(fits); /* a window is bounded */
	}
	j->pos = g->handled = w->last;
	if (w->child)
		ring_add(&g->closed, batch_per_minute(g->b), now);
	batch_drop_window(g);
	save_limit(j);
	take_fails(j);
}

/* There was something once; under the terms of now there is not. */
void
batch_job_leave(struct gather *g, int64_t now)
{
	struct batch_job *j = job_new(g, now);

	j->pos = g->handled = g->seen;
	j->idle = g->live;
	take_fails(j);
}

/* The limiter ----------------------------------------------------------------- */

static struct audit_row *
drop_single(struct batch_job *j, int64_t seq, int64_t now, const char *why)
{
	return audit_drop(j, 1, now,
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
		(void)drop_single(j, l->seq, now, "too large");
	return OK;
}

/* The event as it was, for this subscription alone. */
static int
add_single(struct batch_job *j, int64_t seq, int64_t now, struct err *e)
{
	struct sql_log_feed_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct letter *l;
	int rc;

	TRY(sql_log_feed(
	    j->g->b->db, &rows, e, .after = seq - 1, .upto = seq, .most = 1));
	if (TRY(sql_log_feed_next(rows, &row, e)) == 0) {
		(void)drop_single(j, seq, now, "not in the log any more");
		return OK;
	}
	l = letter_new(&row);
	letter_open(l, deliver_opts(j->g->b->d)->keyring);
	rc = copy_single(j, l, now, e);
	letter_unref(l);
	return rc;
}

static void
add_summary(struct batch_job *j, const struct child_out *out, int64_t now)
{
	struct buf b CLEANUP(buf_done) = BUF(BATCH_BYTES_MAX);
	struct str type = STR("cmis.child_summary");
	bool fits;

	batch_summary_payload(out, &b);
	fits = !b.failed && add_entry(j, type, out->folder.tenant,
				out->folder.id.n > 0 ? out->folder.id : type,
				buf_str(&b), now);
	assert(fits);
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
		row = drop_single(j, d.v[i].seq, now, WHY[d.v[i].why]);
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
	save_limit(j);
	if (g->last > g->handled)
		g->handled = g->last;
	j->pos = g->handled;
	take_fails(j);
	g->dirty = false;
	return OK;
}
