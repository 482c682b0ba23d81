#include "event/append.h"

#include <stdatomic.h>
#include <sys/statvfs.h>

#include "base/log/log.h"
#include "base/log/metric.h"
#include "event/append_priv.h"
#include "event/append_queue.h"
#include "event/sealed.h"
#include "event/tenants.h"
#include "loop/thread.h"
#include "seal/keyring.h"
#include "seal/limits.h"
#include "sql.h"
#include "store/limits.h"

#define SCRATCH_SLOTS ((size_t)4 * COMMIT_BATCH_MAX)
#define DISK_LOOK_MS  250
#define TELL_AGAIN_MS 10000 /* between lines about the same trouble */
#define IDLE_MS       100   /* how often an idle thread looks after retention */
#define AGAIN_MS      50    /* between tries of an uncertain commit */

struct append {
	struct append_opts o;
	struct db *db;
	const struct append_engine *engine;
	void *self;
	struct retain retain;
	struct append_queue queue;
	struct thread *thread;
	_Atomic int64_t last_seq;
	_Atomic int64_t config_seq; /* no entry above it but events */
	_Atomic bool up;
	_Atomic size_t waiting, waiting_bytes;
	_Atomic int64_t
	    full_ms; /* when entries last found no place; 0: never */

	/* the commit thread's own */
	bool in_step;                /* resync has succeeded */
	char noted[SEAL_ID_MAX + 1]; /* the key in log_key … */
	int64_t noted_hour;          /* … and when */
	struct tenants_noted tenants;
	int64_t disk_looked_ms;
	bool disk_low;
	int told_rc; /* what the log was last told of */
	int64_t tell_again_ms;
	struct entry *unique[COMMIT_BATCH_MAX];
	struct entry *scratch[SCRATCH_SLOTS]; /* ids of a batch, by h; … */
	uint16_t used[COMMIT_BATCH_MAX];      /* … and where they are */
};

int64_t
append_last_seq(const struct append *a)
{
	return atomic_load_explicit(&a->last_seq, memory_order_acquire);
}

int64_t
append_config_seq(const struct append *a)
{
	return atomic_load_explicit(&a->config_seq, memory_order_relaxed);
}

int64_t
append_events_only(const struct append *a, int64_t after)
{
	int64_t last = append_last_seq(a);

	return !a->engine->alone || append_config_seq(a) > after ? 0 : last;
}

const struct retain_keep *
append_keep(const struct append *a)
{
	return &a->o.keep;
}

bool
append_store_up(const struct append *a)
{
	return atomic_load_explicit(&a->up, memory_order_relaxed);
}

/* All bodies of a job, one behind the other, in one piece of memory. */
static void
seal_bodies(struct append *a, struct append_job *job)
{
	size_t at = 0, room = job->bytes + job->n * SEAL_BYTES_MORE;

	job->sealed = mem_get(room);
	for (size_t i = 0; i < job->n; i++) {
		struct entry *en = &job->entries[i];

		if (en->kind != ENTRY_EVENT)
			continue;
		en->stored = sealed_make(a->o.seal, en, job->sealed + at);
		at += en->stored.n;
	}
	assert(at <= room);
}

int
append_post(struct append *a, struct append_job *job, struct err *e)
{
	size_t n, bytes;

	job->bytes = 0;
	job->sealed = NULL;
	job->err.code = OK;
	for (size_t i = 0; i < job->n; i++) {
		struct entry *en = &job->entries[i];

		en->h = entry_id_hash(&en->event_id);
		en->stored = en->body;
		job->bytes += en->body.n;
		if (a->o.seal || !a->engine->alone)
			entry_hash(en);
	}
	assert(job->n <= COMMIT_BATCH_MAX &&
	       (job->n > 0 || job->fn) + !!job->find == 1);
	n = atomic_fetch_add(&a->waiting, job->n + 1) + job->n;
	bytes = atomic_fetch_add(&a->waiting_bytes, job->bytes) + job->bytes;
	if (n <= COMMIT_QUEUE_MAX && bytes <= COMMIT_QUEUE_BYTES_MAX) {
		if (a->o.seal && job->n > 0)
			seal_bodies(a, job);
		if (mailbox_post(a->queue.box, &job->mail))
			return OK;
	}
	free(job->sealed);
	(void)atomic_fetch_sub(&a->waiting, job->n + 1);
	(void)atomic_fetch_sub(&a->waiting_bytes, job->bytes);
	(void)err_set(e, ERR_AWAY, "too much is waiting to be written");
	e->retry_after_s = 1;
	return ERR_AWAY;
}

