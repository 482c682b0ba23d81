#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/str.h"
#include "deliver/engine/deliver_priv.h"
#include "sql.h"

/*
 * Who delivers. The groups are taken as one, by a lease:
 *
 *   NONE ──take──▶ TAKING ──got them──▶ LOADING ──LOADED──▶ YES
 *    ▲                │ somebody has them   ▲ deliver.c       │ fenced, or
 *    └────────────────┴──── a second later ─┘                 │ stopping
 *    └────────────────────────────────────────────────────────┘
 *
 * A node's name lies in its data folder, whose lock one process holds: what a
 * node of the same name owned is free at once when it starts again, without
 * waiting for its lease to end. On SQLite the lock has decided everything
 * already: the lease is written once and never runs out.
 */

static bool
shared(const struct deliver *d)
{
	return store_engine(d->o.store) == STORE_POSTGRES;
}

bool
owner_may_send(const struct deliver *d, int64_t now)
{
	return d->owner == OWNER_YES &&
	       (!shared(d) || now - d->renewed_us < LEASE_SEND_US);
}

int
owner_name(const char *folder, char ret[UUID_LEN + 1], struct err *e)
{
	char path[PATH_MAX];
	struct uuid id;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/node.id", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	n = read(fd, ret, UUID_LEN);
	if (n != UUID_LEN || !uuid_parse((struct str){ret, UUID_LEN}, &id)) {
		uuid_format(uuid_v4(), ret);
		n = pwrite(fd, ret, UUID_LEN, 0);
	}
	ret[UUID_LEN] = '\0';
	(void)close(fd);
	return n == UUID_LEN ? OK
			     : err_set(e, ERR_IO, "%s can't be written", path);
}

/* Commit thread ------------------------------------------------------------ */

static int
one_at_a_time(struct db *db, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_grp_lock(db, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
take_groups(struct db *db, void *ctx, struct err *e)
{
	struct deliver *d = ctx;
	int64_t now = deliver_now(d), lease = LEASE_US;
	struct sql_grp_mine_row row;
	struct rows *rows = NULL;
	int rc = one_at_a_time(db, e);
	int64_t n = rc;

	if (rc == OK)
		n = sql_node_start(db, e, .id = str_of(d->node),
		    .name = str_of(d->host), .now = now, .lease_us = lease);

	/* The data folder is locked: whoever had them is gone. */
	if (n >= 0 && !shared(d))
		n = sql_grp_take(
		    db, e, .node = str_of(d->node), .now = INT64_MAX - 1);
	else if (n >= 0)
		n = sql_grp_take(db, e, .node = str_of(d->node), .now = now);
	if (n >= 0)
		n = sql_node_sweep(db, e, .before = now - 60 * LEASE_US);
	if (n < 0)
		return e->code;
	rc = sql_grp_mine(db, &rows, e, .node = str_of(d->node));
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_grp_mine_get(rows, &row);
		d->owner_job.epoch = row.n > 0 ? row.epoch : 0;
		d->owner_job.cursor = row.cursor;
		d->owner_job.unclean = row.unclean;
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
renew(struct db *db, void *ctx, struct err *e)
{
	struct deliver *d = ctx;
	int64_t n = sql_node_renew(db, e, .id = str_of(d->node),
	    .now = deliver_now(d), .lease_us = LEASE_US);

	/* The lease is one thing, what it is for another: while this process
	 * stood still, somebody else may have taken the groups. */
	return n < 0 ? (int)e->code : flush_fence(db, d->node, d->epoch, e);
}

static int
leave(struct db *db, void *ctx, struct err *e)
{
	struct deliver *d = ctx;

	if (sql_grp_leave(db, e, .node = str_of(d->node), .epoch = d->epoch) <
		0 ||
	    sql_node_end(db, e, .id = str_of(d->node)) < 0)
		return e->code;
	return OK;
}

static void
job_done(struct append_job *job)
{
	struct deliver *d = job->ctx;

	deliver_tell(d, &d->owner_job.note);
}

/* Deliver thread ----------------------------------------------------------- */

static void
post(struct deliver *d, int (*fn)(struct db *, void *, struct err *))
{
	struct err e;

	d->owner_job.note.kind = NOTE_JOB;
	d->owner_job.job =
	    (struct append_job){.fn = fn, .ctx = d, .done = job_done};
	d->owner_job.posted_us = deliver_now(d);
	if (append_post(d->o.append, &d->owner_job.job, &e) == OK)
		d->owner_job.busy = true;
}

static struct note BEGIN = {.kind = NOTE_BEGIN};
static struct note HALT = {.kind = NOTE_HALT};

static bool
has_groups(const struct deliver *d)
{
	return d->owner == OWNER_LOADING || d->owner == OWNER_YES;
}

void
owner_job_done(struct deliver *d, int64_t now)
{
	bool taken = d->owner == OWNER_TAKING;

	d->owner_job.busy = false;
	d->try_us = now + LEASE_RENEW_US;
	if (d->owner_job.job.err.code == ERR_DENIED && has_groups(d)) {
		/* No send starts; with a flush under way, it will tell. */
		d->renewed_us = now - LEASE_SEND_US;
		if (!d->flush_job.busy)
			deliver_lose(d, &d->owner_job.job.err);
		return;
	}
	if (d->owner_job.job.err.code != OK) {
		if (taken)
			d->owner = OWNER_NONE;
		return;
	}
	/* Since then it holds, however long the answer took to get here. */
	d->renewed_us = d->owner_job.posted_us;
	if (!taken)
		return;
	if (d->owner_job.epoch == 0) {
		d->owner = OWNER_NONE;
		return;
	}
	d->epoch = d->owner_job.epoch;
	d->cursor = d->owner_job.cursor;
	d->unclean = d->owner_job.unclean;
	d->owner = OWNER_LOADING;
	log_fmt(LOG_INFO, "this node delivers", "epoch %lld, from %lld",
	    (long long)d->epoch, (long long)d->cursor);
	dispatch_tell(d->dispatch, &BEGIN);
}

void
owner_turn(struct deliver *d, int64_t now)
{
	if (d->owner_job.busy || now < d->try_us || atomic_load(&d->stopping))
		return;
	if (d->core_void) /* what was lost is not yet cleared away */
		return;
	d->try_us = now + LEASE_RENEW_US;
	if (d->owner == OWNER_NONE) {
		d->owner = OWNER_TAKING;
		post(d, take_groups);
		if (!d->owner_job.busy)
			d->owner = OWNER_NONE;
	} else if (shared(d)) {
		post(d, renew);
	}
}

/* Another node has the groups: everything of ours is void. */
void
owner_lost(struct deliver *d)
{
	log_err(LOG_WARN, "another node delivers now", NULL);
	d->owner = OWNER_NONE;
	dispatch_tell(d->dispatch, &HALT);
}

/* At a good end: the next start finds everything in order. */
void
owner_leave(struct deliver *d)
{
	d->owner = OWNER_LEAVING;
	post(d, leave);
}
