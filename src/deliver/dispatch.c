#include <assert.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/map.h"
#include "base/metric.h"
#include "base/str.h"
#include "deliver/deliver_priv.h"
#include "deliver/letter.h"
#include "deliver/preset.h"
#include "deliver/preset_store.h"
#include "deliver/wish.h"
#include "loop/thread.h"
#include "match/jq.h"
#include "match/table.h"
#include "sql.h"

/*
 * The dispatch thread reads the log in order, applies what changed with
 * subscriptions at its place in that order, finds who wants each event, and
 * hands both to the deliver thread. It never waits for a receiver: where one
 * is behind, the core keeps a position for it and forgets what it is fed.
 */

#define FEEDS       8
#define AGAIN_MS    250 /* after a store that did not answer */
#define SUBS_A_PAGE 500

struct known {
	struct wish *wish;
	int program; /* jq; -1: none */
};

struct dispatch {
	struct deliver *d;
	struct mailbox *box;
	struct thread *thread;
	struct db *db;
	struct jq *jq;
	struct presets *presets;
	struct match_table *table;
	struct map *subs; /* id to struct known */
	struct match_hits hits;
	struct feed *free[FEEDS];
	size_t n_free;
	struct tail_waiter waiter;
	struct note news;
	_Atomic int held; /* 1: the tail has our waiter */
	bool waiting;     /* for the news that it gives back */
	bool going;
	int64_t pos; /* read up to here */
	int64_t again_ms;
	bool told;
};

static struct str
sub_key(const uint32_t *id)
{
	return (struct str){(const char *)id, sizeof(*id)};
}

static void
forget(struct dispatch *x, uint32_t id)
{
	struct known *k = map_take(x->subs, sub_key(&id));

	if (!k)
		return;
	match_drop(x->table, id);
	if (k->program >= 0)
		jq_forget(x->jq, k->program);
	wish_unref(k->wish);
	free(k);
}

static void
forget_all(struct dispatch *x)
{
	size_t at;
	struct known *k;

	while (at = 0, (k = map_each(x->subs, &at)))
		forget(x, k->wish->core.id);
}

static void
tell_sub(struct dispatch *x, struct wish *w, uint32_t ended)
{
	struct sub_note *n = calloc(1, sizeof(*n));

	if (!n) {
		(void)fputs("hikyaku: no memory for subscriptions\n", stderr);
		abort();
	}
	n->note.kind = w ? NOTE_SUB : NOTE_SUB_END;
	n->wish = w ? wish_ref(w) : NULL;
	n->sub = ended;
	deliver_tell(x->d, &n->note);
}

static int
learn(struct dispatch *x, struct wish *w, struct err *e)
{
	struct known *k = calloc(1, sizeof(*k));
	struct match_want want = {
	    .sub = w->core.id,
	    .types = w->types,
	    .n_types = w->n_types,
	    .tenants = w->tenants,
	    .n_tenants = w->n_tenants,
	};
	int rc = k ? OK : err_set(e, ERR_NOMEM, "no memory for subscriptions");

	forget(x, w->core.id);
	if (rc == OK) {
		k->program = -1;
		k->wish = w;
		if (w->filter.n > 0)
			rc = jq_program(x->jq, w->filter, &k->program, e);
	}
	if (rc == OK)
		rc = match_add(x->table, &want, e);
	if (rc == OK)
		rc = map_put(x->subs, sub_key(&w->core.id), k, NULL, e);
	if (rc < 0) {
		match_drop(x->table, w->core.id);
		free(k);
		return rc;
	}
	(void)wish_ref(w);
	return OK;
}

