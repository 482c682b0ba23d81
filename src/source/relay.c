#include "source/relay.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/log/metric.h"
#include "event/append.h"
#include "event/type/types.h"
#include "loop/thread.h"
#include "source/refused.h"
#include "source/row.h"

#define BACKOFF_FIRST 250
#define POST_TRIES    100 /* of 50 ms, while too much waits to be written */

struct chunk {
	struct append_job job;
	struct relay *r;
	struct arena *arena;
	struct entry entries[OUTBOX_CHUNK_ROWS];
	int64_t ids[OUTBOX_CHUNK_ROWS];
	size_t n;
	bool has_refused;
	int64_t now_us;
	_Atomic bool over;
};

struct relay {
	struct relay_opts o;
	struct outbox_opts outbox;
	const struct outbox_driver *driver;
	int label; /* of its metrics */
	struct thread *thread;
	int fd; /* an eventfd: a job is done, or it is time to stop */
	bool stop;

	/* the thread's own */
	void *self;
	struct chunk *chunks[2];
	struct arena *scratch;
	struct buf text;
	char told[256]; /* trouble that the log knows of */
	bool standby, up;
	int64_t backoff_ms, lag_ms;
};

static bool
stopping(const struct relay *r)
{
	return __atomic_load_n(&r->stop, __ATOMIC_RELAXED);
}

/* Waiting ----------------------------------------------------------------------- */

static void
wake(struct relay *r)
{
	uint64_t one = 1;

	(void)!write(r->fd, &one, sizeof(one));
}

static void
unwake(struct relay *r)
{
	uint64_t n;

	(void)!read(r->fd, &n, sizeof(n));
}

static void
rest(struct relay *r, int64_t ms)
{
	int64_t until = clock_mono_ms() + ms, left;
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	while (!stopping(r) && (left = until - clock_mono_ms()) > 0)
		if (poll(&p, 1, (int)left) > 0 && !stopping(r))
			unwake(r);
}

/* Chunks ------------------------------------------------------------------------- */

static struct chunk *
chunk_new(struct relay *r)
{
	struct chunk *c = mem_get(sizeof(*c));

	c->r = r;
	c->arena = arena_new(OUTBOX_CHUNK_MEM);
	return c;
}

static struct row_opts
row_opts(struct relay *r, const struct chunk *c)
{
	return (struct row_opts){
	    .keep = c->arena,
	    .scratch = r->scratch,
	    .text = &r->text,
	    .source = str_of(r->outbox.name),
	    .strict = r->o.strict,
	    .exact = r->o.exact,
	    .types = types_now(r->o.types),
	    .mask = r->o.mask,
	    .body_max = (size_t)r->outbox.body_max,
	    .now_us = c->now_us,
	};
}

static int
relay_take(void *ctx, const struct outbox_row *row, struct err *e)
{
	struct chunk *c = ctx;
	struct row_opts o = row_opts(c->r, c);
	bool refused = false;

	arena_reset(c->r->scratch);
	TRY(row_entry(&o, row, &c->entries[c->n], &refused, e));
	c->ids[c->n++] = row->id;
	c->has_refused |= refused;
	return c->n == OUTBOX_CHUNK_ROWS ||
	       arena_used(c->arena) >= OUTBOX_CHUNK_BYTES;
}

static int
chunk_fill(struct relay *r, struct chunk *c, struct err *e)
{
	struct outbox_sink sink = {.take = relay_take, .ctx = c};

	arena_reset(c->arena);
	c->n = 0;
	c->has_refused = false;
	c->now_us = clock_now_us();
	return r->driver->next(r->self, &sink, e);
}

/* Appending ------------------------------------------------------------------------ */

static int
store_refused(struct db *db, void *ctx, struct err *e)
{
	const struct chunk *c = ctx;

	return refused_store(db, c->job.entries, c->job.n, c->now_us, e);
}

/* On the commit thread. */
static void
appended(struct append_job *job)
{
	struct chunk *c = MAIL_OF(job, struct chunk, job);
	struct relay *r = c->r; /* c may be filled anew from the next line on */

	atomic_store_explicit(&c->over, true, memory_order_release);
	wake(r);
}