static void
finish(struct append *a, struct append_job *job)
{
	(void)atomic_fetch_sub(&a->waiting, job->n + 1);
	(void)atomic_fetch_sub(&a->waiting_bytes, job->bytes);
	free(job->sealed);
	job->done(job);
}

/* Links the entries of a batch that have the same id to the first of them. */
static size_t
find_unique(struct append *a, struct append_job **jobs, size_t n_jobs)
{
	size_t n = 0;

	for (size_t j = 0; j < n_jobs; j++)
		for (size_t i = 0; i < jobs[j]->n; i++) {
			struct entry *en = &jobs[j]->entries[i];
			size_t at = (size_t)en->h % SCRATCH_SLOTS;

			en->first = NULL;
			while (a->scratch[at] && !en->first) {
				struct entry *old = a->scratch[at];

				if (uuid_eq(old->event_id, en->event_id) &&
				    uuid_eq(old->tenant, en->tenant))
					en->first = old;
				at = (at + 1) % SCRATCH_SLOTS;
			}
			if (en->first)
				continue;
			a->scratch[at] = en;
			a->used[n] = (uint16_t)at;
			a->unique[n++] = en;
		}
	for (size_t i = 0; i < n; i++)
		a->scratch[a->used[i]] = NULL;
	return n;
}

static void
settle_repeats(struct append_job **jobs, size_t n_jobs)
{
	for (size_t j = 0; j < n_jobs; j++)
		for (size_t i = 0; i < jobs[j]->n; i++) {
			struct entry *en = &jobs[j]->entries[i];

			if (!en->first)
				continue;
			entry_hash(en->first);
			entry_hash(en);
			en->seq = en->first->seq;
			en->state = en->first->state == ENTRY_DIFFERS ||
					    memcmp(en->first->hash, en->hash,
						ENTRY_HASH_LEN) != 0
					? ENTRY_DIFFERS
					: ENTRY_SAME;
		}
}

static bool
disk_is_low(const struct append *a, bool unknown)
{
	struct statvfs fs;

	if (!a->o.dir || a->o.disk_free_min <= 0)
		return false;
	if (statvfs(a->o.dir, &fs) != 0)
		return unknown;
	return (int64_t)fs.f_bavail * (int64_t)fs.f_frsize < a->o.disk_free_min;
}

static bool
disk_low(struct append *a)
{
	int64_t now = clock_mono_ms();

	if (now - a->disk_looked_ms >= DISK_LOOK_MS) {
		a->disk_looked_ms = now;
		a->disk_low = disk_is_low(a, a->disk_low);
	}
	return a->disk_low;
}

static int
say_disk_low(struct err *e)
{
	(void)err_set(e, ERR_FULL, "the disk is nearly full");
	e->retry_after_s = STORE_FULL_RETRY_S;
	return ERR_FULL;
}

int
append_ready(const struct append *a, struct err *e)
{
	int64_t full_ms = atomic_load(&a->full_ms);

	if (!append_store_up(a))
		return err_set(e, ERR_AWAY, "the store does not answer");
	if (disk_is_low(a, false) ||
	    (full_ms &&
		clock_mono_ms() - full_ms < STORE_FULL_RETRY_S * INT64_C(1000)))
		return say_disk_low(e);
	if (atomic_load(&a->waiting) >= COMMIT_QUEUE_MAX ||
	    atomic_load(&a->waiting_bytes) >= COMMIT_QUEUE_BYTES_MAX)
		return err_set(e, ERR_AWAY, "too many events wait");
	return OK;
}