/* One that can't be used is told of and left out; the others go on. */
static int
take_row(struct dispatch *x, const struct wish_row *row, struct err *e)
{
	struct wish *w = NULL;
	struct err why = {0};
	int rc = wish_new(row, x->presets, x->d->o.conf->time_scale, &w, &why);

	if (rc == OK)
		rc = learn(x, w, &why);
	if (rc == OK)
		tell_sub(x, w, 0);
	wish_unref(w);
	if (rc == ERR_NOMEM) {
		*e = why;
		return rc;
	}
	if (rc < 0) {
		log_err(LOG_ERROR, "a subscription can't be used", &why);
		forget(x, (uint32_t)row->id);
		tell_sub(x, NULL, (uint32_t)row->id);
	}
	return OK;
}

static int
load_presets(struct dispatch *x, struct err *e)
{
	struct presets *fresh = NULL;
	int rc = presets_open(x->db, x->d->o.conf, &fresh, e);

	if (rc == OK) {
		presets_free(x->presets);
		x->presets = fresh;
	}
	return rc;
}

/* Of all, or of those with that preset: the columns are the same. */
static int
load_page(struct dispatch *x, struct str preset, int64_t *after, int *ret_n,
    struct err *e)
{
	struct sql_subs_page_row row;
	struct rows *rows = NULL;
	int rc = preset.n > 0
		     ? sql_subs_of_preset(
			   x->db, preset, *after, SUBS_A_PAGE, &rows, e)
		     : sql_subs_page(x->db, *after, SUBS_A_PAGE, &rows, e);

	*ret_n = 0;
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_subs_page_get(rows, &row);
		rc = take_row(x,
		    &(struct wish_row){
			.id = row.id,
			.uid = row.uid,
			.conf = row.conf,
			.enabled = row.enabled != 0,
			.from_seq = row.from_seq,
		    },
		    e);
		*after = row.id;
		++*ret_n;
	}
	rows_close(rows);
	return rc;
}

static struct note LOADED = {.kind = NOTE_LOADED};

static int
load_all(struct dispatch *x, struct err *e)
{
	int64_t after = 0;
	int n = SUBS_A_PAGE, rc = load_presets(x, e);

	forget_all(x);
	while (rc >= 0 && n == SUBS_A_PAGE)
		rc = load_page(x, STR_EMPTY, &after, &n, e);
	if (rc >= 0)
		deliver_tell(x->d, &LOADED);
	return rc < 0 ? rc : OK;
}

/* A preset was changed, and with it all subscriptions that use it. */
static int
apply_preset(struct dispatch *x, struct str name, struct err *e)
{
	struct presets_note *note = calloc(1, sizeof(*note));
	int64_t after = 0;
	int n = SUBS_A_PAGE, rc;

	if (!note)
		return err_set(e, ERR_NOMEM, "no memory for presets");
	note->note.kind = NOTE_PRESETS;
	rc = load_presets(x, e);
	if (rc == OK)
		rc = presets_open(x->db, x->d->o.conf, &note->presets, e);
	if (rc < 0) {
		free(note);
		return rc;
	}
	deliver_tell(x->d, &note->note);
	while (rc >= 0 && n == SUBS_A_PAGE)
		rc = load_page(x, name, &after, &n, e);
	return rc < 0 ? rc : OK;
}

/* A subscription was made, changed or ended at this place of the log. */
static int
apply(struct dispatch *x, const struct letter *l, struct err *e)
{
	struct sql_subs_one_row row;
	struct rows *rows = NULL;
	bool there = false;
	int rc;

	if (str_eq(l->type, STR("preset")))
		return apply_preset(x, l->key, e);
	rc = sql_subs_one(x->db, l->to_sub, &rows, e);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_subs_one_get(rows, &row);
		there = row.until_seq_null;
		rc = !there ? OK
			    : take_row(x,
				  &(struct wish_row){
				      .id = row.id,
				      .uid = row.uid,
				      .conf = row.conf,
				      .enabled = row.enabled != 0,
				      .from_seq = row.from_seq,
				  },
				  e);
	}
	rows_close(rows);
	if (rc >= 0 && !there) {
		forget(x, (uint32_t)l->to_sub);
		tell_sub(x, NULL, (uint32_t)l->to_sub);
	}
	return rc < 0 ? rc : OK;
}

