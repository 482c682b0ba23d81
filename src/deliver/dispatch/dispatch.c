#include "deliver/dispatch/dispatch.h"

#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/preset.h"
#include "deliver/batch/batch.h"
#include "deliver/dispatch/dispatch_priv.h"
#include "deliver/engine/hold.h"
#include "deliver/engine/letter.h"
#include "deliver/limits.h"
#include "event/append.h"
#include "loop/thread.h"
#include "match/jq/jq.h"
#include "sql.h"

#define HALTED    (-1000) /* of no error: we are to stop */
#define AGAIN_MS  250     /* after a store that did not answer */
#define SETTLE_MS 100
#define LEAP_MS   20   /* between looks, while there is nobody to deliver to */
#define LEAP_MAX  8192 /* entries that the store is asked of at once */

/* Feeds -------------------------------------------------------------------- */

static void take_mail(struct dispatch *x, int timeout_ms);

static void
feed_drop(struct dispatch *x)
{
	if (!x->feed)
		return;
	feeding_drop(x->feed);
	x->free[x->n_free++] = x->feed;
	x->feed = NULL;
}

/*
 * Whoever gets it may let the cursor pass `upto`: what was gathered up to there
 * is known to the store first. HALTED: we are to stop.
 */
static int
feed_send(struct dispatch *x, int64_t upto)
{
	while (
	    !batcher_settled(x->batch) && x->going && !mailbox_closed(x->box)) {
		batcher_push(x->batch);
		take_mail(x, SETTLE_MS);
	}
	if (!x->going || !batcher_settled(x->batch))
		return HALTED;
	x->feed->upto = upto;
	x->feed->note.kind = NOTE_FEED;
	deliver_tell(x->d, &x->feed->note);
	x->feed = NULL;
	return OK;
}

/* Waits for one that comes back, when there is none. */
static int
feed_get(struct dispatch *x)
{
	if (x->feed)
		return OK;
	while (x->n_free == 0 && x->going && !mailbox_closed(x->box))
		take_mail(x, 1000);
	if (x->n_free == 0 || !x->going)
		return HALTED;
	x->feed = x->free[--x->n_free];
	x->feed->n = 0;
	return OK;
}

static int
feed_add(struct dispatch *x, struct letter *l, struct wish *w, bool waits)
{
	size_t n;

	if (x->feed && x->feed->n == FEED_MAX)
		TRY(feed_send(x, l->seq - 1));
	TRY(feed_get(x));
	n = x->feed->n++;
	x->feed->v[n].letter = letter_ref(l);
	x->feed->v[n].wish = wish_ref(w);
	x->feed->v[n].waits = waits;
	return OK;
}

/* Filters ------------------------------------------------------------------- */

static void
room_for_hits(struct dispatch *x)
{
	size_t cap = x->cap_found ? x->cap_found : 64;

	if (x->hits.n <= x->cap_found)
		return;
	while (cap < x->hits.n)
		cap *= 2;
	x->found = mem_grow(x->found, cap, sizeof(*x->found));
	x->items = mem_grow(x->items, cap, sizeof(*x->items));
	x->said = mem_grow(x->said, cap, sizeof(*x->said));
	x->cap_found = cap;
}

/*
 * Those of the hits that get the entry if their filters want it. Whoever stands
 * still has a reader, or reads for its batches itself: that asks the filter,
 * when its time has come.
 */
static size_t
sift(struct dispatch *x, const struct letter *l)
{
	size_t n = 0;

	for (size_t i = 0; i < x->hits.n; i++) {
		uint32_t id = (uint32_t)x->hits.subs[i];
		struct known *k = map_find(x->subs, SUB_KEY(&id));
		struct hit h = {.k = k};

		if (!k || l->seq <= k->wish->from_seq ||
		    !wish_asked(k->wish, l->type))
			continue;
		h.gathers = wish_gathers(k->wish, l->type, l->seq);
		h.waits = h.gathers
			      ? !batcher_live(x->batch, id)
			      : !k->wish->core.enabled || wish_held(k->wish);
		x->found[n++] = h;
	}
	return n;
}

