/* flush.h: the audit's rows of a set. */
#include "audit/audit.h"
#include "audit/limits.h"
#include "contract/verdict.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/flush.h"
#include "event/tenants.h"
#include "sql.h"

static struct str
uuid_text(struct arena *a, struct uuid u)
{
	char text[UUID_LEN + 1];

	uuid_format(u, text);
	return arena_dup(a, (struct str){text, UUID_LEN});
}

static struct str
dup_uuid(struct arena *a, struct str bytes)
{
	return uuid_text(a, uuid_of(bytes));
}

/* Who decided what about which event, and why. */
static int
decision_row(struct db *db, struct arena *a, const struct flush_decision *d,
    bool was_dead, struct audit_row *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(AUDIT_DETAILS_MAX);
	struct sql_event_of_row ev = {0};

	TRY(sql_event_of_one(
	    db, a, &ev, e, .sub = d->sub, .seq = d->seq, .rep = d->rep));
	if (ev.event_id.p)
		put_text(&b, "eventId", dup_uuid(a, ev.event_id));
	if (ev.tenant.p)
		TRY(tenants_put(db, &b, "tenantId", ev.tenant, e));
	put_int(&b, "seq", d->seq);
	if (d->note.n > 0)
		put_text(&b, "reason", d->note);
	*ret = (struct audit_row){
	    .category = !was_dead       ? AUDIT_DELIVERY_RESENT
			: d->state == 1 ? AUDIT_DEAD_REQUEUED
					: AUDIT_DEAD_SKIPPED,
	    .at_us = d->at,
	    .actor = d->who,
	    .target_type = STR("delivery"),
	    .webhook_id = str_of(d->webhook_id),
	    .delivery_id = str_of(d->delivery_id),
	    .event_type = ev.type,
	    .details = arena_dup(a, buf_str(&b)),
	};
	return OK;
}

/* What came to nothing without an attempt. */
static int
dead_row(struct db *db, struct arena *a, const struct deliver *d,
    const struct core_dead *x, struct audit_row *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(AUDIT_DETAILS_MAX);
	const struct flush_detail *why = x->detail;
	struct sql_event_of_row ev = {0};

	TRY(sql_event_of_one(db, a, &ev, e, .sub = x->row.sub,
	    .seq = x->row.seq, .rep = x->row.rep));
	put_open(&b, NULL, '{');
	put_text(&b, "changeType", ev.type);
	if (ev.event_id.p)
		put_text(&b, "eventId", dup_uuid(a, ev.event_id));
	if (ev.tenant.p)
		put_text(&b, "tenantId", dup_uuid(a, ev.tenant));
	put_close(&b, '}');
	*ret = (struct audit_row){
	    .category = AUDIT_WEBHOOK_DELIVERY_FAILURE,
	    .at_us = clock_now_us(),
	    .target_type = STR("event"),
	    .object_id = ev.pkey,
	    .webhook_id = ev.uid.p ? dup_uuid(a, ev.uid) : STR_EMPTY,
	    .url = ev.url,
	    .event_type = ev.type,
	    .delivery_id =
		uuid_text(a, delivery_id_make(&deliver_opts(d)->id_key,
				 x->row.seq, x->row.sub, (uint16_t)x->row.rep)),
	    .has_result = true,
	    .attempts = x->row.n,
	    .error = {why->text, why->n},
	    .trigger = arena_dup(a, buf_str(&b)),
	};
	return OK;
}

int
flush_deads_audit(struct db *db, const struct deliver *d,
    const struct core_dead *v, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct flush_detail *why = v[i].detail;
		struct arena *a CLEANUP(arena_freep) = NULL;
		struct audit_row row;

		if (!why || !why->audit)
			continue;
		a = arena_new(64 * KIB);
		TRY(dead_row(db, a, d, &v[i], &row, e));
		TRY(audit_put(db, &row, e));
	}
	return OK;
}

/* A stretch of the log that nobody was told of. */
static int
audit_range(struct db *db, const struct flush_range *g, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(64 * KIB);
	struct sql_event_of_row of = {0};

	if (!g->audit)
		return OK;
	TRY(sql_event_of_one(
	    db, a, &of, e, .sub = g->sub, .seq = g->seq, .rep = 0));
	return audit_put(db,
	    &(struct audit_row){
		.category = AUDIT_WEBHOOK_DELIVERY_FAILURE,
		.at_us = g->at,
		.target_type = STR("events"),
		.webhook_id = of.uid.p ? dup_uuid(a, of.uid) : STR_EMPTY,
		.url = of.url,
		.has_result = true,
		.error = str_of(reason_text(REASON_EXPIRED)),
		.details = arena_fmt(a, "\"seqFrom\":%lld,\"seqTo\":%lld",
		    (long long)g->seq, (long long)g->seq_to),
	    },
	    e);
}

int
flush_audit(struct db *db, struct arena *a, const struct flush *f,
    const bool *decided, struct err *e)
{
	const struct flush_more *m = &f->now;
	struct audit_row *v =
	    arena_array(a, m->n_audits + m->n_decisions, sizeof(*v));
	size_t n = 0;

	for (; n < m->n_audits; n++)
		v[n] = m->audits[n];
	for (size_t i = 0; i < m->n_decisions; i++) {
		const struct flush_decision *d = &m->decisions[i];

		if (decided[i] || (d->state == 1 && d->person))
			TRY(decision_row(db, a, d, decided[i], &v[n++], e));
	}
	TRY(flush_deads_audit(
	    db, f->d, f->changes->deads, f->changes->n_deads, e));
	for (size_t i = 0; i < m->n_ranges; i++)
		TRY(audit_range(db, &m->ranges[i], e));
	for (size_t at = 0; at < n; at += AUDIT_MANY_MAX)
		TRY(audit_put_many(db, v + at,
		    n - at < AUDIT_MANY_MAX ? n - at : AUDIT_MANY_MAX, e));
	return OK;
}
