#include "task/history.h"

#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/deliver.h"
#include "sql.h"
#include "task/limits.h"

const char *
notice_status_word(enum notice_status s)
{
	static const char *const WORDS[] = {
	    [NOTICE_PENDING] = "pending",
	    [NOTICE_SENDING] = "sending",
	    [NOTICE_RETRYING] = "retrying",
	    [NOTICE_DELIVERED] = "delivered",
	    [NOTICE_FAILED] = "failed",
	};

	return WORDS[s];
}

int
history_add(struct db *db, const struct task *t, int64_t seq,
    const int64_t *subs, size_t n, int64_t now_us, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		TRY((int)sql_task_event_add(db, e, .seq = seq, .sub = subs[i],
		    .task = t->id, .owner = t->owner, .event = t->status,
		    .now = now_us));
	if (n > 0)
		TRY((int)sql_task_count_new(
		    db, e, .owner = t->owner, .n = (int64_t)n));
	return OK;
}

int
history_settled(
    struct db *db, const struct flush_settled *v, size_t n, struct err *e)
{
	static const int64_t STATES[] = {
	    [SETTLED_AGAIN] = 0, [SETTLED_OK] = 1, [SETTLED_DEAD] = 2};

	for (size_t i = 0; i < n; i++) {
		int64_t state = STATES[v[i].how];

		if (TRY((int)sql_task_count_move(db, e, .seq = v[i].seq,
			.sub = v[i].sub, .state = state)) > 0)
			TRY((int)sql_task_event_state(db, e, .seq = v[i].seq,
			    .sub = v[i].sub, .state = state));
	}
	return OK;
}

/* Lists -------------------------------------------------------------------------- */

static struct str
error_of(struct arena *a, struct str detail)
{
	struct json *doc = NULL;
	const struct json *j;
	struct err e;

	if (!detail.p || json_parse(a, detail, &doc, &e) < 0)
		return (struct str){.p = NULL};
	j = json_get(doc, "error");
	return json_is(j, JSON_STRING) && j->text.n > 0
		   ? str_chars(j->text, TASK_TEXT_MAX)
		   : (struct str){.p = NULL};
}

/* What is settled was written down as such; the rest is in the engine's rows,
 * or in its memory. */
static enum notice_status
status_of(const struct sql_task_event_list_row *r)
{
	if (r->state != 0)
		return r->state == 1 ? NOTICE_DELIVERED : NOTICE_FAILED;
	if (!r->row_state_null && r->row_state == ROW_SENDING)
		return NOTICE_SENDING;
	return !r->row_state_null && r->row_state == ROW_RETRY &&
		       r->row_n > r->base
		   ? NOTICE_RETRYING
		   : NOTICE_PENDING;
}

static void
notice_take(
    const struct sql_task_event_list_row *r, struct arena *a, struct notice *d)
{
	bool tried = !r->n_null && r->n > r->base;
	struct str detail = {.p = NULL};

	*d = (struct notice){
	    .seq = r->seq,
	    .sub = (uint32_t)r->sub,
	    .event = r->event > 0 && r->event < TASK_STATUSES
			 ? (enum task_status)r->event
			 : TASK_PROCESSING,
	    .status = status_of(r),
	    .base = (int)r->base,
	    .attempts = tried ? (int)(r->n - r->base) : 0,
	    .http_status = tried ? (int)r->status : 0,
	    .created_us = r->at,
	};
	if (d->status == NOTICE_DELIVERED)
		d->completed_us = r->tried_at + r->us;
	if (d->status == NOTICE_FAILED)
		d->completed_us = r->dead_at;
	if (tried && r->verdict != CORE_OK && r->detail.p)
		detail = arena_dup(a, r->detail);
	d->error = error_of(a, detail);
	if (d->status == NOTICE_FAILED && !d->error.p)
		d->error =
		    r->dead_state_null
			? STR("its configuration was removed")
			: str_of(reason_text((enum reason)r->dead_reason));
}

int
history_list(struct db *db, const struct task *t, struct arena *a,
    struct notice **ret, size_t *ret_n, struct err *e)
{
	struct notice *v = arena_array(a, TASK_HISTORY_MAX, sizeof(*v));
	struct sql_task_event_list_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	size_t n = 0;

	TRY(sql_task_event_list(
	    db, &rows, e, .task = t->id, .most = TASK_HISTORY_MAX));
	while (n < TASK_HISTORY_MAX &&
	       TRY(sql_task_event_list_next(rows, &row, e)) > 0)
		notice_take(&row, a, &v[n++]);
	*ret = v;
	*ret_n = n;
	return OK;
}

void
notice_look(struct notice *d, const struct deliver_look *look)
{
	const struct core_row *row = &look->seen.row;

	if (!look->known)
		return;
	if (look->seen.in_flight) {
		d->status = NOTICE_SENDING;
		d->attempts = row->n - d->base + 1;
	} else if (row->state == ROW_RETRY && row->tries > 0) {
		bool newer = row->n - d->base > d->attempts;

		d->status = NOTICE_RETRYING;
		d->attempts = row->n - d->base;
		if (newer) { /* not written down yet */
			d->http_status = row->last_status;
			d->error =
			    str_of(reason_text((enum reason)row->last_reason));
		}
	}
}

/* By hand --------------------------------------------------------------------------- */

int
history_find(struct db *db, int64_t seq, uint32_t sub, int64_t owner,
    struct notice_again *ret, struct err *e)
{
	struct sql_task_event_find_row row;
	int rc = TRY(sql_task_event_find_one(
	    db, &row, e, .seq = seq, .sub = sub, .owner = owner));

	if (rc == 0)
		return err_set(e, ERR_ABSENT, "there is no such delivery");
	*ret = (struct notice_again){.n = (int)row.n,
	    .okey = (uint64_t)row.okey,
	    .skey = (uint64_t)row.skey};
	return OK;
}

int
history_anew(struct db *db, int64_t seq, uint32_t sub, int base, struct err *e)
{
	TRY((int)sql_task_event_base(
	    db, e, .seq = seq, .sub = sub, .base = base));
	return OK;
}

int
history_count(
    struct db *db, int64_t owner, struct history_count *ret, struct err *e)
{
	struct sql_task_count_get_row row = {0};

	TRY(sql_task_count_get_one(db, &row, e, .owner = owner));
	*ret = (struct history_count){row.total, row.delivered, row.failed,
	    row.total - row.delivered - row.failed};
	return OK;
}

void
history_count_show(const struct history_count *c, struct buf *b)
{
	put_open(b, NULL, '{');
	put_int(b, "total", c->total);
	put_int(b, "delivered", c->delivered);
	put_int(b, "failed", c->failed);
	put_int(b, "pending", c->pending);
	put_percent(b, "successRate", c->delivered, c->delivered + c->failed);
	put_close(b, '}');
}
