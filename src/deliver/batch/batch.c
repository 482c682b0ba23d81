#include "deliver/batch/batch.h"

#include "base/conf/conf.h"
#include "contract/retry.h"
#include "deliver/batch/batch_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/limits.h"
#include "match/jq/jq.h"
#include "sql.h"

#define PAGES_A_TURN 4 /* of those behind */

struct gather *
batch_find(const struct batcher *b, uint32_t sub)
{
	return map_find(b->gathers, SUB_KEY(&sub));
}

int64_t
batch_minute_us(const struct batcher *b)
{
	return retry_scaled(
		   CHILD_MINUTE_MS, deliver_opts(b->d)->conf->time_scale) *
	       US_PER_MS;
}

size_t
batch_per_minute(const struct batcher *b)
{
	return (size_t)deliver_opts(b->d)
	    ->conf->webhook_child_event_rate_limit_per_minute;
}

/* When -------------------------------------------------------------------- */

static void
be_due(struct gather *g, int64_t at)
{
	heap_remove(&g->b->due, &g->due);
	g->due.due = at;
	if (at < INT64_MAX)
		heap_add(&g->b->due, &g->due);
}

static int64_t
window_due(const struct gather *g, int64_t now)
{
	int64_t at = g->open ? batch_window_due(g->open) : INT64_MAX;
	int64_t free_at;

	if (at == INT64_MAX)
		return at;
	if (g->forced || g->b->bytes >= BATCH_MEM_MAX)
		at = 0;
	if (g->wish->kind != WISH_CHILD || g->wish->window_us == 0 ||
	    !g->open->child)
		return at;
	free_at = ring_free_at(
	    &g->closed, batch_per_minute(g->b), now, batch_minute_us(g->b));
	return free_at > now && at < free_at ? free_at : at;
}

static int64_t
limit_due(const struct gather *g, int64_t now)
{
	if (!g->limit)
		return INT64_MAX;
	if (child_limit_drops(g->limit).n > 0 ||
	    (g->dirty && child_limit_idle(g->limit)))
		return now;
	return child_limit_due(g->limit, now);
}

/* Engaged for nothing, or for dead letters alone. */
static bool
may_leave(const struct gather *g)
{
	return (g->live || g->fails.n > 0) && !g->open && !g->dirty &&
	       (!g->limit || (child_limit_idle(g->limit) &&
				 child_limit_drops(g->limit).n == 0));
}

void
batch_set_due(struct gather *g, int64_t now)
{
	int64_t at = INT64_MAX, other;

	if (g->reload || (g->job && !g->busy)) {
		at = g->retry_us;
	} else if (!g->job && g->stored == STORED_ENGAGED) {
		at = may_leave(g) ? now : window_due(g, now);
		other = limit_due(g, now);
		at = other < at ? other : at;
	}
	be_due(g, at);
}

/* Life of a gather --------------------------------------------------------- */

void
batch_fall_behind(struct gather *g)
{
	g->live = false;
	if (!link_on(&g->in_list))
		list_add(&g->b->behind, &g->in_list);
}

/* Engaged first: the cursor passes what is left to it. */
void
batch_fall_behind_at(struct gather *g, int64_t seq)
{
	batch_engage(g, seq);
	g->seen = seq - 1;
	batch_fall_behind(g);
}

void
batch_drop_window(struct gather *g)
{
	if (!g->open)
		return;
	g->b->bytes -= g->open->bytes;
	batch_window_free(g->open);
	g->open = NULL;
	g->forced = false;
}

void
batch_limiter(struct gather *g)
{
	const struct conf *c = deliver_opts(g->b->d)->conf;
	int64_t minute = batch_minute_us(g->b);
	struct child_limit_opts o = {
	    .per_minute = batch_per_minute(g->b),
	    .per_second =
		(size_t)c->webhook_child_event_absolute_max_per_second,
	    .threshold =
		(size_t)c->webhook_child_event_circuit_breaker_threshold,
	    .queue_max = CHILD_QUEUE_MAX,
	    .minute_us = minute,
	    .second_us = retry_scaled(1000, c->time_scale) * US_PER_MS,
	    .open_us = retry_scaled(CHILD_OPEN_MS, c->time_scale) * US_PER_MS,
	};

	g->limit = child_limit_new(&o);
}

