/* alerts.h: what is to be told becomes events, and rows that remember it. */
#include "base/log/log.h"
#include "deliver/engine/control.h"
#include "ops/alert_priv.h"
#include "ops/limits.h"
#include "sql.h"

struct telling {
	struct append_job job;
	struct alerts *alerts;
	struct arena *arena;
	struct alert_news *v;
	size_t n;
	int64_t now_us;
	struct entry entries[ALERT_NEWS_MAX];
};

int64_t
alert_minute_us(const struct alerts *a)
{
	return 60 * US_PER_S / (a->scale > 0 ? a->scale : 1);
}

static int
alert_entry(struct telling *t, size_t i, struct err *e)
{
	const struct alert_news *x = &t->v[i];
	const struct rule *r = &RULES[x->rule];
	bool dead = x->rule == ALERT_DEAD;
	char id[UUID_LEN + 1] = "hikyaku";
	struct buf b CLEANUP(buf_done) = BUF(8 * KIB);

	put_open(&b, NULL, '{');
	if (dead) {
		put_int(&b, "count", x->count);
	} else {
		put_z(&b, "rule", r->name);
		put_z(&b, "severity", r->severity);
		put_z(&b, "state", x->firing ? "firing" : "resolved");
		buf_fmt(&b, ",\"value\":%.3f,\"threshold\":%g", x->value,
		    r->threshold);
		put_z(&b, "message", r->text);
	}
	if (x->sub > 0) {
		put_uuid(&b, "subscriptionId", x->uid);
		put_text(&b, "subscriptionName", x->name);
		uuid_format(x->uid, id);
	} else {
		put_null(&b, "subscriptionId");
	}
	put_close(&b, '}');
	return control_event(t->arena, dead ? "ops.delivery.dead" : "ops.alert",
	    arena_dup(t->arena, str_of(id)), buf_str(&b), t->now_us,
	    &t->entries[i], e);
}

/* On the commit thread, with the events. */
static int
remember(struct db *db, void *ctx, struct err *e)
{
	const struct telling *t = ctx;
	int64_t before = t->now_us - alert_minute_us(t->alerts);

	for (size_t i = 0; i < t->n; i++) {
		const struct alert_news *x = &t->v[i];

		if (TRY((int)sql_alert_put(db, e, .sub = x->sub,
			.rule = x->rule, .firing = x->firing, .now = t->now_us,
			.before = before, .minute = x->minute, .n = x->n)) == 0)
			return err_set(
			    e, ERR_CONFLICT, "another node has told it");
	}
	TRY((int)sql_alert_sweep(db, e, .before = t->now_us - US_PER_DAY));
	return OK;
}

static void
log_one(const struct alert_news *x)
{
	const struct rule *r = &RULES[x->rule];
	bool dead = x->rule == ALERT_DEAD;
	struct log_line l;
	char text[64];

	log_begin(&l, x->firing || dead ? LOG_WARN : LOG_INFO,
	    dead ? "dead letters" : "alert");
	if (dead) {
		log_int(&l, "count", x->count);
	} else {
		log_str(&l, "rule", str_of(r->name));
		log_str(
		    &l, "state", x->firing ? STR("firing") : STR("resolved"));
		log_str(&l, "severity", str_of(r->severity));
		(void)snprintf(text, sizeof(text), "%.3f", x->value);
		log_str(&l, "value", str_of(text));
		log_str(&l, "text", str_of(r->text));
	}
	if (x->sub > 0) {
		uuid_format(x->uid, text);
		log_str(&l, "subscriptionId", str_of(text));
	}
	log_end(&l);
}

static void
told(struct append_job *job)
{
	struct telling *t = job->ctx;
	struct alerts *a = t->alerts;

	for (size_t i = 0; job->err.code == OK && i < t->n; i++)
		log_one(&t->v[i]);
	if (job->err.code < 0 && job->err.code != ERR_CONFLICT)
		log_err(LOG_WARN, "alerts can't be told now", &job->err);
	arena_free(t->arena);
	free(t);
	atomic_store(&a->busy, false);
}

/* With the subscription's name; one that has ended meanwhile is left out. */
static int
fill_entries(struct telling *t, struct db *db, struct alert_news *v, size_t n,
    struct err *e)
{
	struct sql_alert_sub_row row;

	t->v = arena_array(t->arena, n, sizeof(*t->v));
	for (size_t i = 0; i < n; i++) {
		struct alert_news *x = &v[i];

		if (x->sub != 0) {
			if (sql_alert_sub_one(
				db, t->arena, &row, e, .sub = x->sub) <= 0)
				continue;
			x->uid = uuid_of(row.uid);
			x->name = row.name;
		}
		t->v[t->n] = *x;
		TRY(alert_entry(t, t->n++, e));
	}
	return OK;
}

void
alert_tell(struct alerts *a, struct db *db, struct alert_news *v, size_t n)
{
	struct telling *t = mem_get(sizeof(*t));
	struct err e = {0};
	int rc;

	t->alerts = a;
	t->now_us = clock_now_us();
	t->arena = arena_new(4 * MIB);
	rc = fill_entries(t, db, v, n, &e);
	t->job = (struct append_job){.entries = t->entries,
	    .n = t->n,
	    .fn = remember,
	    .ctx = t,
	    .done = told};
	if (rc == OK && t->n > 0) {
		atomic_store(&a->busy, true);
		rc = append_post(a->append, &t->job, &e);
		if (rc == OK)
			return;
		atomic_store(&a->busy, false);
	}
	if (rc < 0)
		log_err(LOG_WARN, "alerts can't be told now", &e);
	arena_free(t->arena);
	free(t);
}
