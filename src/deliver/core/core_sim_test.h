/*
 * core_sim_test.h - the world of core_sim_test.c: a log, a store, endpoints, and
 * what the invariants say about them.
 *
 * The model knows what a receiver got and what was committed, and nothing of
 * the core's insides but where a bound on memory is checked. Each message
 * begins with the number of the invariant in ENGINE.md that is broken, or with
 * the name of the promise (lock, rate, breaker ...). For core_sim_test.c only,
 * which brings base/test.h.
 */
#pragma once

#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

#define EVENTS_MAX 4000
#define SUBS       12 /* the last two pull */
#define REPS       3
#define KEYS_MAX   200
#define SEC        ((int64_t)1000 * 1000)
#define LOCK_US    (2 * SEC)
#define ASKED_N    1000 /* attempts that what was requeued had */
#define FAILED_MAX 64   /* more than any breaker wants */
#ifndef SIM_SLOTS
#define SIM_SLOTS 64
#endif

enum { REASON_NO, REASON_SPENT, REASON_CRASH, REASON_FILTER };

struct one {
	bool ok;       /* the receiver said yes */
	bool known_ok; /* and the core heard it */
	bool dead;     /* given up, as the core said */
	bool skipped;  /* by a person */
	bool held;     /* and stops its lane */
	bool offered;  /* pull: to a worker */
	bool judged;   /* its filter wants it */
	int reason;    /* of the dead letter that is stored */
	bool stored_ok, stored_dead;
	bool dropped, stored_drop; /* as the core said; committed */
	int oks, asked;            /* asked: times a person wanted it again */
	int credit;   /* crashes that lost a send or a result of it */
	int tries, n; /* that the core should know of */
	int64_t due;  /* its next one */
	int crashes;  /* the same */
	size_t row;   /* where it is in `rows`, from 1 */
	int64_t locked_until;
};

struct flight {
	struct item *item;
	uint32_t sub;
	uint64_t okey, endpoint;
	int64_t seq;
	int rep, tries, crashes;
	bool probe, free; /* free: failing costs no try */
	int breaker_fails;
	int64_t breaker_us;
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
	bool wrong;     /* its filter fails over some */
	bool hold_lost; /* by a crash: it is not stored that it is held */
	int share;      /* wants one of so many events */
	int keys;       /* of its events */
	int max_tries;
	int64_t replay_from[REPS], replay_until[REPS];
	int64_t replay_every[REPS], replay_next[REPS];
	int excl;         /* the replay that it waits for */
	int64_t excl_low; /* which is settled up to here */
	bool waited;      /* for one, ever */
	int64_t sent[2];  /* the last two, for its rate */
	int64_t call_end[KEYS_MAX + 1];
	int64_t low[REPS][KEYS_MAX + 1]; /* nothing to settle up to here */
	int held[REPS][KEYS_MAX + 1];
	/* newest version that was handed over, and that is stored */
	int64_t version[KEYS_MAX + 1], stored_version[KEYS_MAX + 1];
};

struct sim_ep {
	int fail_pct, hang_pct;
	bool down;
	/* what the model knows of its breaker */
	bool open;
	int fails; /* deliveries, each once: */
	struct spot failed[FAILED_MAX];
	int n_failed;
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

	size_t drops_seen; /* attempts of the core's next set looked through */
	size_t deads_seen; /* the same of its dead letters */
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

	return o->ok || o->dead || o->skipped || o->dropped;
}

/* Records ------------------------------------------------------------------- */

/* A subscription's keys are its records; every third entry comes late. */
static int64_t
rv_of(const struct sim *, uint32_t sub, int64_t seq)
{
	if (sub == 8 || sub == 10)
		return CORE_NO_RV;
	return mix(11, (uint64_t)seq) % 3 == 0 ? seq - 15 : seq;
}

static struct core_rec
rec_of(const struct sim *s, uint32_t sub, int64_t seq)
{
	const struct core_sub *o = &s->subs[sub].o;

	return (struct core_rec){
	    o->alone || o->coalesce ? key_of(s, sub, seq) : 0, 0};
}

