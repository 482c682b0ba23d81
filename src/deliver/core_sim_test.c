/*
 * core_sim_test.c - a seeded simulator of the whole engine around the core.
 *
 * The world has a log, a store, endpoints that misbehave, and a clock of its
 * own. Each step does one random thing: append, dispatch, send, answer, read a
 * page, begin or commit a flush, change a subscription, or crash: also between
 * a commit and its answer, and with sends under way. The invariants of
 * ENGINE.md are checked at each send and each commit, and at the end, when
 * everything heals, all must have arrived.
 *
 * The core is compiled into this file with its planted bugs (BUG in
 * core_priv.h): for each of them some check must fail, or it checks nothing.
 *
 * SIM_STEPS and SIM_SEED may be given; `make soak` runs a million steps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static int planted; /* which bug is live; 0: none */
#define BUG(n) (planted == (n))

/* The core itself, with its bugs. */
#include "deliver/core.c"       /* NOLINT(bugprone-suspicious-include) */
#include "deliver/core_flush.c" /* NOLINT(bugprone-suspicious-include) */
#include "deliver/core_load.c"  /* NOLINT(bugprone-suspicious-include) */
#include "deliver/core_read.c"  /* NOLINT(bugprone-suspicious-include) */
#include "deliver/core_result.c" /* NOLINT(bugprone-suspicious-include) */
#include "deliver/core_send.c"  /* NOLINT(bugprone-suspicious-include) */

#define EVENTS_MAX 6000
#define SUBS       7
#define REPS       3
#define SEC        ((int64_t)1000 * 1000)
#define SLOTS      64

struct one {
	bool ok;      /* the receiver said yes */
	bool dead;    /* given up, as the core said */
	bool skipped; /* by a person */
	bool stored_ok, stored_dead;
	int oks, asked; /* asked: times a person wanted it again */
	int credit;     /* crashes that lost a send or a result of it */
};

struct flight {
	struct item *item;
	uint32_t sub;
	int64_t seq;
	int rep, tries;
	bool probe;
	int64_t at, ends;
};

struct sim_sub {
	struct core_sub o;
	int64_t from;
	bool on, ended;
	int share; /* wants one of so many events */
	int keys;  /* of its events */
	int max_tries;
	int64_t replay_from[REPS], replay_until[REPS];
};

struct sim_ep {
	int fail_pct, hang_pct;
	bool down;
};

struct sim {
	uint64_t rng;
	int64_t now, started_us;
	int64_t head; /* newest seq of the log */
	int64_t dispatched;
	int64_t fed_at[EVENTS_MAX + 1];
	struct sim_sub subs[SUBS + 1];
	struct sim_ep eps[SUBS + 1];
	struct one (*all)[EVENTS_MAX + 1][REPS]; /* [sub][seq][rep] */
	struct flight flights[SLOTS + 1];
	int n_flights;
	struct core *core;
	const struct core_changes *flushing;
	bool committed;
	struct core_read page;
	bool reading;

	/* the store */
	int64_t cursor;
	struct core_row *rows;
	size_t n_rows, cap_rows;
	struct core_reader readers[8192];
	size_t n_readers;
	struct core_endpoint ep_rows[SUBS + 1];

	int64_t crashes, sends;
	const char *broken;
	char what[200];
	bool healing;
	bool careful, asking;
};