/* Most have none and pay nothing. */
static int
run_filters(struct dispatch *x, const struct letter *l, size_t n, struct err *e)
{
	size_t asked = 0;

	/* One that is shut waits for its key, and for the filters then. */
	for (size_t i = 0; i < n && !l->shut; i++) {
		struct hit *h = &x->found[i];

		if (h->waits || h->k->program < 0)
			continue;
		x->items[asked] = (struct jq_item){
		    .program = h->k->program, .input = l->body};
		h->ask = ++asked;
	}
	return asked > 0 ? jq_filter(x->jq, x->items, asked, x->said, e) : OK;
}

/* Its filter failed over it: it gets a copy that says so. */
static int
feed_failed(struct dispatch *x, struct hit *h, struct letter *l, enum reason r)
{
	struct str why = x->said[h->ask - 1].why;
	struct letter *copy;
	int rc;

	h->failed = true;
	if (h->gathers) {
		batcher_fail(x->batch, h->k->wish->core.id, l, r, why);
		return OK;
	}
	copy = letter_failed(l, h->k->wish->version, (int)r, why);
	rc = feed_add(x, copy, h->k->wish, false);
	letter_unref(copy);
	return rc;
}

static int
feed_hit(struct dispatch *x, struct hit *h, struct letter *l)
{
	struct wish *w = h->k->wish;
	enum reason r = REASON_NONE;

	if (h->ask > 0 && x->said[h->ask - 1].verdict == JQ_FALSE)
		return OK;
	if (h->ask > 0)
		r = hold_strike(w, &x->said[h->ask - 1], deliver_now(x->d));
	if (r)
		return feed_failed(x, h, l, r);
	if (!h->gathers)
		return feed_add(x, l, w, h->waits);
	batcher_take(x->batch, w->core.id, l);
	return OK;
}

/* Whose filter failed once too often: once what it failed over is fed. */
static int
hold_hits(struct dispatch *x, const struct letter *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct hit *h = &x->found[i];

		if (!h->failed || !wish_held(h->k->wish))
			continue;
		if (x->feed)
			TRY(feed_send(x, l->seq));
		deliver_tell_sub(x->d, NOTE_HOLD, h->k->wish, 0);
	}
	return OK;
}

/* Those that the entry names: nobody else's wishes count for them. */
static int
match_named(struct dispatch *x, struct letter *l)
{
	size_t at = 0;
	uint32_t id;

	while (letter_named(l, &at, &id)) {
		const struct known *k = map_find(x->subs, SUB_KEY(&id));

		if (!k || !k->wish->directed || l->seq <= k->wish->from_seq)
			continue;
		letter_open(l, x->o->keyring);
		TRY(feed_add(x, l, k->wish, false));
	}
	return OK;
}

static int
match(struct dispatch *x, struct letter *l, struct err *e)
{
	size_t n;

	if (l->to_sub > 0) {
		uint32_t id = (uint32_t)l->to_sub;
		struct known *k = map_find(x->subs, SUB_KEY(&id));

		letter_open(l, x->o->keyring);
		return k ? feed_add(x, l, k->wish, false) : OK;
	}
	x->hits.n = 0;
	TRY(match_find(x->table, l->type, &l->tenant, &x->hits, e));
	room_for_hits(x);
	n = sift(x, l);
	if (n > 0) {
		letter_open(l, x->o->keyring);
		TRY(run_filters(x, l, n, e));
	}
	for (size_t i = 0; i < n; i++)
		TRY(feed_hit(x, &x->found[i], l));
	TRY(match_named(x, l));
	return hold_hits(x, l, n);
}

/* What stands before it goes out first: the order is the log's. */
static int
apply_between(
    struct dispatch *x, const struct letter *l, int64_t done, struct err *e)
{
	if (x->feed)
		TRY(feed_send(x, done));
	return dispatch_apply(x, l, e);
}

/* Up to here it is handed over. */
static int
moved(struct dispatch *x, int64_t done)
{
	TRY(feed_get(x));
	TRY(feed_send(x, done));
	x->pos = done;
	metric_set(M_DISPATCH_SEQ, done);
	return OK;
}

/* Up to where there are only events; 0: not known. Where other nodes write, the
 * store is asked, which costs less than to read them. */
static int64_t
events_upto(struct dispatch *x)
{
	int64_t to = tail_last_seq(x->o->tail);
	struct sql_log_other_row row;
	struct err e = {0};

	if (!store_shared(x->o->store))
		return append_events_only(x->o->append, x->pos);
	if (to > x->pos + LEAP_MAX)
		to = x->pos + LEAP_MAX;
	if (to <= x->pos)
		return 0;
	return sql_log_other_one(
		   x->db, &row, &e, .after = x->pos, .upto = to) == 0
		   ? to
		   : 0;
}