static int
step_in(struct append *a, struct err *e)
{
	int64_t last = 0;

	if (a->in_step)
		return OK;
	TRY(a->engine->resync(a->self, a->db, &last, e));
	a->in_step = true;
	atomic_store_explicit(&a->config_seq, last, memory_order_relaxed);
	atomic_store_explicit(&a->last_seq, last, memory_order_release);
	return OK;
}

/* Our own first try, whose answer was lost, is not a repeat of somebody's. */
static void
count_as_new(struct append_batch *b, int64_t newest_before)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i]->state == ENTRY_SAME &&
		    b->v[i]->seq > newest_before)
			b->v[i]->state = ENTRY_NEW;
}

struct note {
	struct str kid;
	int64_t hour, seq;
};

static int
put_note(struct db *db, void *ctx, struct err *e)
{
	const struct note *n = ctx;

	TRY((int)sql_log_key_put(
	    db, e, .kid = n->kid, .hour = n->hour, .seq = n->seq));
	return OK;
}

/* In a transaction of its own, before: a note too many does no harm. */
static int
note_keys(struct append *a, const struct append_batch *b, struct err *e)
{
	struct note n = {
	    .hour = b->now_us / US_PER_HOUR, .seq = append_last_seq(a) + 1};

	for (size_t i = 0; i < b->n; i++) {
		const struct entry *en = b->v[i];

		if (en->stored.p == en->body.p)
			continue;
		n.kid = keyring_bytes_id(en->stored);
		if (n.hour == a->noted_hour && str_eq(n.kid, str_of(a->noted)))
			continue;
		TRY(db_tx(a->db, put_note, &n, e));
		a->noted_hour = n.hour;
		(void)snprintf(
		    a->noted, sizeof(a->noted), "%.*s", STR_ARG(n.kid));
	}
	return OK;
}

static int
try_batch(struct append *a, struct append_batch *b, struct err *e)
{
	TRY(step_in(a, e));
	TRY(tenants_note_all(&a->tenants, a->db, b->v, b->n, e));
	TRY(a->o.seal ? note_keys(a, b, e) : OK);
	return a->engine->write(a->self, a->db, b, e);
}

int
append_tx(struct db *db, void *self, struct append_batch *b,
    int (*put)(
	void *self, struct db *db, struct append_batch *b, struct err *e),
    struct err *e)
{
	int rc = OK;

	TRY(db_begin(db, e));
	if (b->fn)
		rc = b->fn(db, b->ctx, e);
	if (rc == OK)
		rc = put(self, db, b, e);
	if (rc == OK && b->after)
		rc = b->after(db, b->ctx, e);
	if (rc == OK)
		return db_commit(db, e);
	db_rollback(db);
	return rc;
}

/* The batch in one transaction, run again while its fate is not known. */
static int
write_batch(struct append *a, struct append_batch *b, struct err *e)
{
	int64_t began = clock_mono_ms(), newest = append_last_seq(a);
	bool again = false;
	int rc;

	for (;;) {
		rc = try_batch(a, b, e);
		if (rc == OK && again)
			count_as_new(b, newest);
		if (rc != ERR_UNCERTAIN && rc != ERR_AWAY)
			return rc; /* changed nothing: store.h, promise 3 */
		a->in_step = false;
		again |= rc == ERR_UNCERTAIN;
		if (!again || clock_mono_ms() - began > COMMIT_RETRY_MS)
			return rc;
		clock_sleep_us(AGAIN_MS * 1000);
	}
}

static int
commit_entries(
    struct append *a, struct append_job **jobs, size_t n_jobs, struct err *e)
{
	struct append_batch b = {
	    .v = a->unique,
	    .now_us = clock_now_us(),
	    .fn = jobs[0]->fn,
	    .after = jobs[0]->after,
	    .ctx = jobs[0]->ctx,
	};
	int64_t began = clock_mono_us(), top = 0;