void
batch_gather_free(struct gather *g)
{
	batch_window_free(g->open);
	batch_fails_done(&g->fails);
	child_limit_free(g->limit);
	ring_done(&g->closed);
	batch_job_free(g->job);
	wish_unref(g->wish);
	free(g);
}

void
batcher_sub(struct batcher *b, struct wish *w, int program)
{
	struct gather *g = batch_find(b, w->core.id);
	const struct wish *old = g ? g->wish : NULL;

	if (!g && w->kind == WISH_PLAIN && w->n_was == 0)
		return;
	if (!g) {
		g = mem_get(sizeof(*g));
		g->b = b;
		g->sub = w->core.id;
		g->again = -1;
		g->live = true;
		map_set(b->gathers, SUB_KEY(&g->sub), g);
	} else if (old->kind != w->kind || old->window_us != w->window_us ||
		   old->batch.mode != w->batch.mode ||
		   old->batch.max_size != w->batch.max_size) {
		/* Once more, under the new terms. */
		if (g->open) {
			batch_drop_window(g);
			batch_fails_done(&g->fails);
			g->seen = g->handled;
			batch_fall_behind(g);
		}
	}
	g->program = program;
	g->wish = wish_ref(w);
	wish_unref((struct wish *)(uintptr_t)old);
	batch_set_due(g, deliver_now(b->d));
}

static void
forget_gather(struct batcher *b, struct gather *g)
{
	be_due(g, INT64_MAX);
	list_remove(&b->behind, &g->in_list);
	batch_drop_window(g);
	if (g->stored == STORED_ENGAGING || g->again >= 0)
		b->unsettled--;
	if (g->busy)
		list_add(&b->gone, &g->in_list);
	else
		batch_gather_free(g);
}

void
batcher_forget(struct batcher *b, uint32_t sub)
{
	struct gather *g = map_take(b->gathers, SUB_KEY(&sub));

	if (g)
		forget_gather(b, g);
}

void
batcher_halt(struct batcher *b)
{
	struct gather *g;

	/* Another may have moved up into the slot of the one that went. */
	for (size_t at = 0; (g = map_each(b->gathers, &at)); at--) {
		(void)map_take(b->gathers, SUB_KEY(&g->sub));
		forget_gather(b, g);
	}
	b->engage.stale = b->engage.busy;
}

/* Steps -------------------------------------------------------------------- */

/* One thing that is due. */
static void
step_gather(struct gather *g, int64_t now)
{
	struct err e = {0};

	if (g->reload) {
		batch_reload(g, now);
	} else if (g->job && !g->busy) {
		batch_job_post(g, now);
	} else if (!g->job && g->stored == STORED_ENGAGED) {
		if (window_due(g, now) <= now)
			batch_job_window(g, now);
		else if (limit_due(g, now) <= now &&
			 batch_job_limit(g, now, &e) < 0)
			g->reload = true;
		else if (!g->job && may_leave(g))
			batch_job_leave(g, now);
		if (g->job) {
			if (g->job->idle)
				g->stored = STORED_LEAVING;
			batch_job_post(g, now);
		}
	}
	batch_set_due(g, now);
}

/* Taking ---------------------------------------------------------------------- */

static bool
take_window(struct gather *g, const struct batch_event *ev)
{
	const struct batch_window_opts o = {
	    .summary = g->wish->batch.mode == BATCH_SUMMARY,
	    .len_us = g->wish->window_us > 0 ? g->wish->window_us : US_PER_MS,
	    .max_size = (size_t)g->wish->batch.max_size,
	};
	bool ok;

	/* A position is behind all of what was taken: one at a time. */
	if (g->dirty || (g->open && g->b->bytes >= BATCH_MEM_MAX))
		return false;
	if (!g->open)
		g->open = batch_window_new(&o);
	g->b->bytes -= g->open->bytes;
	ok = batch_window_take(g->open, ev);
	g->b->bytes += g->open->bytes;
	return ok;
}

