/*
 * core_sim.h - the world of core_sim_test.c: a log, a store, endpoints, and
 * what the invariants say about them.
 *
 * The model knows what a receiver got and what was committed, and nothing of
 * the core's insides but where a bound on memory is checked. Each message
 * begins with the number of the invariant in ENGINE.md that is broken, or with
 * the name of the promise (lock, rate, breaker ...). For core_sim_test.c only,
 * which brings base/test.h.
 */
#ifndef DELIVER_CORE_SIM_H
#define DELIVER_CORE_SIM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deliver/core_priv.h"

#define EVENTS_MAX 4000
#define SUBS       12 /* the last two pull */
#define REPS       3
#define KEYS_MAX   200
#define SEC        ((int64_t)1000 * 1000)
#define BREAKER_US (20 * SEC)
#define LOCK_US    (20 * SEC)
#define ASKED_N    1000 /* attempts that what was requeued had */
#ifndef SIM_SLOTS
#define SIM_SLOTS 64
#endif

enum { REASON_NO, REASON_SPENT, REASON_CRASH };

struct one {
	bool ok;       /* the receiver said yes */
	bool known_ok; /* and the core heard it */
	bool dead;     /* given up, as the core said */
	bool skipped;  /* by a person */
	bool held;     /* and stops its lane */
	bool offered;  /* pull: to a worker */
	bool stored_ok, stored_dead;
	int oks, asked; /* asked: times a person wanted it again */
	int credit;     /* crashes that lost a send or a result of it */
	int tries, n;   /* that the core should know of */
	int crashes;    /* the same */
	size_t row;     /* where it is in `rows`, from 1 */
	int64_t locked_until;
};

struct flight {
	struct item *item;
	uint32_t sub;
	uint64_t okey, endpoint;
	int64_t seq;
	int rep, tries, crashes;
	bool probe;
	int64_t at, ends;
};

/* What a worker has in its hand, also after its lease. */
struct slip {
	uint32_t sub;
	uint64_t okey;
	int64_t seq, until;
	int rep, n;
	bool over; /* the core said that it is */
};
#define SLIPS_MAX 64

struct sim_sub {
	struct core_sub o;
	int64_t allowed; /* pull: sends that may come */
	int64_t from, ordered_from;
	bool on, ended;
	int share; /* wants one of so many events */
	int keys;  /* of its events */
	int max_tries;
	int64_t replay_from[REPS], replay_until[REPS];
	int64_t replay_every[REPS], replay_next[REPS];
	int64_t sent[2]; /* the last two, for its rate */
	int64_t call_end[KEYS_MAX + 1];
	int64_t low[REPS][KEYS_MAX + 1]; /* nothing to settle up to here */
	int held[REPS][KEYS_MAX + 1];
};

struct sim_ep {
	int fail_pct, hang_pct;
	bool down;
	/* what the model knows of its breaker */
	bool open, fail_keys;
	int fails, sick;
	uint64_t fail_key;
	int64_t open_until, rest_until;
};

struct sim {
	uint64_t rng;
	int64_t now, started_us;
	int64_t head; /* newest seq of the log */
	int64_t dispatched;
	uint32_t feeding; /* subscription that is next for the entry after it */
	int64_t fed_at[EVENTS_MAX + 1];
	struct sim_sub subs[SUBS + 1];
	struct sim_ep eps[SUBS + 1];
	struct one (*all)[EVENTS_MAX + 1][REPS]; /* [sub][seq][rep] */
	struct flight flights[SIM_SLOTS + 1];
	int n_flights;
	struct slip slips[SLIPS_MAX];
	int n_slips;
	int64_t acks;
	struct core *core;
	const struct core_changes *flushing;
	bool committed;
	struct core_read pages[READS_MAX];
	int n_pages;

	/* the store */
	int64_t cursor;
	struct core_row *rows;
	size_t n_rows, cap_rows;
	struct core_reader readers[SUBS * (SUB_LANES_MAX + REPS + 1)];
	size_t n_readers;
	struct core_endpoint ep_rows[SUBS + 1];