/* Past what nobody wants, without reading it: there is no subscription, and
 * there are only events. False: it is to be read. */
static bool
leap(struct dispatch *x)
{
	int64_t to = map_count(x->subs) > 0 ? 0 : events_upto(x);

	if (to <= x->pos)
		return false;
	if (moved(x, to) == OK)
		return true;
	feed_drop(x);
	return false;
}

/* 1: there may be more behind these. */
static int
read_letters(struct dispatch *x, struct letter *page[FEED_PAGE], size_t *ret_n,
    struct err *e)
{
	struct sql_log_feed_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	size_t bytes = 0;

	TRY(sql_log_feed(x->db, &rows, e, .after = x->pos, .upto = INT64_MAX,
	    .most = FEED_PAGE));
	while (
	    bytes < FEED_BYTES && TRY(sql_log_feed_next(rows, &row, e)) > 0) {
		page[*ret_n] = letter_new(&row);
		bytes += letter_bytes(page[(*ret_n)++]);
	}
	return *ret_n == FEED_PAGE || bytes >= FEED_BYTES;
}

/* A page of the log. 1: there may be more; 0: this was the end. */
static int
read_page(struct dispatch *x, struct err *e)
{
	struct letter *page[FEED_PAGE];
	size_t n = 0;
	int64_t done = x->pos;
	int more = read_letters(x, page, &n, e), rc = more;

	for (size_t i = 0; i < n; i++) {
		if (rc >= 0)
			rc = page[i]->kind == ENTRY_CONFIG
				 ? apply_between(x, page[i], done, e)
				 : match(x, page[i], e);
		if (rc >= 0)
			done = page[i]->seq;
		letter_unref(page[i]);
	}
	if (rc != HALTED && done > x->pos && moved(x, done) < 0)
		rc = HALTED;
	if (rc == HALTED) { /* told to stop in the middle */
		feed_drop(x);
		return 0;
	}
	return rc < 0 ? rc : more;
}

/* Mail ---------------------------------------------------------------------- */

static void
woken(struct tail_waiter *w)
{
	struct dispatch *x = LINK_OF(w, struct dispatch, waiter);

	/* Once this is false x may be gone: it is the last we do with it, but
	 * for the post, which must come first. */
	bool posted = mailbox_post(x->box, &x->news.mail);

	(void)posted;
	(void)atomic_fetch_sub(&x->held, 1);
}

static void
begin_load(struct dispatch *x)
{
	struct err e = {0};
	bool failed = dispatch_load(x, &e) < 0;

	if (failed && !x->told)
		log_err(LOG_ERROR, "subscriptions can't be read", &e);
	x->told = failed;
	x->again_ms = failed ? clock_mono_ms() + AGAIN_MS : 0;
}

static void
go(struct dispatch *x, const struct go_note *n)
{
	struct err e = {0};

	x->pos = n->cursor;
	x->go_epoch = n->epoch;
	x->going = true;
	x->go_again = batcher_go(x->batch, n->cursor, n->epoch, &e) < 0;
	if (x->go_again)
		log_err(LOG_ERROR, "batches can't be read", &e);
}

static void
take_note(struct dispatch *x, struct note *n)
{
	assert(n->kind >= NOTE_BEGIN); /* else it is one for deliver */
	switch ((enum dispatch_note_kind)n->kind) {
	case NOTE_BEGIN:
		x->going = false;
		begin_load(x);
		break;
	case NOTE_GO:
		go(x, (struct go_note *)n);
		break;
	case NOTE_HALT:
		x->going = false;
		x->again_ms = 0;
		dispatch_forget_all(x);
		break;
	case NOTE_NEWS:
		x->waiting = false;
		break;
	case NOTE_BATCH:
		batcher_note(x->batch, n);
		break;
	case NOTE_FREE:
		assert(x->n_free < FEEDS);
		x->free[x->n_free++] = (struct feed *)n;
		break;
	}
}

static void
take_mail(struct dispatch *x, int timeout_ms)
{
	struct mail *m = mailbox_take(x->box, timeout_ms);

	while (m) {
		struct mail *next = m->next;

		take_note(x, MAIL_OF(m, struct note, mail));
		m = next;
	}
}