static uint64_t
roll(struct sim *s)
{
	uint64_t x = s->rng += 0x9e3779b97f4a7c15U;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

static bool
chance(struct sim *s, int percent)
{
	return roll(s) % 100 < (uint64_t)percent;
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

	if (x->o.order == CORE_ORDER_NONE)
		return 0;
	return 1 + mix(7, (uint64_t)seq) % (uint64_t)x->keys;
}

/* One key in seven of an ordered subscription fails for good. */
static bool
cursed(const struct sim *s, uint32_t sub, int64_t seq)
{
	return !s->healing && s->subs[sub].o.order == CORE_ORDER_KEY &&
	       key_of(s, sub, seq) == 3;
}

static struct one *
one(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	return &s->all[sub][seq][rep];
}

/* The store ----------------------------------------------------------------- */

static size_t
row_at(const struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	for (size_t i = 0; i < s->n_rows; i++)
		if (s->rows[i].sub == sub && s->rows[i].seq == seq &&
		    s->rows[i].rep == rep)
			return i;
	return SIZE_MAX;
}

static void
row_drop(struct sim *s, size_t i)
{
	s->rows[i] = s->rows[--s->n_rows];
}

static void
row_put(struct sim *s, const struct core_row *r)
{
	size_t i = row_at(s, r->sub, r->seq, r->rep);

	if (i == SIZE_MAX) {
		if (s->n_rows == s->cap_rows) {
			s->cap_rows = s->cap_rows ? 2 * s->cap_rows : 256;
			s->rows = reallocarray(
			    s->rows, s->cap_rows, sizeof(*s->rows));
			assert_non_null(s->rows);
		}
		i = s->n_rows++;
	}
	s->rows[i] = *r;
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
commit(struct sim *s)
{
	const struct core_changes *ch = s->flushing;

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *a = &ch->attempts[i];

		if (a->verdict == CORE_OK)
			one(s, a->sub, a->seq, a->rep)->stored_ok = true;
	}
	for (size_t i = 0; i < ch->n_deads; i++)
		one(s, ch->deads[i].sub, ch->deads[i].seq, ch->deads[i].rep)
		    ->stored_dead = true;
	for (size_t i = 0; i < ch->n_dels; i++) {
		size_t at = row_at(
		    s, ch->dels[i].sub, ch->dels[i].seq, ch->dels[i].rep);

		if (at != SIZE_MAX)
			row_drop(s, at);
	}
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
}

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

/* Invariants 2, 4 and 5, over the store as it is after a commit. */
static void
check_store(struct sim *s)
{
	int per_sub[SUBS + 1] = {0};

	for (uint32_t sub = 1; sub <= SUBS; sub++) {
		if (!s->subs[sub].on || s->subs[sub].ended)
			continue;
		for (int64_t seq = 1; seq <= s->cursor; seq++) {
			const struct one *o = one(s, sub, seq, 0);

			if (wants(s, sub, seq) && !o->stored_ok &&
			    !o->stored_dead && !o->skipped &&
			    row_at(s, sub, seq, 0) == SIZE_MAX &&
			    !reader_covers(s, sub, seq, key_of(s, sub, seq)))
				broke(s, "2: %u/%lld is covered by nothing",
				    sub, (long long)seq);
		}
	}
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct core_row *r = &s->rows[i];
		int lane = 0;

		if (r->rep > 0)
			continue;
		per_sub[r->sub]++;
		if (r->okey == 0)
			continue;
		for (size_t j = 0; j < s->n_rows; j++)
			lane += s->rows[j].sub == r->sub &&
				s->rows[j].rep == 0 &&
				s->rows[j].okey == r->okey;
		/* What was requeued by hand comes on top. */
		if (lane > LANE_ROWS_MAX + 8)
			broke(s, "5: %d rows in a lane", lane);
	}
	for (int i = 1; i <= SUBS; i++)
		if (per_sub[i] > SUB_ROWS_MAX + SLOTS + 8)
			broke(s, "5: %d rows of a subscription", per_sub[i]);
	for (int64_t seq = s->cursor + 1; seq <= s->dispatched; seq++)
		if (s->fed_at[seq] < s->now - DELIVER_WINDOW_US - 20 * SEC &&
		    s->fed_at[seq] > s->started_us)
			broke(s, "4: the cursor waits at %lld",
			    (long long)s->cursor);
}

/* Sends --------------------------------------------------------------------- */

static bool
settled(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	const struct one *o = one(s, sub, seq, rep);

	return o->ok || o->dead || o->skipped;
}

/* Invariant 3. */
static void
check_order(struct sim *s, const struct core_send *x)
{
	int64_t from = x->rep ? s->subs[x->sub].replay_from[x->rep] : 0;

	for (int i = 0; i < s->n_flights; i++) {
		const struct flight *f = &s->flights[i];

		if (f->sub == x->sub && f->rep == x->rep &&
		    (f->seq == x->seq ||
			(x->okey && key_of(s, f->sub, f->seq) == x->okey)))
			broke(s, "3: two in flight in a lane");
	}
	if (s->subs[x->sub].o.order != CORE_ORDER_KEY)
		return;
	for (int64_t seq = from + 1; seq < x->seq; seq++)
		if (wants(s, x->sub, seq) &&
		    key_of(s, x->sub, seq) == x->okey &&
		    !settled(s, x->sub, seq, x->rep))
			broke(s, "3: %u/%lld (rep %d) before %lld", x->sub,
			    (long long)x->seq, x->rep, (long long)seq);
}

