#include "account/failures.h"

#include <stdatomic.h>

#include "account/limits.h"
#include "account/lockout.h"
#include "audit/audit.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "event/append.h"
#include "loop/mailbox.h"

/* Failures of one way, whom and network: what becomes one row. */
struct sum {
	struct mail mail;
	const char *way;
	struct lockout_key network;
	char whom[80], peer[64];
	int64_t count;
};

struct failures {
	struct append *append;
	struct mailbox *box; /* of sums with a count of 1 */
	int64_t window_us;
	_Atomic int waiting, lines;
	_Atomic int64_t untold; /* no line, or no room for a note */
	_Atomic int64_t lost;
	/* of the thread that looks */
	int64_t began_us; /* 0: nothing has failed */
	struct sum sums[LOGIN_ROWS_MAX - 1];
	size_t n;
	int64_t others;
};

/* Rows on their way to the commit thread, which frees them. */
struct rows_job {
	struct append_job job;
	struct sum sums[LOGIN_ROWS_MAX];
	size_t n;
	int64_t at_us;
};

struct failures *
failures_new(struct append *append, int64_t window_us)
{
	struct failures *f = mem_get(sizeof(*f));

	f->append = append;
	f->window_us = window_us;
	f->box = mailbox_new();
	return f;
}

void
failures_free(struct failures *f)
{
	struct mail *m, *next;

	if (!f)
		return;
	for (m = mailbox_take(f->box, 0); m; m = next) {
		next = m->next;
		free(MAIL_OF(m, struct sum, mail));
	}
	mailbox_free(f->box);
	free(f);
}

static void
log_failure(struct failures *f, const struct failure *x)
{
	struct log_line l;

	if (atomic_fetch_add(&f->lines, 1) >= LOGIN_LINES_MAX) {
		(void)atomic_fetch_add(&f->untold, 1);
		return;
	}
	log_begin(&l, LOG_WARN, "login failed");
	log_str(&l, "traceId", str_of(x->trace_id));
	log_str(&l, "way", str_of(x->way));
	log_str(&l, "whom", x->whom.n ? x->whom : STR("unknown"));
	log_str(&l, "peer", str_of(x->peer));
	log_end(&l);
}

void
failures_add(struct failures *f, const struct failure *x)
{
	struct sum *n;

	metric_add(M_LOGIN_FAILED, 1);
	if (!f)
		return;
	log_failure(f, x);
	if (atomic_fetch_add(&f->waiting, 1) < LOGIN_NOTES_MAX) {
		n = mem_get(sizeof(*n));
		*n = (struct sum){.way = x->way, .count = 1};
		n->network = lockout_network(x->peer);
		(void)snprintf(
		    n->whom, sizeof(n->whom), "%.*s", STR_ARG(x->whom));
		(void)snprintf(n->peer, sizeof(n->peer), "%s", x->peer);
		if (mailbox_post(f->box, &n->mail))
			return;
		free(n);
	}
	(void)atomic_fetch_sub(&f->waiting, 1);
	(void)atomic_fetch_add(&f->lost, 1);
}

static void
sum_up(struct failures *f, const struct sum *n)
{
	for (size_t i = 0; i < f->n; i++) {
		struct sum *s = &f->sums[i];

		if (s->way == n->way && strcmp(s->whom, n->whom) == 0 &&
		    memcmp(&s->network, &n->network, sizeof(n->network)) == 0) {
			s->count++;
			return;
		}
	}
	if (f->n < COUNT_OF(f->sums))
		f->sums[f->n++] = *n;
	else
		f->others++;
}

static int
write_rows(struct db *db, void *ctx, struct err *e)
{
	const struct rows_job *j = ctx;

	for (size_t i = 0; i < j->n; i++) {
		const struct sum *s = &j->sums[i];
		struct buf b CLEANUP(buf_done) = BUF(512);
		struct audit_row row = {
		    .category = AUDIT_LOGIN_FAILED,
		    .at_us = j->at_us,
		    .target_type = STR("login"),
		    .object_id = str_of(s->whom),
		    .has_result = true,
		};

		put_z(&b, "way", s->way);
		if (s->peer[0])
			put_z(&b, "network", s->peer);
		put_int(&b, "count", s->count);
		row.details = buf_str(&b);
		TRY(audit_put(db, &row, e));
	}
	return OK;
}

static void
written(struct append_job *job)
{
	if (job->err.code < 0)
		log_err(
		    LOG_WARN, "failed logins are not in the audit", &job->err);
	free(MAIL_OF(job, struct rows_job, job));
}

/* False: the commit thread takes nothing now; they stay for the next look. */
static bool
post_rows(struct failures *f)
{
	struct rows_job *j = mem_get(sizeof(*j));
	struct err e;

	memcpy(j->sums, f->sums, f->n * sizeof(f->sums[0]));
	j->n = f->n;
	if (f->others > 0)
		j->sums[j->n++] =
		    (struct sum){.way = "others", .count = f->others};
	j->at_us = clock_now_us();
	j->job =
	    (struct append_job){.fn = write_rows, .ctx = j, .done = written};
	if (append_post(f->append, &j->job, &e) == OK)
		return true;
	free(j);
	return false;
}

void
failures_look(struct failures *f, bool last)
{
	int64_t now_us = clock_mono_us(), untold;
	struct mail *m, *next;

	for (m = mailbox_take(f->box, 0); m; m = next) {
		struct sum *n = MAIL_OF(m, struct sum, mail);

		next = m->next;
		sum_up(f, n);
		free(n);
		(void)atomic_fetch_sub(&f->waiting, 1);
	}
	f->others += atomic_exchange(&f->lost, 0);
	if (f->n == 0 && f->others == 0)
		return;
	if (f->began_us == 0)
		f->began_us = now_us;
	if (!last && now_us - f->began_us < f->window_us)
		return;
	if (!post_rows(f))
		return;
	f->began_us = 0;
	f->n = 0;
	f->others = 0;
	atomic_store(&f->lines, 0);
	untold = atomic_exchange(&f->untold, 0);
	if (untold > 0)
		log_fmt(LOG_WARN, "more logins failed", "%lld in a minute",
		    (long long)untold);
}
