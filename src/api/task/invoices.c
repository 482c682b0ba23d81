/* tasks.h: submitting a task, looking at it, and reporting its status. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/io.h"
#include "api/limits.h"
#include "api/task/tasks.h"
#include "api/v1/sub.h"
#include "event/append.h"
#include "loop/pool.h"
#include "task/history.h"
#include "task/limits.h"
#include "task/notice.h"
#include "task/target.h"
#include "task/task.h"

/* Submitting ------------------------------------------------------------------
 *
 *   http ─▶ check: reads it, makes the callback's subscription when the key
 *   uses the URL for the first time ─▶ commit: both in one transaction ─▶ http
 */

struct submit {
	struct task task;
	bool make; /* the callback's subscription, too */
	int runs;
	struct entry entry; /* for who works on it: nobody is named in it */
	struct append_job job;
};

static int
add_task(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct sub_op *op = r->ctx;
	const struct submit *s = op->more;
	int64_t sub = 0;

	/* The callback that was there may have ended meanwhile. */
	if (s->task.callback_url.p && !s->make) {
		TRY(target_callback_find(
		    db, s->task.owner, s->task.callback_url, &sub, e));
		if (sub == 0)
			return err_set(
			    e, ERR_CONFLICT, "the callback has just ended");
	}
	return task_add(db, &s->task, s->task.created_us, e);
}

/* Before the subscription's row, in its transaction. */
static int
fill_submit(struct db *db, struct sub_change *c, struct err *e)
{
	struct sub_op *op = c->arg;
	const struct submit *s = op->more;

	TRY(target_callback_add(
	    db, s->task.owner, s->task.callback_url, c->uid, e));
	TRY(tasks_secret_same(op, db, e));
	TRY(sub_op_seal(db, c, e));
	return add_task(db, op->r, e);
}

static int
make_callback(struct sub_op *op, struct db *db, struct err *e)
{
	struct submit *s = op->more;
	struct req *r = op->r;
	struct str secret, json;

	TRY(tasks_key_secret(r, db, &secret, e));
	json = target_callback_json(r->arena, s->task.callback_url, secret);
	TRY(tasks_sub_read(op, json, NULL, "/callbackUrl", e));
	op->seen.uid = uuid_v4();
	sub_op_fill(op, SUB_MAKE, AUDIT_SUBSCRIPTION_CREATED);
	op->change.managed_by = STR("task");
	op->change.fill = fill_submit;
	op->change.entries[1] = s->entry;
	op->change.has_event = true;
	s->make = true;
	return OK;
}

static int submit_commit(struct req *r, struct err *e);

static int
submit_look(struct req *r, struct err *e)
{
	return sub_op_look(r->ctx, submit_commit, e);
}

/* On the check thread, perhaps more than once. */
static int
check_callback(struct req *r, struct db *db, struct err *e)
{
	struct sub_op *op = r->ctx;
	struct submit *s = op->more;
	int64_t sub = 0;

	s->make = false;
	op->names.n = 0;
	if (s->task.callback_url.p) {
		TRY(target_callback_find(
		    db, r->who.id, s->task.callback_url, &sub, e));
		if (sub == 0)
			TRY(make_callback(op, db, e));
	}
	return api_next(r, submit_look);
}

static int
submit_answer(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;
	struct submit *s = op->more;

	/* The callback was made or ended, or its secret replaced, meanwhile. */
	if (r->rc == ERR_CONFLICT && ++s->runs < TASK_SUBMIT_RUNS) {
		r->then = api_said;
		return api_check(r, check_callback, e);
	}
	if (r->rc < 0)
		return api_said(r, e);
	tasks_data(r);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "taskId", s->task.uid);
	put_z(&r->out, "status", "QUEUED");
	put_close(&r->out, '}');
	r->status = 202;
	return tasks_data_end(r);
}

static int
submit_commit(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;
	struct submit *s = op->more;

	r->then = submit_answer;
	if (s->make)
		return sub_op_post(op, e);
	s->job =
	    (struct append_job){.fn = add_task, .entries = &s->entry, .n = 1};
	return api_append(r, &s->job, e);
}