/* Until the log has grown past where we are. */
static void
wait(struct dispatch *x)
{
	if (!x->going || x->waiting)
		return;
	x->waiter.after = x->pos;
	x->waiter.until_ms = clock_mono_ms() + 1000;
	x->waiter.wake = woken;
	(void)atomic_fetch_add(&x->held, 1);
	x->waiting = tail_wait(x->o->tail, &x->waiter);
	if (!x->waiting)
		(void)atomic_fetch_sub(&x->held, 1);
}

/* The next page. How long to wait for the one after it. */
static int
read_on(struct dispatch *x)
{
	int64_t now_ms = clock_mono_ms();
	struct err e = {0};
	int rc;

	if (now_ms < x->rest_ms)
		return (int)(x->rest_ms - now_ms);
	if (leap(x)) {
		x->rest_ms = now_ms + LEAP_MS;
		return LEAP_MS;
	}
	rc = read_page(x, &e);
	if (rc < 0 && !x->told) {
		log_err(LOG_WARN, "dispatch waits for the store", &e);
		x->told = true;
	} else if (rc >= 0) {
		x->told = false;
	}
	if (rc == 0)
		wait(x);
	return rc > 0 ? 0 : rc < 0 ? AGAIN_MS : -1;
}

static void
run_dispatch(void *arg)
{
	struct dispatch *x = arg;
	int timeout = -1;

	while (!mailbox_closed(x->box)) {
		struct err e = {0};
		int batch_ms;

		take_mail(x, timeout);
		timeout = -1;
		if (x->again_ms > 0 && clock_mono_ms() >= x->again_ms)
			begin_load(x);
		if (x->again_ms > 0)
			timeout = AGAIN_MS;
		if (!x->going)
			continue;
		if (x->go_again) {
			x->go_again =
			    batcher_go(x->batch, x->pos, x->go_epoch, &e) < 0;
			timeout = x->go_again ? AGAIN_MS : 0;
			continue;
		}
		timeout = x->waiting ? -1 : read_on(x);
		batch_ms = batcher_turn(x->batch, x->pos);
		if (timeout < 0 || (batch_ms >= 0 && batch_ms < timeout))
			timeout = batch_ms;
	}
	/* The tail gives our waiter back before we may go: within a second. */
	while (atomic_load(&x->held) > 0)
		clock_sleep_us(5000);
	batcher_wait(x->batch);
	take_mail(x, 0);
}

static void
free_dispatch(struct dispatch *x)
{
	if (x->subs && x->batch)
		dispatch_forget_all(x);
	for (size_t i = 0; i < x->n_free; i++)
		free(x->free[i]);
	batcher_free(x->batch);
	free(x->kinds);
	map_free(x->subs);
	match_free(x->table);
	match_hits_done(&x->hits);
	free(x->found);
	free(x->items);
	free(x->said);
	jq_free(x->jq);
	presets_free(x->presets);
	db_close(x->db);
	mailbox_free(x->box);
	free(x);
}

int
dispatch_start(struct deliver *d, struct dispatch **ret, struct err *e)
{
	struct dispatch *x = mem_get(sizeof(*x));
	int rc;

	x->d = d;
	x->o = deliver_opts(d);
	x->news.kind = NOTE_NEWS;
	x->box = mailbox_new();
	x->table = match_new();
	x->subs = map_new(SIZE_MAX / 2);
	while (x->n_free < FEEDS)
		x->free[x->n_free++] = mem_get(sizeof(struct feed));
	x->jq = jq_new("/proc/self/exe");
	rc = db_open(x->o->store, DB_READ, &x->db, e);
	if (rc == OK) {
		x->batch = batcher_new(d, x->box, x->db, x->jq);
		rc = thread_start("dispatch", run_dispatch, x, &x->thread, e);
	}
	if (rc < 0) {
		free_dispatch(x);
		return rc;
	}
	*ret = x;
	return OK;
}

void
dispatch_tell(struct dispatch *x, struct note *n)
{
	if (mailbox_post(x->box, &n->mail))
		return;
	/* It has ended: what circulates is ours to free. */
	if (n->kind == NOTE_FREE)
		free(n);
}

void
dispatch_stop(struct dispatch *x)
{
	if (!x)
		return;
	mailbox_close(x->box);
	thread_join(x->thread);
	free_dispatch(x);
}