	if (disk_low(a))
		return say_disk_low(e);
	b.n = find_unique(a, jobs, n_jobs);
	TRY(write_batch(a, &b, e));
	settle_repeats(jobs, n_jobs);
	for (size_t i = 0; i < b.n; i++) {
		bool fresh = b.v[i]->state == ENTRY_NEW;

		metric_add(fresh ? M_EVENTS_APPENDED : M_EVENTS_KNOWN, 1);
		if (fresh && b.v[i]->seq > top)
			top = b.v[i]->seq;
		if (b.v[i]->kind != ENTRY_EVENT)
			atomic_store_explicit(
			    &a->config_seq, top, memory_order_relaxed);
	}
	metric_observe(M_COMMIT_SECONDS, clock_mono_us() - began);
	metric_observe(M_COMMIT_EVENTS, (int64_t)b.n);
	if (top > append_last_seq(a)) {
		atomic_store_explicit(&a->last_seq, top, memory_order_release);
		if (a->o.committed)
			a->o.committed(a->o.arg, top);
	}
	return OK;
}

/* Trouble is told when it begins, changes, lasts, and ends; not each time. */
static void
note_state(struct append *a, int rc, const struct err *e)
{
	bool up = rc != ERR_AWAY && rc != ERR_UNCERTAIN;
	bool was = atomic_exchange_explicit(&a->up, up, memory_order_relaxed);
	int64_t now = clock_mono_ms();

	metric_set(M_STORE_UP, up);
	if (!was && up)
		log_err(LOG_INFO, "store is back", NULL);
	if (rc < 0 && (rc != a->told_rc || now >= a->tell_again_ms)) {
		log_err(LOG_ERROR, up ? "commit failed" : "store is away", e);
		a->tell_again_ms = now + TELL_AGAIN_MS;
	} else if (rc == OK && a->told_rc < 0 && was) {
		log_err(LOG_INFO, "commits succeed again", NULL);
	}
	a->told_rc = rc;
}

static void
append_answer(struct append *a, struct append_job **jobs, size_t n_jobs, int rc,
    const struct err *e)
{
	/* Written when nobody waits for it any more. */
	log_hold();
	for (size_t j = 0; rc == OK && j < n_jobs; j++)
		if (!jobs[j]->quiet)
			entry_tell(jobs[j]->entries, jobs[j]->n);
	for (size_t j = 0; j < n_jobs; j++) {
		if (rc < 0)
			jobs[j]->err = *e;
		finish(a, jobs[j]);
	}
	log_release();
}

static void
run_entries(struct append *a, struct append_job **jobs, size_t n_jobs)
{
	struct err e = {0};
	int rc = commit_entries(a, jobs, n_jobs, &e);

	if (rc == OK || rc == ERR_FULL)
		atomic_store(&a->full_ms, rc == OK ? 0 : clock_mono_ms());
	/* What a function of the caller's refuses is no trouble of ours. */
	note_state(a,
	    jobs[0]->fn && (rc == ERR_CONFLICT || rc == ERR_ABSENT) ? OK : rc,
	    &e);
	if (rc != ERR_STORE || n_jobs == 1) {
		append_answer(a, jobs, n_jobs, rc, &e);
		return;
	}
	/* One of them is refused for ever: the others must not pay for it. */
	for (size_t j = 0; j < n_jobs; j++)
		run_entries(a, &jobs[j], 1);
}

static void
run_fn(struct append *a, struct append_job *job)
{
	int rc = job->bare ? job->fn(a->db, job->ctx, &job->err)
			   : db_tx(a->db, job->fn, job->ctx, &job->err);

	job->err.code = rc == OK ? OK : job->err.code;
	note_state(a,
	    rc == ERR_AWAY || rc == ERR_UNCERTAIN || rc == ERR_STORE ? rc : OK,
	    &job->err);
	finish(a, job);
}

