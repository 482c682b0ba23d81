#include "task/target.h"

#include "base/log/log.h"
#include "contract/limits.h"
#include "contract/sub.h"
#include "deliver/engine/control.h"
#include "sql.h"
#include "task/limits.h"

#define NAME   "task callback"
#define PRESET "task"

int
target_callback_find(
    struct db *db, int64_t owner, struct str url, int64_t *ret, struct err *e)
{
	struct sql_task_callback_find_row row = {0};

	TRY(sql_task_callback_find_one(
	    db, &row, e, .owner = owner, .url = url));
	*ret = row.sub;
	return OK;
}

int
target_callback_add(struct db *db, int64_t owner, struct str url,
    struct uuid uid, struct err *e)
{
	int64_t there = 0;

	TRY(target_callback_find(db, owner, url, &there, e));
	if (there > 0)
		return err_set(e, ERR_CONFLICT, "the callback was just made");
	TRY((int)sql_task_callback_add(
	    db, e, .owner = owner, .url = url, .uid = uuid_str(&uid)));
	return OK;
}

struct str
target_callback_json(struct arena *a, struct str url, struct str secret)
{
	struct buf b CLEANUP(buf_done) = BUF(32 * KIB);

	put_open(&b, NULL, '{');
	put_z(&b, "name", NAME);
	put_z(&b, "preset", PRESET);
	put_raw(&b, "types", STR("[\"invoice.*\"]"));
	put_text(&b, "url", url);
	put_text(&b, "secret", secret);
	put_close(&b, '}');
	return arena_dup(a, buf_str(&b));
}

static int
configured(struct db *db, const struct task *t, int64_t *ret, size_t *ret_n,
    struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;

	*ret_n = 0;
	TRY(sql_task_config_subs(db, &rows, e, .owner = t->owner,
	    .event = (int64_t)1 << (int)t->status, .most = TASK_CONFIGS_MAX));
	while (*ret_n < TASK_CONFIGS_MAX && TRY(rows_next(rows, e)) > 0)
		ret[(*ret_n)++] = rows_int(rows, 0);
	return OK;
}

int
targets_find(struct db *db, const struct task *t, int64_t *ret, size_t *ret_n,
    struct err *e)
{
	if (!t->callback_url.p)
		return configured(db, t, ret, ret_n, e);
	TRY(target_callback_find(db, t->owner, t->callback_url, &ret[0], e));
	*ret_n = ret[0] > 0;
	return OK;
}

/* The end of a callback ----------------------------------------------------------- */

struct ending {
	struct sub_change change;
	int64_t owner, cut_us;
	char id[UUID_LEN + 1];
	char url[SUB_URL_MAX * 4]; /* characters */
};

static void
ending_done(struct append_job *job)
{
	const struct sub_change *c = job->ctx;
	struct ending *g = c->arg;

	/* In use again, or another node was faster. */
	if (job->err.code < 0 && job->err.code != ERR_CONFLICT)
		log_err(
		    LOG_WARN, "a callback that nobody needs stays", &job->err);
	free(g);
}

static int
still_idle(struct db *db, struct sub_change *c, struct err *e)
{
	const struct ending *g = c->arg;

	if (TRY((int)sql_task_callback_del(db, e, .owner = g->owner,
		.url = c->url, .sub = c->id, .cut = g->cut_us)) > 0)
		return OK;
	return err_set(e, ERR_CONFLICT, "the callback is in use");
}

static void
end_callback(struct append *append,
    const struct sql_task_callback_idle_row *row, int64_t cut_us)
{
	struct ending *g = mem_get(sizeof(*g));
	struct sub_change *c = &g->change;
	int64_t now = clock_now_us();
	struct err e = {0};

	g->owner = row->owner;
	g->cut_us = cut_us;
	(void)snprintf(g->url, sizeof(g->url), "%.*s", STR_ARG(row->url));
	uuid_format(uuid_of(row->uid), g->id);
	*c = (struct sub_change){
	    .kind = SUB_FINISH,
	    .id = row->sub,
	    .url = str_of(g->url),
	    .now_us = now,
	    .fill = still_idle,
	    .job = {.ctx = c, .done = ending_done},
	    .arg = g, /* ending_done() frees it */
	    .audit =
		{
		    .category = AUDIT_SUBSCRIPTION_DELETED,
		    .at_us = now,
		    .target_type = STR("subscription"),
		    .object_id = str_of(g->id),
		    .object_name = STR(NAME),
		    .webhook_id = str_of(g->id),
		    .url = str_of(g->url),
		},
	};
	if (control_post(append, c, &e) < 0) {
		c->job.err = e;
		ending_done(&c->job);
	}
}

int
target_end_idle(
    struct append *append, struct db *db, int64_t cut_us, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_task_callback_idle_row row;
	int n = 0;

	TRY(sql_task_callback_idle(
	    db, &rows, e, .cut = cut_us, .most = TASK_IDLE_STEP));
	for (; TRY(sql_task_callback_idle_next(rows, &row, e)) > 0; n++)
		end_callback(append, &row, cut_us);
	return n;
}

/* Another secret ------------------------------------------------------------------- */

static int
resecret(
    struct db *db, const struct target_secret *t, int64_t sub, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(8 * SUB_STORED_MAX);
	struct sub_conf *s CLEANUP(sub_freep) = NULL;
	struct sql_subs_page_row row;
	struct sub_seal by;
	struct str conf;

	if (TRY(sql_subs_one_one(db, a, &row, e, .id = sub)) == 0)
		return OK;
	by = sub_seal_by(t->ring, a, uuid_of(row.uid));
	TRY(sub_load(row.conf, t->presets, &by, &s, e));
	if (s->n_secrets == 0 || !str_eq(s->secrets[0].text, t->was))
		return OK; /* it has its own */
	s->secrets[0].text = arena_dup(s->arena, t->is);
	TRY(sub_store(s, &by, a, &conf, e));
	TRY((int)sql_task_sub_put(
	    db, e, .sub = sub, .conf = conf, .now = t->now_us));
	return OK;
}

int
target_resecret(struct db *db, const struct target_secret *t, struct err *e)
{
	struct buf ids CLEANUP(buf_done) = BUF(TASK_SUBS_MAX * sizeof(int64_t));
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int64_t id;

	TRY(sql_task_subs(db, &rows, e, .owner = t->owner));
	while (TRY(rows_next(rows, e)) > 0) {
		id = rows_int(rows, 0);
		buf_add(&ids, (struct str){(const char *)&id, sizeof(id)});
	}
	rows_close(rows);
	rows = NULL;
	if (ids.failed)
		return err_set(e, ERR_CONFLICT,
		    "too many callback URLs are in use: wait for tasks to end");
	for (size_t i = 0; i < ids.n; i += sizeof(id)) {
		memcpy(&id, ids.p + i, sizeof(id));
		TRY(resecret(db, t, id, e));
	}
	return OK;
}

/* They are all read anew: one entry for any number of them. */
void
target_entry(struct entry *ret)
{
	control_entry(ret, "preset");
	ret->key = STR(PRESET);
}