/* Feeds -------------------------------------------------------------------- */

static void
feed_send(struct dispatch *x, struct feed **f, int64_t upto)
{
	(*f)->upto = upto;
	(*f)->note.kind = NOTE_FEED;
	deliver_tell(x->d, &(*f)->note);
	*f = NULL;
}

static void take_mail(struct dispatch *x, int timeout_ms);

/* Waits for one that comes back; NULL when we are to stop. */
static struct feed *
feed_get(struct dispatch *x)
{
	struct feed *f;

	while (x->n_free == 0 && x->going && !mailbox_closed(x->box))
		take_mail(x, 1000);
	if (x->n_free == 0 || !x->going)
		return NULL;
	f = x->free[--x->n_free];
	f->n = 0;
	return f;
}

static bool
feed_add(struct dispatch *x, struct feed **f, struct letter *l, struct wish *w)
{
	if (*f && (*f)->n == FEED_MAX)
		feed_send(x, f, l->seq - 1);
	if (!*f && !(*f = feed_get(x)))
		return false;
	(*f)->v[(*f)->n].letter = letter_ref(l);
	(*f)->v[(*f)->n++].wish = wish_ref(w);
	return true;
}

/* Those who passed their filters. Most have none and pay nothing. */
static int
run_filters(struct dispatch *x, const struct letter *l, const bool *asked,
    enum jq_verdict *verdicts, struct err *e)
{
	struct jq_item items[FILTERS_MAX];
	size_t at[FILTERS_MAX];
	enum jq_verdict got[FILTERS_MAX];
	size_t n = 0, i = 0;
	int rc = OK;

	for (; rc == OK && i < x->hits.n; i++) {
		uint32_t id = (uint32_t)x->hits.subs[i];
		const struct known *k = map_find(x->subs, sub_key(&id));

		verdicts[i] = JQ_TRUE;
		if (!asked[i] || !k)
			continue;
		items[n] =
		    (struct jq_item){.program = k->program, .input = l->body};
		at[n++] = i;
		if (n < FILTERS_MAX && i + 1 < x->hits.n)
			continue;
		rc = jq_filter(x->jq, items, n, got, e);
		for (size_t j = 0; rc == OK && j < n; j++)
			verdicts[at[j]] = got[j];
		n = 0;
	}
	if (rc == OK && n > 0)
		rc = jq_filter(x->jq, items, n, got, e);
	for (size_t j = 0; rc == OK && j < n; j++)
		verdicts[at[j]] = got[j];
	return rc;
}

static int
filter_hits(struct dispatch *x, const struct letter *l, struct err *e)
{
	bool *asked = calloc(x->hits.n + 1, sizeof(*asked));
	enum jq_verdict *verdicts = calloc(x->hits.n + 1, sizeof(*verdicts));
	size_t n = 0, filters = 0;
	int rc = OK;

	if (!asked || !verdicts)
		rc = err_set(e, ERR_NOMEM, "no memory for filters");
	for (size_t i = 0; rc == OK && i < x->hits.n; i++) {
		uint32_t id = (uint32_t)x->hits.subs[i];
		const struct known *k = map_find(x->subs, sub_key(&id));

		asked[i] = k && k->program >= 0;
		filters += asked[i];
	}
	if (rc == OK && filters > 0) {
		rc = run_filters(x, l, asked, verdicts, e);
		for (size_t i = 0; rc == OK && i < x->hits.n; i++) {
			if (verdicts[i] == JQ_ERROR ||
			    verdicts[i] == JQ_STOPPED)
				metric_add(M_FILTER_ERRORS, 1);
			if (verdicts[i] == JQ_TRUE)
				x->hits.subs[n++] = x->hits.subs[i];
		}
		if (rc == OK)
			x->hits.n = n;
	}
	free(asked);
	free(verdicts);
	return rc;
}