static void
run_find(struct append *a, struct append_job *job)
{
	struct append_find *f = job->find;
	int rc = step_in(a, &job->err);

	if (rc == OK)
		rc = a->engine->find(a->self, a->db,
		    entry_id_hash(&f->event_id), f->seqs, &job->err);
	f->n = rc < 0 ? 0 : rc;
	note_state(a, rc < 0 ? rc : OK, &job->err);
	finish(a, job);
}

/* As many jobs with entries as one transaction takes, or one other job. */
static void
run_some(struct append *a)
{
	UNINIT struct append_job *jobs[COMMIT_BATCH_MAX];
	struct append_job *job = queue_first(&a->queue);
	size_t n_jobs = 0, n = 0, bytes = 0;
	int64_t began = clock_mono_us();

	if (job->n == 0) {
		queue_drop(&a->queue);
		(job->fn ? run_fn : run_find)(a, job);
		return;
	}
	for (; job && job->n > 0; job = queue_first(&a->queue)) {
		bool alone = job->fn || job->after;

		if (n_jobs > 0 && (alone || n + job->n > COMMIT_BATCH_MAX ||
				      bytes + job->bytes > COMMIT_BYTES_MAX))
			break;
		n += job->n;
		bytes += job->bytes;
		queue_drop(&a->queue);
		jobs[n_jobs++] = job;
		if (alone)
			break;
	}
	run_entries(a, jobs, n_jobs);
	queue_note(&a->queue, n_jobs, n, clock_mono_us() - began);
}

static void
look_after(struct append *a, bool idle)
{
	struct err e = {0};

	if (!a->in_step && step_in(a, &e) < 0) {
		note_state(a, (int)e.code, &e);
		return;
	}
	if (!append_store_up(a))
		note_state(a, db_ping(a->db, &e), &e);
	if (retain_step(&a->retain, a->db, append_last_seq(a), clock_now_us(),
		idle, &e) < 0)
		note_state(a, (int)e.code, &e);
	if (db_wal_restart(a->db, &e) < 0)
		log_err(LOG_WARN, "checkpoint failed", &e);
}

static void
append_run(void *arg)
{
	struct append *a = arg;

	for (;;) {
		bool idle;

		queue_take(&a->queue, queue_first(&a->queue) ? 0 : IDLE_MS);
		idle = !queue_first(&a->queue);
		if (idle && mailbox_closed(a->queue.box)) {
			queue_take(&a->queue, 0);
			if (!queue_first(&a->queue))
				break;
		}
		queue_gather(&a->queue);
		if (queue_first(&a->queue))
			run_some(a);
		look_after(a, idle);
	}
}

static void
release(struct append *a)
{
	a->engine->close(a->self);
	db_close(a->db);
	mailbox_free(a->queue.box);
	free(a);
}

int
append_start(const struct append_opts *o, struct append **ret, struct err *e)
{
	struct append *a = mem_get(sizeof(*a));
	int rc;

	a->o = *o;
	a->engine = store_engine(o->store) == STORE_POSTGRES ? &APPEND_POSTGRES
							     : &APPEND_SQLITE;
	atomic_store(&a->up, true);
	queue_init(&a->queue, mailbox_new());
	a->retain = (struct retain){.engine = a->engine, .keep = o->keep};
	a->self = a->engine->open();
	rc = db_open(o->store, DB_WRITE, &a->db, e);
	if (rc == OK)
		rc = step_in(a, e);
	if (rc == OK)
		rc = thread_start("commit", append_run, a, &a->thread, e);
	if (rc < 0) {
		release(a);
		return rc;
	}
	metric_set(M_STORE_UP, 1);
	*ret = a;
	return OK;
}

void
append_stop(struct append *a)
{
	if (!a)
		return;
	mailbox_close(a->queue.box);
	thread_join(a->thread);
	release(a);
}
