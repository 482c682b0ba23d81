/* flush.h: the audit's rows of a set. */
#include "audit/audit.h"
#include "audit/limits.h"
#include "deliver/engine/flush.h"
#include "event/tenants.h"
#include "sql.h"

static struct str
dup_uuid(struct arena *a, struct str bytes)
{
	char text[UUID_LEN + 1];

	uuid_format(uuid_of(bytes), text);
	return arena_dup(a, (struct str){text, UUID_LEN});
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
	for (size_t at = 0; at < n; at += AUDIT_MANY_MAX)
		TRY(audit_put_many(db, v + at,
		    n - at < AUDIT_MANY_MAX ? n - at : AUDIT_MANY_MAX, e));
	return OK;
}