	int64_t first_next, first_now; /* oldest results that are not stored */
	int64_t careful_upto;
	int64_t crashes, sends;
	const char *broken;
	char what[200];
	bool healing, quiet;
};

static uint64_t
roll(struct sim *s)
{
	uint64_t x = s->rng += 0x9e3779b97f4a7c15U;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

static int
below(struct sim *s, int n)
{
	return (int)(roll(s) % (uint64_t)n);
}

static bool
chance(struct sim *s, int percent)
{
	return below(s, 100) < percent;
}

static void broke(struct sim *s, const char *fmt, ...) PRINTF(2, 3);
static void
broke(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->broken)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(s->what, sizeof(s->what), fmt, ap);
	va_end(ap);
	s->broken = s->what;
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15U + b;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9U;
	return x ^ (x >> 32);
}

static bool
wants(const struct sim *s, uint32_t sub, int64_t seq)
{
	const struct sim_sub *x = &s->subs[sub];

	return seq > x->from &&
	       mix(sub, (uint64_t)seq) % (uint64_t)x->share == 0;
}

static uint64_t
key_of(const struct sim *s, uint32_t sub, int64_t seq)
{
	const struct sim_sub *x = &s->subs[sub];

	return x->keys ? 1 + mix(7, (uint64_t)seq) % (uint64_t)x->keys : 0;
}

static uint64_t
skey_of(const struct sim *s, uint32_t sub, int64_t seq)
{
	return s->subs[sub].o.spacing_us > 0
		   ? (uint64_t)sub << 32 | key_of(s, sub, seq)
		   : 0;
}

/* One key of an ordered subscription fails again and again. */
static bool
cursed(const struct sim *s, uint32_t sub, int64_t seq)
{
	return !s->healing && s->subs[sub].keys > 0 && key_of(s, sub, seq) == 3;
}

static struct one *
one(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	return &s->all[sub][seq][rep];
}

static bool
settled(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	const struct one *o = one(s, sub, seq, rep);

	return o->ok || o->dead || o->skipped;
}

/* Something of it is to be settled again. */
static void
unsettled(struct sim *s, uint32_t sub)
{
	memset(s->subs[sub].low, 0, sizeof(s->subs[sub].low));
}

/* The store ----------------------------------------------------------------- */

static void
row_drop(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	struct one *o = one(s, sub, seq, rep);
	struct core_row *last = &s->rows[s->n_rows - 1];

	if (o->row == 0)
		return;
	s->rows[o->row - 1] = *last;
	one(s, last->sub, last->seq, last->rep)->row = o->row;
	s->n_rows--;
	o->row = 0;
}

static void
row_put(struct sim *s, const struct core_row *r)
{
	struct one *o = one(s, r->sub, r->seq, r->rep);

	if (s->n_rows == s->cap_rows) {
		s->cap_rows = s->cap_rows ? 2 * s->cap_rows : 256;
		s->rows = reallocarray(s->rows, s->cap_rows, sizeof(*s->rows));
		assert_non_null(s->rows);
	}
	if (o->row == 0)
		o->row = ++s->n_rows;
	s->rows[o->row - 1] = *r;
}

static void
reader_put(struct sim *s, const struct core_reader *r)
{
	size_t i = 0;

	while (i < s->n_readers &&
	       (s->readers[i].sub != r->sub || s->readers[i].okey != r->okey ||
		   s->readers[i].rep != r->rep))
		i++;
	if (r->gone) {
		if (i < s->n_readers)
			s->readers[i] = s->readers[--s->n_readers];
		return;
	}
	if (i == s->n_readers) {
		assert_true(s->n_readers < COUNT_OF(s->readers));
		s->n_readers++;
	}
	s->readers[i] = *r;
}