static int
match(struct dispatch *x, struct letter *l, struct feed **f, struct err *e)
{
	int rc = OK;

	x->hits.n = 0;
	if (l->to_sub > 0) {
		uint32_t id = (uint32_t)l->to_sub;
		struct known *k = map_find(x->subs, sub_key(&id));

		letter_open(l, x->d->o.keyring);
		if (k && !feed_add(x, f, l, k->wish))
			rc = ERR_BUSY;
		return rc;
	}
	rc = match_find(x->table, l->type, &l->tenant, &x->hits, e);
	if (rc == OK && x->hits.n > 0)
		letter_open(l, x->d->o.keyring);
	/* One that is shut waits for its key, and for the filters then. */
	if (rc == OK && x->hits.n > 0 && !l->shut)
		rc = filter_hits(x, l, e);
	for (size_t i = 0; rc == OK && i < x->hits.n; i++) {
		uint32_t id = (uint32_t)x->hits.subs[i];
		struct known *k = map_find(x->subs, sub_key(&id));

		if (k && l->seq > k->wish->from_seq &&
		    !feed_add(x, f, l, k->wish))
			rc = ERR_BUSY;
	}
	return rc;
}

/* What stands before it goes out first: the order is the log's. */
static int
apply_between(struct dispatch *x, const struct letter *l, struct feed **f,
    int64_t done, struct err *e)
{
	if (*f)
		feed_send(x, f, done);
	return apply(x, l, e);
}

/* A page of the log. 1: there may be more; 0: this was the end. */
static int
read_page(struct dispatch *x, struct err *e)
{
	struct sql_log_feed_row row;
	struct letter *page[FEED_PAGE];
	struct rows *rows = NULL;
	struct feed *f = NULL;
	size_t n = 0, bytes = 0;
	int64_t done = x->pos;
	int rc = sql_log_feed(x->db, x->pos, INT64_MAX, FEED_PAGE, &rows, e);

	while (rc >= 0 && bytes < FEED_BYTES && (rc = rows_next(rows, e)) > 0) {
		sql_log_feed_get(rows, &row);
		page[n] = letter_new(&row);
		if (!page[n])
			rc = err_set(e, ERR_NOMEM, "no memory for events");
		else
			bytes += letter_bytes(page[n++]);
	}
	rows_close(rows);
	for (size_t i = 0; i < n; i++) {
		if (rc >= 0)
			rc = page[i]->kind == ENTRY_CONFIG
				 ? apply_between(x, page[i], &f, done, e)
				 : match(x, page[i], &f, e);
		if (rc >= 0)
			done = page[i]->seq;
		letter_unref(page[i]);
	}
	if (rc == ERR_BUSY) /* told to stop in the middle */
		return 0;
	if (done > x->pos) {
		if (!f)
			f = feed_get(x);
		if (f)
			feed_send(x, &f, done);
		x->pos = done;
		metric_set(M_DISPATCH_SEQ, done);
	}
	return rc < 0 ? rc : n == FEED_PAGE || bytes >= FEED_BYTES;
}

/* Mail ---------------------------------------------------------------------- */

static void
woken(struct tail_waiter *w)
{
	struct dispatch *x =
	    (struct dispatch *)(void *)((char *)w -
					offsetof(struct dispatch, waiter));

	/* Once this is false x may be gone: it is the last we do with it, but
	 * for the post, which must come first. */
	bool posted = mailbox_post(x->box, &x->news.mail);

	(void)posted;
	(void)atomic_fetch_sub(&x->held, 1);
}

static void
begin(struct dispatch *x)
{
	struct err e = {0};

	if (load_all(x, &e) < 0) {
		if (!x->told)
			log_err(LOG_ERROR, "subscriptions can't be read", &e);
		x->told = true;
		x->again_ms = clock_mono_ms() + AGAIN_MS;
		return;
	}
	x->told = false;
	x->again_ms = 0;
}