int
api_invoices_post(struct req *r, struct db *db, struct err *e)
{
	struct submit *s = arena_alloc(r->arena, sizeof(*s));
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(tasks_key_only(r, e));
	TRY(task_read_submit(r->arena, r->body, &s->task, e));
	s->task.created_us = clock_now_us();
	s->task.uid = uuid_v7(s->task.created_us);
	s->task.owner = r->who.id;
	TRY(notice_entry(
	    r->arena, &s->task, NULL, 0, s->task.created_us, &s->entry, e));
	op->more = s;
	return check_callback(r, db, e);
}

/* Looking ------------------------------------------------------------------------- */

static bool
owns(const struct req *r, const struct task *t)
{
	return r->who.kind == WHO_KEY && r->who.id == t->owner;
}

/* Whoever does the work may see and report on any task; others their own. */
static bool
works(const struct req *r)
{
	return (r->who.scopes & (SCOPE_MANAGE | SCOPE_ADMIN)) != 0 &&
	       !r->who.tenants;
}

/* The task that the path names, if the caller may see it. */
static int
get_mine(struct req *r, struct db *db, struct task *ret, struct err *e)
{
	struct uuid id;
	int rc = uuid_parse(r->params[0], &id)
		     ? task_get(db, id, r->arena, ret, e)
		     : ERR_ABSENT;

	if (rc == ERR_ABSENT || (rc == OK && !owns(r, ret) && !works(r)))
		return err_set(e, ERR_ABSENT, "there is no such task");
	return rc;
}

int
api_invoices_get(struct req *r, struct db *db, struct err *e)
{
	struct task t;

	TRY(get_mine(r, db, &t, e));
	tasks_data(r);
	task_show(&t, clock_now_us(), &r->out);
	return tasks_data_end(r);
}

struct query {
	unsigned status;
	int64_t limit;
	struct str after;
};

const struct member INVOICES_QUERY[] = {
    {"status", MEMBER_CHOICE, offsetof(struct query, status),
	.words = TASK_NAMES},
    {"limit", MEMBER_INT, offsetof(struct query, limit), 1, PAGE_MAX,
	.absent = PAGE_DEFAULT},
    {"after", MEMBER_STRING, offsetof(struct query, after), 0, API_CURSOR_MAX,
	.about = "the taskId that the last page ended with"},
    {.name = NULL},
};

int
api_invoices_list(struct req *r, struct db *db, struct err *e)
{
	struct query q = {.status = TASK_STATUSES, .limit = PAGE_DEFAULT};
	struct task_page p = {.owner = works(r) ? 0 : r->who.id};
	struct task *v, last;
	struct uuid id;
	size_t n;

	TRY(api_query(r, INVOICES_QUERY, &q, e));
	TRY(tasks_key_only(r, e));
	if (q.after.p && (!uuid_parse(q.after, &id) ||
			     task_get(db, id, r->arena, &last, e) < 0))
		return api_no_cursor(e);
	p.after = q.after.p ? last.id : 0;
	p.status = q.status < TASK_STATUSES ? (int)q.status : -1;
	p.most = q.limit + 1;
	TRY(task_list(db, &p, r->arena, &v, &n, e));
	tasks_data(r);
	put_open(&r->out, NULL, '{');
	put_open(&r->out, "tasks", '[');
	for (size_t i = 0; i < n && i < (size_t)q.limit; i++)
		task_show(&v[i], clock_now_us(), &r->out);
	put_close(&r->out, ']');
	if (n > (size_t)q.limit)
		put_uuid(&r->out, "next", v[q.limit - 1].uid);
	else
		put_null(&r->out, "next");
	put_close(&r->out, '}');
	return tasks_data_end(r);
}