static void
commit_dead(struct sim *s, const struct core_dead *d)
{
	struct one *o = one(s, d->sub, d->seq, d->rep);

	o->stored_dead = true;
	if (d->reason == REASON_SPENT && d->tries < s->subs[d->sub].max_tries)
		broke(s, "tries: %u/%lld is spent after %d", d->sub,
		    (long long)d->seq, d->tries);
}

/* May run twice with the same changes. */
static void
commit(struct sim *s)
{
	const struct core_changes *ch = s->flushing;

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *a = &ch->attempts[i];

		if (a->verdict == CORE_OK)
			one(s, a->sub, a->seq, a->rep)->stored_ok = true;
	}
	for (size_t i = 0; i < ch->n_deads; i++)
		commit_dead(s, &ch->deads[i]);
	for (size_t i = 0; i < ch->n_dels; i++)
		row_drop(s, ch->dels[i].sub, ch->dels[i].seq, ch->dels[i].rep);
	for (size_t i = 0; i < ch->n_puts; i++)
		if (!s->subs[ch->puts[i].sub].ended)
			row_put(s, &ch->puts[i]);
	for (size_t i = 0; i < ch->n_readers; i++)
		if (!s->subs[ch->readers[i].sub].ended)
			reader_put(s, &ch->readers[i]);
	for (size_t i = 0; i < ch->n_endpoints; i++)
		s->ep_rows[ch->endpoints[i].endpoint] = ch->endpoints[i];
	if (ch->cursor >= 0) {
		if (ch->cursor < s->cursor)
			broke(s, "4: the cursor went back");
		s->cursor = ch->cursor;
	}
	s->committed = true;
}

/* Checks of what is stored and held ----------------------------------------- */

static bool
reader_covers(const struct sim *s, uint32_t sub, int64_t seq, uint64_t key)
{
	for (size_t i = 0; i < s->n_readers; i++) {
		const struct core_reader *r = &s->readers[i];

		if (r->sub == sub && r->rep == 0 && seq > r->pos &&
		    (r->until == 0 || seq <= r->until) &&
		    (r->okey == 0 || r->okey == key))
			return true;
	}
	return false;
}

/* Invariant 2 over the store as it is after a commit. */
static void
check_covered(struct sim *s)
{
	for (uint32_t sub = 1; sub <= SUBS; sub++) {
		if (!s->subs[sub].on || s->subs[sub].ended)
			continue;
		for (int64_t seq = 1; seq <= s->cursor; seq++) {
			const struct one *o = one(s, sub, seq, 0);

			if (!o->stored_ok && !o->stored_dead && !o->skipped &&
			    o->row == 0 && wants(s, sub, seq) &&
			    !reader_covers(s, sub, seq, key_of(s, sub, seq)))
				broke(s, "2: %u/%lld is covered by nothing",
				    sub, (long long)seq);
		}
	}
}

/* What was requeued by hand comes on top of all bounds. */
static void
check_rows(struct sim *s)
{
	static int lanes[SUBS + 1][KEYS_MAX + 1];
	int subs[SUBS + 1] = {0};

	memset(lanes, 0, sizeof(lanes));
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct core_row *r = &s->rows[i];

		if (r->n >= ASKED_N)
			continue;
		if (r->state == ROW_PARKED && r->rep == 0 && r->n == 0 &&
		    r->sub == SUBS && !one(s, r->sub, r->seq, r->rep)->offered)
			broke(s, "5: %u/%lld waits for a worker in a row",
			    r->sub, (long long)r->seq);
		if (++subs[r->sub] > SUB_ROWS_MAX)
			broke(s, "5: %d rows of %u", subs[r->sub], r->sub);
		if (r->rep == 0 && s->subs[r->sub].ordered_from == 0 &&
		    ++lanes[r->sub][r->okey] > LANE_ROWS_MAX + 1)
			broke(s, "5: more rows than a lane may have");
	}
}