static int
post(struct relay *r, struct chunk *c, size_t at, size_t n, bool refused,
    struct err *e)
{
	int rc = ERR_AWAY;

	c->job = (struct append_job){
	    .entries = &c->entries[at],
	    .n = n,
	    .after = refused ? store_refused : NULL,
	    .ctx = c,
	    .done = appended,
	};
	TRY(r->driver->keep(r->self, e));
	atomic_store(&c->over, false);
	for (int i = 0; i < POST_TRIES && rc == ERR_AWAY; i++) {
		rc = append_post(r->o.append, &c->job, e);
		if (stopping(r))
			break;
		if (rc == ERR_AWAY)
			rest(r, 50);
	}
	return rc;
}

/* The append always answers, also when we are to stop or lost our turn. */
static int
wait_appended(struct relay *r, struct chunk *c, struct err *e)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};
	struct err lost = {0};

	while (!atomic_load_explicit(&c->over, memory_order_acquire)) {
		if (poll(&p, 1, 1000) == 0 && lost.code == OK)
			(void)r->driver->keep(r->self, &lost);
		if (p.revents)
			unwake(r);
	}
	if (lost.code != OK) {
		*e = lost;
		return e->code;
	}
	if (c->job.err.code == OK)
		return OK;
	*e = c->job.err;
	return e->code;
}

static int
append_now(struct relay *r, struct chunk *c, size_t at, size_t n, bool refused,
    struct err *e)
{
	TRY(post(r, c, at, n, refused, e));
	return wait_appended(r, c, e);
}

/* In its place in the chunk, and appended. */
static int
refuse_one(struct relay *r, struct chunk *c, size_t i, const char *pointer,
    const char *reason, struct err *e)
{
	struct row_opts o = row_opts(r, c);

	TRY(row_refuse(&o, c->ids[i], pointer, reason, &c->entries[i], e));
	c->has_refused = true;
	return append_now(r, c, i, 1, true, e);
}

/* One of them is refused by our database for ever: one by one, in order. */
static int
append_singly(struct relay *r, struct chunk *c, struct err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		bool refused = refused_is(&c->entries[i]);
		struct err why = {0};
		int rc = append_now(r, c, i, 1, refused, &why);

		if (rc == ERR_STORE && !refused) {
			TRY(refuse_one(r, c, i, "", why.text, e));
		} else if (rc < 0) {
			*e = why;
			return rc;
		}
	}
	return OK;
}

/* The ids that are in the log with other content. */
static int
settle_differing(struct relay *r, struct chunk *c, struct err *e)
{
	for (size_t i = 0; i < c->n; i++) {
		char why[96];

		if (c->entries[i].state != ENTRY_DIFFERS ||
		    refused_is(&c->entries[i]))
			continue;
		(void)snprintf(why, sizeof(why),
		    "this event id is in the log with other content (seq %lld)",
		    (long long)c->entries[i].seq);
		TRY(refuse_one(r, c, i, "/eventId", why, e));
	}
	return OK;
}

/* Which one, where it has a name. */
static void
log_outbox(struct log_line *l, const struct relay *r)
{
	if (r->label > 0)
		log_str(l, "outbox", str_of(outbox_label(&r->outbox)));
}

static void
relay_say(const struct relay *r, enum log_level level, const char *msg,
    const char *why)
{
	struct log_line l;

	log_begin(&l, level, msg);
	log_outbox(&l, r);
	log_str(&l, level == LOG_INFO ? "detail" : "error", str_of(why));
	log_end(&l);
}

static void
tell_one(const struct chunk *c, size_t i)
{
	const struct entry *en = &c->entries[i];
	UNINIT struct log_line l;

	log_begin(&l, LOG_INFO,
	    en->state == ENTRY_NEW ? "event relayed" : "event relayed before");
	log_uuid(&l, "eventId", en->event_id);
	log_uuid(&l, "correlationId", en->correlation);
	log_int(&l, "outboxId", c->ids[i]);
	log_outbox(&l, c->r);
	log_int(&l, "seq", en->seq);
	log_end(&l);
}