static bool
take_event(struct gather *g, const struct letter *l)
{
	struct batch_event ev = {
	    .seq = l->seq,
	    .at_us = l->received_us,
	    .type = l->type,
	    .tenant = l->tenant,
	    .event_id = l->event_id,
	    .body = l->body,
	};
	struct err e;

	/* One that no key opens waits for its key, and all behind it too. */
	if (g->reload || l->shut)
		return false;
	arena_reset(g->b->scratch);
	/* One that can't be read is of no folder. */
	if (batch_event_read(g->b->scratch, &ev, &e) < 0)
		ev.folder.id = STR_EMPTY;
	if (ev.child != CHILD_TYPES && g->wish->kind == WISH_CHILD &&
	    g->wish->batch.mode == BATCH_IMMEDIATE) {
		g->forced = g->open && g->open->first > 0;
		if (g->forced)
			return false;
		if (!g->limit)
			batch_limiter(g);
		child_limit_take(
		    g->limit, &ev.folder, ev.child, ev.seq, ev.at_us);
		g->dirty = true;
		g->last = ev.seq;
	} else if (!take_window(g, &ev)) {
		return false;
	}
	batch_engage(g, l->seq);
	g->seen = l->seq;
	return true;
}

/* With what is due out of the way, when it has to be. */
static bool
take_or_make_room(struct gather *g, const struct letter *l)
{
	if (take_event(g, l))
		return true;
	step_gather(g, deliver_now(g->b->d));
	return take_event(g, l);
}

void
batcher_take(struct batcher *b, uint32_t sub, struct letter *l)
{
	struct gather *g = batch_find(b, sub);
	int64_t now = deliver_now(b->d);

	if (!g || !g->live || l->seq <= g->seen)
		return;
	if (!wish_held(g->wish) && take_or_make_room(g, l)) {
		if (!g->due.at || g->due.due > now)
			batch_set_due(g, now);
		return;
	}
	batch_fall_behind_at(g, l->seq);
}

void
batcher_fail(struct batcher *b, uint32_t sub, const struct letter *l,
    enum reason r, struct str why)
{
	struct gather *g = batch_find(b, sub);

	/* One that is behind asks the filter itself. */
	if (!g || !g->live || l->seq <= g->seen)
		return;
	if (!batch_fail(g, l, r, why))
		batch_fall_behind_at(g, l->seq);
	batch_set_due(g, deliver_now(b->d));
}

bool
batcher_live(const struct batcher *b, uint32_t sub)
{
	const struct gather *g = batch_find(b, sub);

	return g && g->live && !wish_held(g->wish);
}

/* 1 when the subscription wants it gathered, as far as its filter says so. */
static int
gather_wants(const struct gather *g, struct letter *l, struct jq_said *ret,
    struct err *e)
{
	const struct wish *w = g->wish;
	struct jq_item item = {.program = g->program};

	*ret = (struct jq_said){.verdict = JQ_TRUE};
	if (l->kind != ENTRY_EVENT || l->to_sub > 0 || l->seq <= w->from_seq ||
	    !wish_gathers(w, l->type, l->seq) ||
	    !wish_wants(w, l->type, &l->tenant))
		return 0;
	letter_open(l, deliver_opts(g->b->d)->keyring);
	item.input = l->body;
	if (g->program >= 0 && !l->shut &&
	    jq_filter(g->b->jq, &item, 1, ret, e) < 0)
		return e->code;
	return ret->verdict != JQ_FALSE;
}

/* False: there is no room for it now. */
static bool
take_said(struct gather *g, const struct letter *l, const struct jq_said *said)
{
	enum reason r = hold_strike(g->wish, said, deliver_now(g->b->d));
	bool room =
	    r ? batch_fail(g, l, r, said->why) : take_or_make_room(g, l);

	if (r && wish_held(g->wish))
		deliver_tell_sub(g->b->d, NOTE_HOLD, g->wish, 0);
	return room;
}

