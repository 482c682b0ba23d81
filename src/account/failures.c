#include "account/failures.h"

#include <stdatomic.h>

#include "account/limits.h"
#include "account/lockout.h"
#include "audit/audit.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/mem.h"
#include "base/str.h"
#include "event/append.h"
#include "loop/mailbox.h"

struct note {
	struct mail mail;
	const char *way;
	char whom[80], peer[64];
};

/* What becomes one row. */
struct sum {
	const char *way;
	struct lockout_key network;
	char whom[80], peer[64];
	int64_t count;
};

struct failures {
	struct append *append;
	struct mailbox *box;
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
		free(MAIL_OF(m, struct note, mail));
	}
	mailbox_free(f->box);
	free(f);
}

static void
copy(char *to, size_t cap, struct str s)
{
	(void)snprintf(to, cap, "%.*s", STR_ARG(s));
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
	struct note *n;

	metric_add(M_LOGIN_FAILED, 1);
	if (!f)
		return;
	log_failure(f, x);
	if (atomic_fetch_add(&f->waiting, 1) < LOGIN_NOTES_MAX) {
		n = mem_get(sizeof(*n));
		n->way = x->way;
		copy(n->whom, sizeof(n->whom), x->whom);
		copy(n->peer, sizeof(n->peer), str_of(x->peer));
		if (mailbox_post(f->box, &n->mail))
			return;
		free(n);
	}
	(void)atomic_fetch_sub(&f->waiting, 1);
	(void)atomic_fetch_add(&f->lost, 1);
}

static void
sum_up(struct failures *f, const struct note *n)
{
	struct lockout_key network = lockout_network(n->peer);
	struct sum *s;

	for (size_t i = 0; i < f->n; i++) {
		s = &f->sums[i];
		if (s->way == n->way && strcmp(s->whom, n->whom) == 0 &&
		    memcmp(&s->network, &network, sizeof(network)) == 0) {
			s->count++;
			return;
		}
	}
	if (f->n == COUNT_OF(f->sums)) {
		f->others++;
		return;
	}
	s = &f->sums[f->n++];
	*s = (struct sum){.way = n->way, .network = network, .count = 1};
	copy(s->whom, sizeof(s->whom), str_of(n->whom));
	copy(s->peer, sizeof(s->peer), str_of(n->peer));
}

static void
details(const struct sum *s, struct buf *b)
{
	buf_addz(b, "\"way\":");
	buf_json(b, str_of(s->way));
	if (s->peer[0]) {
		buf_addz(b, ",\"network\":");
		buf_json(b, str_of(s->peer));
	}
	buf_fmt(b, ",\"count\":%lld", (long long)s->count);
}

static int
write_rows(struct db *db, void *ctx, struct err *e)
{
	const struct rows_job *j = ctx;
	int rc = OK;

	for (size_t i = 0; i < j->n && rc == OK; i++) {
		struct buf b = BUF(512);
		struct audit_row row = {
		    .category = AUDIT_LOGIN_FAILED,
		    .at_us = j->at_us,
		    .target_type = STR("login"),
		    .object_id = str_of(j->sums[i].whom),
		    .has_result = true,
		};

		details(&j->sums[i], &b);
		row.details = buf_str(&b);
		rc = audit_put(db, &row, e);
		buf_done(&b);
	}
	return rc;
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
	j->job.fn = write_rows;
	j->job.ctx = j;
	j->job.done = written;
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
		struct note *n = MAIL_OF(m, struct note, mail);

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