static void
check_memory(struct sim *s)
{
	struct core_count n;
	size_t asked = 0;

	for (size_t i = 0; i < s->n_rows; i++)
		asked += s->rows[i].n >= ASKED_N;
	core_counts(s->core, &n);
	/* Each subscription may have its few when the core is full. */
	if (n.items > CORE_ITEMS_MAX + SUBS * SUB_ITEMS_LEAST + asked + 1)
		broke(s, "5: %zu items", n.items);
	if (n.in_flight > SIM_SLOTS)
		broke(s, "slots: %zu are taken", n.in_flight);
	for (uint32_t i = 1; i <= SUBS; i++) {
		const struct sub *x = sub_find(s->core, i);

		if (x && x->items.n > SUB_ITEMS_MAX + asked + 1)
			broke(s, "5: %zu items of %u", x->items.n, i);
		if (x && x->lane_readers > SUB_LANES_MAX)
			broke(s, "5: %zu readers of %u", x->lane_readers, i);
	}
}

static void
check_store(struct sim *s)
{
	check_covered(s);
	check_rows(s);
	check_memory(s);
	for (int64_t seq = s->cursor + 1; seq <= s->dispatched; seq++)
		if (s->fed_at[seq] < s->now - DELIVER_WINDOW_US - 4 * SEC &&
		    s->fed_at[seq] > s->started_us)
			broke(s, "4: the cursor waits at %lld",
			    (long long)s->cursor);
}

/* Checks of a send ----------------------------------------------------------- */

/* Invariant 3. */
static void
check_order(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->sub];
	int64_t *low = &sub->low[x->rep][x->okey];
	int64_t from = x->rep ? sub->replay_from[x->rep] : 0;
	/* It was under way already when an older one was requeued. */
	bool locked = sub->o.lock_us > 0 || x->seq <= s->careful_upto;

	for (int i = 0; i < s->n_flights; i++) {
		const struct flight *f = &s->flights[i];
		bool lane = x->okey && f->okey == x->okey &&
			    f->seq > sub->ordered_from &&
			    x->seq > sub->ordered_from;

		if (f->sub == x->sub && f->rep == x->rep &&
		    (f->seq == x->seq || lane))
			broke(s, "3: two in flight in a lane");
	}
	for (int i = 0; i < s->n_slips; i++) {
		const struct slip *p = &s->slips[i];

		if (!p->over && p->sub == x->sub && p->rep == x->rep &&
		    (p->seq == x->seq ||
			(sub->o.order == CORE_ORDER_KEY && p->okey == x->okey)))
			broke(s, "3: two workers have %u/%lld and its key",
			    x->sub, (long long)x->seq);
	}
	if (sub->o.order != CORE_ORDER_KEY || x->seq <= sub->ordered_from)
		return;
	for (int64_t seq = 1; seq < x->seq && sub->held[x->rep][x->okey]; seq++)
		if (one(s, x->sub, seq, x->rep)->held &&
		    key_of(s, x->sub, seq) == x->okey)
			broke(s, "held: %u/%lld is past %lld", x->sub,
			    (long long)x->seq, (long long)seq);
	from = from > sub->ordered_from ? from : sub->ordered_from;
	*low = *low > from ? *low : from;
	while (*low + 1 < x->seq &&
	       (!wants(s, x->sub, *low + 1) ||
		   key_of(s, x->sub, *low + 1) != x->okey ||
		   settled(s, x->sub, *low + 1, x->rep) ||
		   (locked && one(s, x->sub, *low + 1, x->rep)->asked > 0)))
		++*low;
	if (*low + 1 < x->seq)
		broke(s, "3: %u/%lld (rep %d) before %lld", x->sub,
		    (long long)x->seq, x->rep, (long long)*low + 1);
}