static void
relay_tell(const struct chunk *c)
{
	int64_t fresh = 0, known = 0;
	bool lines = log_on(LOG_INFO);

	if (lines)
		log_hold();
	for (size_t i = 0; i < c->n; i++) {
		if (refused_is(&c->entries[i]))
			continue;
		if (c->entries[i].state == ENTRY_NEW)
			fresh++;
		else
			known++;
		if (lines)
			tell_one(c, i);
	}
	if (lines)
		log_release();
	if (c->has_refused)
		(void)refused_told(c->entries, c->n);
	metric_add_in(c->r->label, M_RELAY_EVENTS, fresh);
	metric_add_in(c->r->label, M_RELAY_KNOWN, known);
}

static int
settle(struct relay *r, struct chunk *c, struct err *e)
{
	int rc = wait_appended(r, c, e);

	if (rc == ERR_STORE)
		rc = append_singly(r, c, e);
	if (rc < 0)
		return rc;
	TRY(settle_differing(r, c, e));
	relay_tell(c);
	return OK;
}

/* Rounds ----------------------------------------------------------------------------- */

/* *ret_more: there is more to read at once. */
static int
round_of(struct relay *r, bool *ret_more, struct err *e)
{
	struct chunk *now = r->chunks[0], *after = r->chunks[1];
	int more;

	TRY(r->driver->begin(r->self, e));
	more = TRY(chunk_fill(r, now, e));
	while (more > 0) {
		struct err trouble = {0};
		struct chunk *spare = now;

		TRY(post(r, now, 0, now->n, now->has_refused, e));
		more = chunk_fill(r, after, &trouble);
		TRY(settle(r, now, e));
		TRY(r->driver->mark(r->self, now->ids, now->n, e));
		if (more < 0) {
			*e = trouble;
			return more;
		}
		now = after;
		after = spare;
	}
	return r->driver->end(r->self, ret_more, e);
}

static void
look_at_lag(struct relay *r)
{
	int64_t rows = 0, seconds = 0;
	struct err e;

	if (clock_mono_ms() < r->lag_ms)
		return;
	r->lag_ms = clock_mono_ms() + OUTBOX_LAG_MS;
	if (r->driver->lag(r->self, &rows, &seconds, &e) < 0)
		return; /* the next round finds out why */
	metric_set_in(r->label, M_RELAY_LAG_ROWS, rows);
	metric_set_in(r->label, M_RELAY_LAG_SECONDS, seconds > 0 ? seconds : 0);
}

/* Trouble is told when it begins, changes and ends. */
static void
trouble(struct relay *r, const struct err *e)
{
	metric_add_in(r->label, M_RELAY_ERRORS, 1);
	metric_set_in(r->label, M_RELAY_UP, 0);
	if (strcmp(r->told, e->text) != 0)
		relay_say(r, LOG_WARN, "outbox can't be relayed now", e->text);
	(void)snprintf(r->told, sizeof(r->told), "%s", e->text);
	r->up = false;
}

static void
is_well(struct relay *r)
{
	if (!r->up) {
		char what[OUTBOX_TABLE_MAX + 16];

		(void)snprintf(what, sizeof(what), "%s, %s", r->outbox.table,
		    r->driver == &OUTBOX_SQLITE ? "sqlite"
		    : r->outbox.xid             ? "xid"
						: "polling");
		relay_say(r, LOG_INFO,
		    r->told[0] ? "outbox is relayed again"
			       : "outbox is relayed",
		    what);
	}
	r->told[0] = '\0';
	r->up = true;
	r->backoff_ms = 0;
	metric_set_in(r->label, M_RELAY_UP, 1);
}

static int
have_lock(struct relay *r, struct err *e)
{
	int rc = TRY(r->driver->lock(r->self, e));

	if (rc == 0 && !r->standby)
		relay_say(r, LOG_INFO, "relay stands by", r->outbox.table);
	r->standby = rc == 0;
	if (rc == 0)
		metric_set_in(r->label, M_RELAY_UP, 0);
	return rc;
}