static void
take_sends(struct sim *s, int most)
{
	struct core_send x;
	struct core_count n;

	while (most-- > 0 && core_next_send(s->core, s->now, &x)) {
		struct flight *f = &s->flights[s->n_flights];

		core_counts(s->core, &n);
		if (n.unflushed > UNFLUSHED_MAX)
			broke(s, "6: %zu results unflushed", n.unflushed);
		check_order(s, &x);
		s->sends++;
		s->n_flights++;
		if (s->n_flights > SLOTS) {
			broke(s, "more in flight than slots");
			return;
		}
		*f = (struct flight){
		    .item = x.item,
		    .sub = x.sub,
		    .seq = x.seq,
		    .rep = x.rep,
		    .tries = x.tries,
		    .probe = x.probe,
		    .at = s->now,
		    .ends =
			s->now + (int64_t)(roll(s) % 50000) +
			(chance(s, s->eps[s->subs[x.sub].o.endpoint].hang_pct)
				? 15 * SEC
				: 0),
		};
		if (s->subs[x.sub].o.lock_us > 0 &&
		    row_at(s, x.sub, x.seq, x.rep) == SIZE_MAX)
			broke(s, "a send without its lock");
	}
}

/* The receiver said yes; once more than wanted is a repeat. */
static void
arrived(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	struct one *o = one(s, sub, seq, rep);

	o->ok = true;
	if (++o->oks > 1 + o->asked + o->credit)
		broke(s, "6: %u/%lld/%d again for no reason", sub,
		    (long long)seq, rep);
}

static void
answer(struct sim *s, int i)
{
	struct flight f = s->flights[i];
	struct sim_sub *x = &s->subs[f.sub];
	struct sim_ep *ep = &s->eps[x->o.endpoint];
	struct one *o = one(s, f.sub, f.seq, f.rep);
	struct core_result r = {.at = f.at, .took_us = s->now - f.at};
	bool bad =
	    ep->down || cursed(s, f.sub, f.seq) || chance(s, ep->fail_pct);

	s->flights[i] = s->flights[--s->n_flights];
	if (!bad) {
		r.verdict = CORE_OK;
		arrived(s, f.sub, f.seq, f.rep);
	} else if (chance(s, 5) && !ep->down) {
		r.verdict = CORE_DEAD;
	} else if (f.tries + 1 >= x->max_tries) {
		r.verdict = CORE_SPENT;
		r.sick = true;
		r.delay_us = 3 * SEC;
	} else {
		r.verdict = chance(s, 3) ? CORE_HOLD : CORE_LATER;
		r.sick = r.verdict == CORE_LATER;
		r.delay_us = (int64_t)(roll(s) % 4) * SEC;
		if (chance(s, 2))
			r.endpoint_wait_us = SEC;
	}
	if (r.verdict == CORE_DEAD || (r.verdict == CORE_SPENT && !f.probe))
		o->dead = true;
	core_result(s->core, f.item, &r, s->now);
}

/* Around it ------------------------------------------------------------------ */

static void
no_ev(void *ev)
{
	free(ev);
}

static void
dispatch(struct sim *s, int most)
{
	int64_t upto = s->dispatched + most;

	if (upto > s->head)
		upto = s->head;
	for (int64_t seq = s->dispatched + 1; seq <= upto; seq++) {
		s->fed_at[seq] = s->now;
		for (uint32_t sub = 1; sub <= SUBS; sub++) {
			struct core_entry en = {.seq = seq,
			    .sub = sub,
			    .okey = key_of(s, sub, seq)};

			if (!s->subs[sub].on || s->subs[sub].ended ||
			    !wants(s, sub, seq))
				continue;
			en.skey = s->subs[sub].o.spacing_us ? en.okey : 0;
			en.ev = malloc(8);
			core_feed(s->core, &en, s->now);
		}
	}
	s->dispatched = upto;
	core_upto(s->core, upto);
}

static void
read_page(struct sim *s)
{
	const struct core_read *p = &s->page;
	int64_t seq = p->after, upto = p->upto;
	int n = 0;

	if (upto > p->after + 700)
		upto = p->after + 700; /* a scan has its bound too */
	while (++seq <= upto) {
		struct core_entry en = {
		    .seq = seq, .sub = p->sub, .okey = key_of(s, p->sub, seq)};

		if (!wants(s, p->sub, seq) || (p->okey && p->okey != en.okey))
			continue;
		en.skey = s->subs[p->sub].o.spacing_us ? en.okey : 0;
		en.ev = malloc(8);
		if (n++ >= p->most ||
		    !core_read_feed(s->core, p->reader, &en, s->now)) {
			free(en.ev);
			break;
		}
	}
	core_read_done(s->core, p->reader, seq - 1, s->now);
	s->reading = false;
}