static void
take_note(struct dispatch *x, struct note *n)
{
	switch (n->kind) {
	case NOTE_BEGIN:
		x->going = false;
		begin(x);
		break;
	case NOTE_GO:
		x->pos = ((struct go_note *)n)->cursor;
		x->going = true;
		break;
	case NOTE_HALT:
		x->going = false;
		x->again_ms = 0;
		forget_all(x);
		break;
	case NOTE_NEWS:
		x->waiting = false;
		break;
	case NOTE_FREE:
		assert(x->n_free < FEEDS);
		x->free[x->n_free++] = (struct feed *)n;
		break;
	case NOTE_SUB:
	case NOTE_SUB_END:
	case NOTE_PRESETS:
	case NOTE_LOADED:
	case NOTE_FEED:
	case NOTE_PAGE:
	case NOTE_LETTER:
	case NOTE_DEADS:
	case NOTE_JOB:
	case NOTE_ASK:
		assert(!"a note for the deliver thread");
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
	x->waiting = tail_wait(x->d->o.tail, &x->waiter);
	if (!x->waiting)
		(void)atomic_fetch_sub(&x->held, 1);
}

static void
run(void *arg)
{
	struct dispatch *x = arg;
	int timeout = -1;

	while (!mailbox_closed(x->box)) {
		struct err e = {0};
		int rc;

		take_mail(x, timeout);
		timeout = -1;
		if (x->again_ms > 0 && clock_mono_ms() >= x->again_ms)
			begin(x);
		if (x->again_ms > 0)
			timeout = AGAIN_MS;
		if (!x->going || x->waiting)
			continue;
		rc = read_page(x, &e);
		if (rc < 0 && !x->told) {
			log_err(LOG_WARN, "dispatch waits for the store", &e);
			x->told = true;
		} else if (rc >= 0) {
			x->told = false;
		}
		if (rc > 0)
			timeout = 0;
		else if (rc < 0)
			timeout = AGAIN_MS;
		else
			wait(x);
	}
	/* The tail gives our waiter back before we may go: within a second. */
	while (atomic_load(&x->held) > 0)
		(void)nanosleep(
		    &(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
	take_mail(x, 0);
}

static void
release(struct dispatch *x)
{
	if (x->subs)
		forget_all(x);
	for (size_t i = 0; i < x->n_free; i++)
		free(x->free[i]);
	map_free(x->subs);
	match_free(x->table);
	match_hits_done(&x->hits);
	jq_free(x->jq);
	presets_free(x->presets);
	db_close(x->db);
	mailbox_free(x->box);
	free(x);
}

int
dispatch_start(struct deliver *d, struct dispatch **ret, struct err *e)
{
	struct dispatch *x = calloc(1, sizeof(*x));
	int rc = x ? OK : err_set(e, ERR_NOMEM, "no memory for dispatch");

	if (!x)
		return rc;
	x->d = d;
	x->news.kind = NOTE_NEWS;
	x->box = mailbox_new();
	x->table = match_new();
	x->subs = map_new(SIZE_MAX / 2);
	for (; x->n_free < FEEDS; x->n_free++) {
		x->free[x->n_free] = calloc(1, sizeof(struct feed));
		if (!x->free[x->n_free])
			break;
	}
	if (!x->box || !x->table || !x->subs || x->n_free < FEEDS)
		rc = err_set(e, ERR_NOMEM, "no memory for dispatch");
	if (rc == OK)
		rc = jq_new("/proc/self/exe", &x->jq, e);
	if (rc == OK)
		rc = db_open(d->o.store, DB_READ, &x->db, e);
	if (rc == OK)
		rc = thread_start("dispatch", run, x, &x->thread, e);
	if (rc < 0) {
		release(x);
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
	release(x);
}