/* As long as the connection is good. */
static int
relay_on(struct relay *r, struct err *e)
{
	while (TRY(have_lock(r, e)) == 0 && !stopping(r)) {
		r->told[0] = '\0';
		rest(r, OUTBOX_STANDBY_MS);
		if (stopping(r))
			return OK;
	}
	while (!stopping(r)) {
		bool more = false;

		TRY(round_of(r, &more, e));
		is_well(r);
		look_at_lag(r);
		if (!more)
			TRY(r->driver->wait(
			    r->self, r->fd, r->outbox.poll_ms, e));
	}
	return OK;
}

static int64_t
backoff(struct relay *r)
{
	int64_t ms = r->backoff_ms ? 2 * r->backoff_ms : BACKOFF_FIRST;
	uint64_t jitter;

	if (ms > OUTBOX_BACKOFF_MS)
		ms = OUTBOX_BACKOFF_MS;
	r->backoff_ms = ms;
	rand_bytes(&jitter, sizeof(jitter));
	return ms - (int64_t)(jitter % (uint64_t)(ms / 4 + 1));
}

static void
relay_run(void *arg)
{
	struct relay *r = arg;

	while (!stopping(r)) {
		struct err e = {0};
		int rc = r->driver->open(&r->outbox, &r->self, &e);

		if (rc == OK) {
			rc = relay_on(r, &e);
			r->driver->close(r->self);
			r->self = NULL;
		}
		if (rc < 0 && !stopping(r)) {
			trouble(r, &e);
			rest(r, backoff(r));
		}
	}
	metric_set_in(r->label, M_RELAY_UP, 0);
}

/* Life ---------------------------------------------------------------------------------- */

static void
release(struct relay *r)
{
	for (size_t i = 0; i < COUNT_OF(r->chunks); i++) {
		arena_free(r->chunks[i]->arena);
		free(r->chunks[i]);
	}
	arena_free(r->scratch);
	buf_done(&r->text);
	if (r->fd >= 0)
		(void)close(r->fd);
	free(r);
}

static int
relay_label(struct relay *r, struct err *e)
{
	static const enum metric SHOWN[] = {M_RELAY_EVENTS, M_RELAY_KNOWN,
	    M_RELAY_ERRORS, M_RELAY_UP, M_RELAY_LAG_ROWS, M_RELAY_LAG_SECONDS};
	const char *name = outbox_label(&r->outbox);
	int set = *name ? metric_set_of("outbox", name) : 0;

	if (set < 0)
		return err_set(e, set, "too many outboxes");
	r->label = set;
	for (size_t i = 0; i < COUNT_OF(SHOWN); i++)
		metric_add_in(set, SHOWN[i], 0);
	return OK;
}

int
relay_start(const struct relay_opts *o, struct relay **ret, struct err *e)
{
	struct relay *r = mem_get(sizeof(*r));
	int rc;

	r->o = *o;
	r->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	r->outbox = *o->outbox;
	r->outbox.stop = &r->stop;
	r->text = BUF(2 * (size_t)r->outbox.body_max + 64 * KIB);
	r->driver =
	    outbox_file(r->outbox.url) ? &OUTBOX_SQLITE : &OUTBOX_POSTGRES;
	r->chunks[0] = chunk_new(r);
	r->chunks[1] = chunk_new(r);
	r->scratch = arena_new(OUTBOX_SCRATCH_MEM);
	rc = relay_label(r, e);
	if (rc == OK && r->fd < 0)
		rc = err_set(e, ERR_IO, "eventfd: %m");
	if (rc == OK)
		rc = thread_start("relay", relay_run, r, &r->thread, e);
	if (rc < 0)
		release(r);
	else
		*ret = r;
	return rc;
}

void
relay_stop(struct relay *r)
{
	if (!r)
		return;
	__atomic_store_n(&r->stop, true, __ATOMIC_RELAXED);
	wake(r);
	thread_join(r->thread);
	release(r);
}