static void
end_flush(struct sim *s)
{
	core_flushed(s->core, s->now);
	s->flushing = NULL;
	s->committed = false;
	if (!s->asking && (chance(s, 10) || s->healing))
		check_store(s);
}

static void
start_core(struct sim *s)
{
	struct core_opts o = {
	    .slots = SLOTS, .breaker_us = 20 * SEC, .free_ev = no_ev};

	s->core = core_new(&o);
	for (uint32_t i = 1; i <= SUBS; i++)
		if (s->subs[i].on && !s->subs[i].ended)
			core_sub(s->core, &s->subs[i].o, s->now);
	core_load_cursor(s->core, s->cursor);
	for (int i = 1; i <= SUBS; i++)
		if (s->ep_rows[i].endpoint)
			core_load_endpoint(s->core, &s->ep_rows[i]);
	for (uint32_t sub = 1; sub <= SUBS; sub++)
		for (int rep = 0; rep < REPS; rep++)
			for (int64_t seq = 1; seq <= s->head; seq++) {
				struct one *x = one(s, sub, seq, rep);

				/* What nobody stored, nobody knows. */
				x->dead = x->stored_dead;
				if (x->stored_ok || x->stored_dead)
					core_load_settled(
					    s->core, sub, seq, rep);
			}
	for (size_t i = 0; i < s->n_rows; i++) {
		one(s, s->rows[i].sub, s->rows[i].seq, s->rows[i].rep)->dead =
		    s->rows[i].state == ROW_HELD;
		core_load_row(s->core, &s->rows[i], s->now);
	}
	for (size_t i = 0; i < s->n_readers; i++)
		core_load_reader(s->core, &s->readers[i], s->now);
	s->dispatched = s->cursor;
	s->started_us = s->now;
}

static void
crash(struct sim *s)
{
	int credits = s->n_flights;

	if (s->n_flights > SLOTS)
		broke(s, "6: %d in flight", s->n_flights);
	/* What is under way may arrive all the same. */
	while (s->n_flights > 0) {
		struct flight f = s->flights[--s->n_flights];

		one(s, f.sub, f.seq, f.rep)->credit++;
		if (!chance(s, 50) || s->eps[s->subs[f.sub].o.endpoint].down ||
		    cursed(s, f.sub, f.seq))
			continue;
		arrived(s, f.sub, f.seq, f.rep);
	}
	if (s->flushing && !s->committed && chance(s, 50))
		commit(s); /* and the answer was lost */
	for (uint32_t sub = 1; sub <= SUBS; sub++)
		for (int64_t seq = 1; seq <= s->head; seq++)
			for (int rep = 0; rep < REPS; rep++) {
				struct one *o = one(s, sub, seq, rep);

				if (!o->ok || o->stored_ok)
					continue;
				o->credit++;
				credits++;
			}
	/* One that arrived twice already is counted again. */
	if (credits > SLOTS + UNFLUSHED_MAX)
		broke(s, "6: a crash may repeat %d", credits);
	core_free(s->core);
	s->flushing = NULL;
	s->committed = s->reading = false;
	s->crashes++;
	start_core(s);
}

/* A dead letter goes back; who asked for it waits for the flush. */
static void
requeue(struct sim *s, uint32_t sub)
{
	struct core_row row = {.sub = sub, .n = 100};
	struct one *o = NULL;

	for (int i = 0; i < 50 && (!o || !o->stored_dead || !o->dead); i++) {
		row.seq = 1 + (int64_t)(roll(s) % (uint64_t)s->head);
		o = one(s, sub, row.seq, 0);
	}
	if (!o->stored_dead || !o->dead || item_find(s->core, sub, row.seq, 0))
		return;
	row.okey = key_of(s, sub, row.seq);
	o->dead = o->stored_dead = false;
	o->asked++;
	core_requeue(s->core, &row, s->now);
	s->asking = true;
	if (s->flushing) {
		if (!s->committed)
			commit(s);
		end_flush(s);
	}
	s->asking = false;
	s->flushing = core_flush(s->core, s->now, true);
	if (s->flushing) {
		commit(s);
		end_flush(s);
	}
}