int
api_invoices_result(struct req *r, struct db *db, struct err *e)
{
	struct task t;
	struct str result = {.p = NULL};

	TRY(get_mine(r, db, &t, e));
	if (t.status != TASK_COMPLETED)
		return tasks_refuse(r, 404, "RESULT_NOT_AVAILABLE",
		    "the task has no result yet");
	if (clock_now_us() >= t.expires_us)
		return tasks_refuse(
		    r, 410, "RESULT_EXPIRED", "the result is no longer kept");
	TRY(task_result(db, &t, r->arena, &result, e));
	tasks_data(r);
	task_show_result(&t, result, &r->out);
	return tasks_data_end(r);
}

/* Reporting -------------------------------------------------------------------
 *
 *   http ─▶ read: the task as it is, what it becomes, who is told, the event ─▶
 *   commit: row and event in one transaction, if all that is still so; else
 *   once more ─▶ http
 */

struct report {
	struct uuid uid;
	struct task_change change;
	struct task was, is;
	bool same;  /* it has this status already */
	bool raced; /* something was not as it was read */
	int runs;
	int64_t subs[TASK_CONFIGS_MAX];
	size_t n_subs;
	int64_t now_us;
	struct entry entry;
	struct append_job job;
};

/* On a read thread. */
static int
report_read(struct req *r, struct db *db, struct err *e)
{
	struct report *p = r->ctx;

	TRY(task_get(db, p->uid, r->arena, &p->was, e));
	p->now_us = clock_now_us();
	if (!owns(r, &p->was) && !works(r))
		return err_set(e, ERR_ABSENT, "there is no such task");
	p->same = p->was.status == p->change.status;
	if (p->same) {
		p->is = p->was;
		return OK;
	}
	TRY(task_next(&p->was, &p->change, p->now_us, &p->is, e));
	TRY(targets_find(db, &p->is, p->subs, &p->n_subs, e));
	return notice_entry(
	    r->arena, &p->is, p->subs, p->n_subs, p->now_us, &p->entry, e);
}

/* On the commit thread, as is the next. */
static int
report_fn(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	struct report *p = r->ctx;
	int64_t subs[TASK_CONFIGS_MAX];
	size_t n = 0;
	int rc;

	p->raced = false;
	rc = targets_find(db, &p->is, subs, &n, e);
	if (rc == OK &&
	    (n != p->n_subs || memcmp(subs, p->subs, n * sizeof(*subs)) != 0))
		rc = err_set(e, ERR_CONFLICT, "others are told by now");
	if (rc == OK)
		rc = task_put(db, &p->was, &p->is, p->change.result, e);
	p->raced = rc == ERR_CONFLICT;
	return rc;
}

static int
report_after(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	struct report *p = r->ctx;

	return history_add(
	    db, &p->is, p->entry.seq, p->subs, p->n_subs, p->now_us, e);
}

static int report_post(struct req *r, struct err *e);

static int
report_answer(struct req *r, struct err *e)
{
	struct report *p = r->ctx;

	if (r->rc == ERR_CONFLICT && p->raced && ++p->runs < TASK_REPORT_RUNS) {
		r->then = report_post;
		return api_read(r, report_read, e);
	}
	if (r->rc < 0)
		return api_said(r, e);
	tasks_data(r);
	task_show(&p->is, p->now_us, &r->out);
	return tasks_data_end(r);
}

static int
report_post(struct req *r, struct err *e)
{
	struct report *p = r->ctx;

	if (r->rc < 0 || p->same)
		return report_answer(r, e);
	p->job = (struct append_job){.fn = report_fn,
	    .after = report_after,
	    .entries = &p->entry,
	    .n = 1};
	r->then = report_answer;
	return api_append(r, &p->job, e);
}

int
api_invoices_status(struct req *r, struct db *, struct err *e)
{
	struct report *p = arena_alloc(r->arena, sizeof(*p));

	if (!uuid_parse(r->params[0], &p->uid))
		return err_set(e, ERR_ABSENT, "there is no such task");
	TRY(task_read_change(r->arena, r->body, &p->change, e));
	r->ctx = p;
	r->then = report_post;
	return api_read(r, report_read, e);
}