static bool
is_newer(const struct sim *s, uint32_t sub, int64_t x, int64_t y)
{
	if (rv_of(s, sub, x) == CORE_NO_RV)
		return x > y;
	return rv_of(s, sub, x) > rv_of(s, sub, y);
}

/* One of the same record, later in the log or of a later version. */
static bool
outdone(struct sim *s, uint32_t sub, int64_t seq, bool at_end)
{
	int64_t first = seq > 40 ? seq - 40 : 1;

	for (int64_t x = first; x <= s->head; x++) {
		if (x == seq || !wants(s, sub, x) ||
		    key_of(s, sub, x) != key_of(s, sub, seq) ||
		    !is_newer(s, sub, x, seq))
			continue;
		if (!at_end ||
		    (settled(s, sub, x, 0) && !one(s, sub, x, 0)->dropped))
			return true;
	}
	return false;
}

/* What the core has dropped, or made a dead letter as it was fed, since this
 * was asked last. */
static void
note_drops(struct sim *s)
{
	const struct core_changes *ch = &s->core->next.v;

	for (; s->deads_seen < ch->n_deads; s->deads_seen++) {
		const struct core_dead *d = &ch->deads[s->deads_seen];

		if (d->reason == REASON_FILTER)
			one(s, d->row.sub, d->row.seq, d->row.rep)->dead = true;
	}

	for (; s->drops_seen < ch->n_attempts; s->drops_seen++) {
		const struct core_attempt *a = &ch->attempts[s->drops_seen];
		struct one *o = one(s, a->sub, a->seq, a->rep);

		if (a->result.verdict != CORE_DROP || o->dropped)
			continue;
		o->dropped = true;
		if (!s->subs[a->sub].o.coalesce || a->rep > 0 || o->asked > 0 ||
		    !outdone(s, a->sub, a->seq, false))
			broke(s, "coalesce: %u/%lld has no newer one", a->sub,
			    (long long)a->seq);
	}
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
	const struct core_row *last;

	if (o->row == 0)
		return;
	last = &s->rows[s->n_rows - 1];
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
	struct one *o = one(s, d->row.sub, d->row.seq, d->row.rep);

	o->stored_dead = true;
	o->reason = d->reason;
	if (d->reason == REASON_SPENT &&
	    d->row.tries < s->subs[d->row.sub].max_tries)
		broke(s, "tries: %u/%lld is spent after %d", d->row.sub,
		    (long long)d->row.seq, d->row.tries);
}

/* May run twice with the same changes. */
static void
commit(struct sim *s)
{
	const struct core_changes *ch = s->flushing;

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *a = &ch->attempts[i];

		if (a->result.verdict == CORE_OK)
			one(s, a->sub, a->seq, a->rep)->stored_ok = true;
		if (a->result.verdict == CORE_DROP)
			one(s, a->sub, a->seq, a->rep)->stored_drop = true;
		if (a->result.rec.a > 0 &&
		    a->result.rv >
			s->subs[a->sub].stored_version[a->result.rec.a])
			s->subs[a->sub].stored_version[a->result.rec.a] =
			    a->result.rv;
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
			    !o->stored_drop && o->row == 0 &&
			    wants(s, sub, seq) &&
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
	if (n.items > CORE_ITEMS_MAX + SUBS * 2 * SUB_ITEMS_LEAST + asked + 1)
		broke(s, "5: %zu items", n.items);
	if (n.in_flight > SIM_SLOTS)
		broke(s, "slots: %zu are taken", n.in_flight);
	for (uint32_t i = 1; i <= SUBS; i++) {
		const struct sub *x = sub_find(s->core, i);

		/* What waited for an exclusive replay comes on top. */
		if (x &&
		    x->items.n > (s->subs[i].waited ? 2U : 1U) * SUB_ITEMS_MAX +
				     asked + 1)
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