/* A page of the log for one that is behind. */
static int
read_on(struct gather *g, int64_t upto, struct err *e)
{
	struct sql_log_feed_row row;
	struct rows *rows = NULL;
	size_t n = 0, bytes = 0;
	bool room = !wish_held(g->wish);
	struct jq_said said;
	int rc = room ? sql_log_feed(g->b->db, &rows, e, .after = g->seen,
			    .upto = upto, .most = FEED_PAGE)
		      : OK;

	while (rc >= 0 && room && bytes < FEED_BYTES &&
	       (rc = sql_log_feed_next(rows, &row, e)) > 0) {
		struct letter *l = letter_new(&row);

		n++;
		bytes += letter_bytes(l);
		rc = gather_wants(g, l, &said, e);
		room = rc <= 0 || take_said(g, l, &said);
		if (rc >= 0)
			g->seen = room ? l->seq : l->seq - 1;
		room = room && !wish_held(g->wish);
		letter_unref(l);
	}
	rows_close(rows);
	if (rc < 0)
		return rc;
	if (room && n < FEED_PAGE && bytes < FEED_BYTES) {
		g->seen = upto;
		g->live = true;
		list_remove(&g->b->behind, &g->in_list);
	}
	return room ? 1 : 0;
}

/* Whether some may read on at once. */
static bool
turn_behind(struct batcher *b, int64_t upto, int64_t now)
{
	struct gather *g;
	bool more = false;

	for (int i = 0; i < PAGES_A_TURN &&
			(g = list_head(&b->behind, struct gather, in_list));
	     i++) {
		struct err e = {0};
		int rc = read_on(g, upto, &e);

		/* The others have their turn first. */
		if (!g->live) {
			list_remove(&b->behind, &g->in_list);
			list_add(&b->behind, &g->in_list);
		}
		if (rc < 0)
			batch_tell(b, &e);
		more = more || (rc > 0 && !g->live);
		batch_set_due(g, now);
	}
	return more;
}

int
batcher_turn(struct batcher *b, int64_t upto)
{
	int64_t now = deliver_now(b->d), wait;
	struct heap_node *first;
	bool more;

	batcher_push(b);
	while ((first = heap_first(&b->due)) && first->due <= now) {
		struct gather *g = LINK_OF(first, struct gather, due);

		step_gather(g, now);
		if (g->due.at && g->due.due <= now)
			be_due(g, now + US_PER_MS);
	}
	more = turn_behind(b, upto, now);
	batcher_push(b);
	if (more)
		return 0;
	first = heap_first(&b->due);
	if (!first)
		return b->behind.n || b->unsettled
			   ? (int)(BATCH_RETRY_US / US_PER_MS)
			   : -1;
	wait = (first->due - now + US_PER_MS - 1) / US_PER_MS;
	if (b->behind.n > 0 && wait > BATCH_RETRY_US / US_PER_MS)
		wait = BATCH_RETRY_US / US_PER_MS;
	return wait < 0 ? 0 : wait > 1000 ? 1000 : (int)wait;
}

/* Life ------------------------------------------------------------------------ */

struct batcher *
batcher_new(
    struct deliver *d, struct mailbox *box, struct db *db, struct jq *jq)
{
	struct batcher *b = mem_get(sizeof(*b));

	b->d = d;
	b->box = box;
	b->db = db;
	b->jq = jq;
	list_init(&b->behind);
	list_init(&b->gone);
	b->gathers = map_new(SIZE_MAX / 2);
	b->scratch = arena_new(BATCH_SCRATCH);
	return b;
}

void
batcher_wait(struct batcher *b)
{
	while (atomic_load(&b->in_flight) > 0)
		clock_sleep_us(5000);
}

void
batcher_free(struct batcher *b)
{
	size_t at = 0;
	struct gather *g;

	if (!b)
		return;
	while ((g = map_each(b->gathers, &at)))
		batch_gather_free(g);
	while ((g = list_take(&b->gone, struct gather, in_list)))
		batch_gather_free(g);
	heap_done(&b->due);
	map_free(b->gathers);
	arena_free(b->scratch);
	free(b->engage.v);
	free(b);
}