static void
check_endpoint(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->sub];
	const struct sim_ep *ep = &s->eps[sub->o.endpoint];
	int64_t before = sub->sent[0];
	int sick = 0;

	for (int i = 0; i < s->n_flights; i++) {
		const struct flight *f = &s->flights[i];

		sick += s->eps[f->endpoint].sick > 0;
		if (ep->open && f->endpoint == sub->o.endpoint && f->probe)
			broke(s, "breaker: two probes");
	}
	sub->sent[0] = sub->sent[1];
	sub->sent[1] = s->now;
	/* With a lock it has its slot, and is counted, since that was asked. */
	if (sub->o.lock_us > 0 || x->seq <= s->careful_upto)
		return;
	if (ep->open && (!x->probe || s->now < ep->open_until))
		broke(s, "breaker: %u/%lld was sent while it is open", x->sub,
		    (long long)x->seq);
	if (ep->sick > 0 && sick >= SIM_SLOTS / 2)
		broke(s, "sick: they have %d slots", sick + 1);
	if (s->now < ep->rest_until)
		broke(s, "rest: endpoint %llu was not given its rest",
		    (unsigned long long)sub->o.endpoint);
	if (sub->o.rate_us > 0 && s->careful_upto == 0 &&
	    s->now - before < sub->o.rate_us)
		broke(s, "rate: three within one interval");
}

static void
check_spacing(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->sub];

	if (sub->o.spacing_us == 0)
		return;
	for (int i = 0; i < s->n_flights; i++)
		if (s->flights[i].sub == x->sub &&
		    s->flights[i].okey == x->okey)
			broke(s, "spacing: two at once");
	if (s->now - sub->call_end[x->okey] < sub->o.spacing_us)
		broke(s, "spacing: %u/%lld came too soon", x->sub,
		    (long long)x->seq);
}

/* What must be stored before it goes, and what was. */
static void
check_rowed(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->sub];
	struct one *o = one(s, x->sub, x->seq, x->rep);
	const struct core_row *row = o->row ? &s->rows[o->row - 1] : NULL;
	bool careful = x->seq <= s->careful_upto;

	if ((sub->o.lock_us > 0 && (!row || row->state != ROW_SENDING)) ||
	    s->now < o->locked_until)
		broke(s, "lock: %u/%lld was sent without", x->sub,
		    (long long)x->seq);
	o->locked_until = 0;
	if (careful && !x->pull && (!row || row->crashes != x->crashes + 1))
		broke(s, "careful: %u/%lld has no row", x->sub,
		    (long long)x->seq);
	if (s->careful_upto > 0 && s->n_flights > 0 && !x->pull)
		broke(s, "careful: two at once");
	if (x->crashes != o->crashes)
		broke(s, "careful: %d crashes of %u/%lld, not %d", x->crashes,
		    x->sub, (long long)x->seq, o->crashes);
	if (x->tries != o->tries)
		broke(s, "tries: %d of %u/%lld, not %d", x->tries, x->sub,
		    (long long)x->seq, o->tries);
}

static void
check_send(struct sim *s, const struct core_send *x)
{
	int64_t oldest = s->first_now ? s->first_now : s->first_next;
	struct core_count n;

	core_counts(s->core, &n);
	if (n.unflushed > UNFLUSHED_MAX)
		broke(s, "6: %zu results unflushed", n.unflushed);
	if (oldest > 0 && s->now - oldest >= UNFLUSHED_US)
		broke(s, "6: a result is unflushed for too long");
	if (s->subs[x->sub].ended || !s->subs[x->sub].on)
		broke(s, "2: %u has ended", x->sub);
	if (one(s, x->sub, x->seq, x->rep)->skipped)
		broke(s, "2: %u/%lld was skipped and is sent", x->sub,
		    (long long)x->seq);
	check_order(s, x);
	if (!x->pull)
		check_endpoint(s, x);
	else if (s->subs[x->sub].allowed-- <= 0)
		broke(s, "demand: nobody wanted %u/%lld", x->sub,
		    (long long)x->seq);
	check_spacing(s, x);
	check_rowed(s, x);
}

#endif