static void
by_hand(struct sim *s)
{
	uint32_t sub = 1 + (uint32_t)(roll(s) % SUBS);
	struct sim_sub *x = &s->subs[sub];
	int64_t seq = s->head ? 1 + (int64_t)(roll(s) % (uint64_t)s->head) : 0;

	if (!x->on || x->ended || seq == 0)
		return;
	switch (roll(s) % 4) {
	case 0:
		x->o.enabled = !x->o.enabled;
		core_sub(s->core, &x->o, s->now);
		break;
	case 1:
		requeue(s, sub);
		break;
	case 2: {
		int rep = 1 + (int)(roll(s) % (REPS - 1));
		struct core_reader rd = {.sub = sub, .rep = rep};

		if (x->replay_until[rep] || s->dispatched < 10)
			return;
		rd.pos = (int64_t)(roll(s) % (uint64_t)s->dispatched);
		rd.until = s->dispatched;
		if (rd.until - rd.pos > 400)
			rd.until = rd.pos + 400;
		x->replay_from[rep] = rd.pos;
		x->replay_until[rep] = rd.until;
		core_replay(s->core, &rd, 0, s->now);
		/* It is answered when it is stored. */
		reader_put(s, &rd);
		break;
	}
	case 3:
		if (x->o.block && chance(s, 50))
			for (size_t i = 0; i < s->n_rows; i++)
				if (s->rows[i].state == ROW_HELD &&
				    s->rows[i].sub == sub)
					core_skip(s->core, sub, s->rows[i].seq,
					    s->rows[i].rep, s->now);
		break;
	default:
		break;
	}
}

static void
weather(struct sim *s)
{
	struct sim_ep *ep = &s->eps[1 + roll(s) % SUBS];

	ep->down = chance(s, 30);
	ep->fail_pct = (int)(roll(s) % 3) * 20;
	ep->hang_pct = (int)(roll(s) % 2) * 3;
}

static void
step(struct sim *s)
{
	uint64_t x = roll(s) % 1000;

	if (x < 200 && s->head < EVENTS_MAX) {
		int64_t n = chance(s, 5) ? 400 : 3;

		s->head = s->head + n > EVENTS_MAX ? EVENTS_MAX : s->head + n;
	} else if (x < 400) {
		dispatch(s, chance(s, 20) ? 500 : 20);
	} else if (x < 600) {
		take_sends(s, 1 + (int)(roll(s) % 16));
	} else if (x < 760) {
		for (int i = 0; i < s->n_flights;)
			if (s->flights[i].ends <= s->now)
				answer(s, i);
			else
				i++;
	} else if (x < 840) {
		if (s->reading)
			read_page(s);
		else
			s->reading = core_next_read(s->core, s->now, &s->page);
	} else if (x < 960) {
		s->now += (int64_t)(roll(s) % 100000);
		core_tick(s->core, s->now);
	} else if (x < 988) {
		if (s->flushing && !s->committed) {
			commit(s);
			s->committed = true;
		} else if (s->flushing) {
			end_flush(s);
		} else {
			s->flushing = core_flush(s->core, s->now, false);
		}
	} else if (x < 993) {
		weather(s);
	} else if (x < 999) {
		by_hand(s);
	} else if (chance(s, 25)) {
		crash(s);
	}
}

/* Everything heals: all of it must arrive, and nothing stay behind. */
static void
heal(struct sim *s)
{
	struct core_count n;
	int64_t turns = 0;

	s->healing = true;
	for (int i = 1; i <= SUBS; i++) {
		s->eps[i] = (struct sim_ep){0};
		s->subs[i].o.enabled = true;
		s->subs[i].o.block = false;
		if (s->subs[i].on && !s->subs[i].ended)
			core_sub(s->core, &s->subs[i].o, s->now);
	}
	do {
		if (s->flushing) {
			if (!s->committed)
				commit(s);
			end_flush(s);
		}
		dispatch(s, 500);
		take_sends(s, SLOTS);
		for (int i = 0; i < s->n_flights;)
			if (s->flights[i].ends <= s->now)
				answer(s, i);
			else
				i++;
		if (s->reading)
			read_page(s);
		s->reading = core_next_read(s->core, s->now, &s->page);
		s->now += 30000;
		core_tick(s->core, s->now);
		for (size_t i = 0; i < s->n_rows; i++)
			if (s->rows[i].state == ROW_HELD)
				core_skip(s->core, s->rows[i].sub,
				    s->rows[i].seq, s->rows[i].rep, s->now);
		s->flushing = core_flush(s->core, s->now, turns % 64 == 0);
		core_counts(s->core, &n);
	} while (!s->broken && ++turns < 60000 &&
		 (n.items > 0 || n.readers > 0 || n.unflushed > 0 ||
		     s->cursor < s->head || s->n_flights > 0));
	if (s->broken)
		return;
	if (turns >= 60000)
		broke(s,
		    "never done: %zu items, %zu readers, cursor %lld of "
		    "%lld",
		    n.items, n.readers, (long long)s->cursor,
		    (long long)s->head);
	if (s->n_rows > 0 || s->n_readers > 0)
		broke(s, "5: %zu rows and %zu readers are left", s->n_rows,
		    s->n_readers);
	for (uint32_t sub = 1; sub <= SUBS; sub++)
		for (int rep = 0; rep < REPS; rep++) {
			int64_t seq = rep ? s->subs[sub].replay_from[rep] : 0;
			int64_t upto =
			    rep ? s->subs[sub].replay_until[rep] : s->head;

			while (++seq <= upto)
				if (wants(s, sub, seq) &&
				    !settled(s, sub, seq, rep))
					broke(s, "2: %u/%lld/%d was lost", sub,
					    (long long)seq, rep);
		}
}

static void
make_subs(struct sim *s)
{
	for (uint32_t i = 1; i <= SUBS; i++) {
		struct sim_sub *x = &s->subs[i];

		x->on = true;
		x->share = 1 + (int)(roll(s) % 3);
		x->keys = i == 2 ? 200 : 5;
		x->max_tries = 3 + (int)(roll(s) % 4);
		x->o = (struct core_sub){
		    .id = i,
		    .endpoint = i == 7 ? 1 : i,
		    .order = i <= 4 ? CORE_ORDER_KEY : CORE_ORDER_NONE,
		    .concurrency = 1 + (int)(roll(s) % 20),
		    .lock_us = i == 4 ? 180 * SEC : 0,
		    .spacing_us = i == 4 ? 2 * SEC : 0,
		    .rate_us = i == 6 ? 20000 : 0,
		    .breaker = i != 4,
		    .block = i == 3,
		    .enabled = true,
		};
		if (i == 4)
			x->share = 40; /* 2 s apart: few of them */
	}
}

/* Runs until something breaks; NULL: nothing did. `text` is static. */
static const char *
simulate(uint64_t seed, int64_t steps, struct sim *ret)
{
	static struct sim s;
	static char text[256];

	s = (struct sim){.rng = seed, .now = 1000 * SEC};
	s.all = calloc(SUBS + 1, sizeof(*s.all));
	assert_non_null(s.all);
	make_subs(&s);
	start_core(&s);
	for (int64_t i = 0; i < steps && !s.broken; i++)
		step(&s);
	if (!s.broken)
		heal(&s);
	(void)snprintf(text, sizeof(text), "seed %llu: %s",
	    (unsigned long long)seed, s.broken ? s.broken : "");
	core_free(s.core);
	free(s.all);
	free(s.rows);
	*ret = s;
	return s.broken ? text : NULL;
}

static int64_t
env_number(const char *name, int64_t absent)
{
	const char *v = getenv(name);

	return v ? strtoll(v, NULL, 10) : absent;
}

#define RUN_STEPS 20000

static void
invariants_hold(void **state)
{
	static struct sim s;
	int64_t left = env_number("SIM_STEPS", 3 * (int64_t)RUN_STEPS);
	uint64_t seed = (uint64_t)env_number("SIM_SEED", 1);
	int64_t sends = 0, crashes = 0;

	(void)state;
	planted = 0;
	for (; left > 0; left -= RUN_STEPS, seed++) {
		const char *broken = simulate(seed, RUN_STEPS, &s);

		if (broken)
			fail_msg("%s", broken);
		sends += s.sends;
		crashes += s.crashes;
	}
	print_message(
	    "%lld sends, %lld crashes\n", (long long)sends, (long long)crashes);
	assert_true(sends > 1000 && crashes > 1);
}

static void
planted_bugs_are_found(void **state)
{
	static struct sim s;

	(void)state;
	if (getenv("SIM_STEPS"))
		return;
	for (planted = 1; planted <= CORE_BUGS; planted++) {
		const char *broken = NULL;

		for (uint64_t seed = 1; !broken && seed <= 12; seed++)
			broken = simulate(seed, RUN_STEPS, &s);
		if (!broken)
			fail_msg("bug %d was not found", planted);
		print_message("bug %d: %s\n", planted, broken);
	}
	planted = 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(invariants_hold),
	    cmocka_unit_test(planted_bugs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
