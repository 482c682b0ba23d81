/*
 * core_sim_test.c - a seeded simulator of the whole engine around the core.
 *
 * The world has a log, a store, endpoints that misbehave, and a clock of its
 * own. Each step does one random thing: append, dispatch (also half an entry),
 * send, answer, ask for or read a page, begin, commit, commit again or end a
 * flush, make, change, hold, skip or end a subscription, requeue, replay, or
 * crash, while filters fail over some entries and are mended one day:
 * also between a commit and its answer, and with sends under way. core_sim_test.h
 * checks the invariants of ENGINE.md at each send and commit, and at the end,
 * when everything heals, all must have arrived.
 *
 * SIM_STEPS and SIM_SEED may be given; `make soak` runs a million steps.
 * With SIM_FIND=CHECK the core has a planted bug (tools/planted): the program
 * succeeds when that check finds it, or the check checks nothing.
 * core_sim_small_test.c is the same with small bounds.
 */
#include "base/test.h"
#include "deliver/core/core_sim_pull_test.h"

/* One run --------------------------------------------------------------------- */

static void
weather(struct sim *s)
{
	struct sim_ep *ep = &s->eps[1 + below(s, SUBS)];

	ep->down = chance(s, 30);
	ep->fail_pct = below(s, 3) * 20;
	ep->hang_pct = below(s, 2) * 3;
}

static void
flush_step(struct sim *s)
{
	if (!s->flushing)
		begin_flush(s, false);
	else if (!s->committed && chance(s, 90))
		commit(s); /* else it failed, and is tried again */
	else if (s->committed && chance(s, 20))
		commit(s);
	else if (s->committed)
		end_flush(s);
}

static void
step(struct sim *s)
{
	uint64_t x = roll(s) % 1000;

	if (x < 200 && s->head < EVENTS_MAX) {
		int64_t n = chance(s, 1) ? 100 : 1;

		s->head = s->head + n > EVENTS_MAX ? EVENTS_MAX : s->head + n;
	} else if (x < 400) {
		dispatch(s, chance(s, 20) ? 400 : 20);
	} else if (x < 600) {
		take_sends(s, 1 + below(s, 16));
	} else if (x < 760) {
		take_answers(s);
	} else if (x < 790) {
		pull_step(s);
	} else if (x < 850) {
		if (s->n_pages > 0 && chance(s, 60))
			read_page(s);
		else
			ask_page(s);
	} else if (x < 940) {
		s->now += below(s, 100000);
		core_tick(s->core, s->now);
		take_expired(s);
	} else if (x < 988) {
		flush_step(s);
	} else if (x < 992) {
		weather(s);
	} else if (x < 999) {
		by_hand(s);
	} else if (chance(s, 50)) {
		crash(s);
	}
}

static void
check_one(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	if (!wants(s, sub, seq))
		return;
	if (!settled(s, sub, seq, rep))
		broke(s, "2: %u/%lld/%d was lost", sub, (long long)seq, rep);
	if (one(s, sub, seq, rep)->dropped && !outdone(s, sub, seq, true))
		broke(s, "coalesce: of %u/%lld nothing newer went", sub,
		    (long long)seq);
}

static void
check_all_arrived(struct sim *s)
{
	for (uint32_t sub = 1; sub <= SUBS; sub++)
		for (int rep = 0; rep < REPS; rep++) {
			const struct sim_sub *x = &s->subs[sub];
			int64_t seq = rep ? x->replay_from[rep] : 0;
			int64_t upto = rep ? x->replay_until[rep] : s->head;

			while (x->on && !x->ended && ++seq <= upto)
				check_one(s, sub, seq, rep);
		}
	if (s->n_rows > 0 || s->n_readers > 0)
		broke(s, "5: %zu rows and %zu readers are left", s->n_rows,
		    s->n_readers);
}

static void
well_again(struct sim *s)
{
	s->healing = true;
	for (uint32_t i = 1; i <= SUBS; i++) {
		s->eps[i].down = false;
		s->eps[i].fail_pct = s->eps[i].hang_pct = 0;
		s->subs[i].o.enabled = true;
		s->subs[i].o.held = false;
		s->subs[i].o.block = false;
		if (s->subs[i].on && !s->subs[i].ended)
			core_sub(s->core, &s->subs[i].o, s->now);
	}
}

/* Everything heals: all of it must arrive, and nothing stay behind. */
static void
heal(struct sim *s)
{
	struct core_count n;
	int64_t turns = 0;

	well_again(s);
	do {
		if (s->flushing) {
			if (!s->committed)
				commit(s);
			end_flush(s);
		}
		dispatch(s, 400);
		take_sends(s, SIM_SLOTS);
		take_answers(s);
		pull_heal(s);
		while (s->n_pages > 0)
			read_page(s);
		ask_page(s);
		s->now += 30000;
		core_tick(s->core, s->now);
		for (uint32_t i = 1; i <= SUBS; i++)
			skip_held(s, i);
		begin_flush(s, turns % 64 == 0);
		core_counts(s->core, &n);
	} while (!s->broken && ++turns < 60000 &&
		 (n.items > 0 || n.readers > 0 || n.unflushed > 0 ||
		     s->flushing || s->cursor < s->head || s->n_flights > 0));
	if (turns >= 60000)
		broke(s, "2: never done: %zu items, %zu readers, %lld of %lld",
		    n.items, n.readers, (long long)s->cursor,
		    (long long)s->head);
	if (!s->broken)
		check_all_arrived(s);
}

static void
make_subs(struct sim *s)
{
	for (uint32_t i = 1; i <= SUBS; i++) {
		struct sim_sub *x = &s->subs[i];
		bool key = i <= 4 || i == 9 || i == SUBS - 1;
		bool pull = i > SUBS - 2;

		x->on = i < 9 || pull;
		x->share = i == 4 ? 40 : 1 + below(s, 3);
		x->keys = i == 2 ? KEYS_MAX : i == 6 || i == 7 ? 0 : 5;
		x->max_tries = 3 + below(s, 4);
		x->wrong = i % 2 == 1 || pull;
		x->ordered_from = key ? 0 : INT64_MAX;
		x->o = (struct core_sub){
		    .id = i,
		    .endpoint = i == 7 ? 1 : i,
		    .order = key ? CORE_ORDER_KEY : CORE_ORDER_NONE,
		    .concurrency = 1 + below(s, 20),
		    .lock_us = i == 4 || pull ? LOCK_US : 0,
		    .spacing_us = i == 4 ? 2 * SEC : 0,
		    .rate_us = i == 6 ? 20000 : 0,
		    .floor = i == 5 || i >= 7 ? 3 : 1,
		    .breaker_fails = i == 4 || pull ? 0 : 1 + below(s, 6),
		    .breaker_first = i == 2 || i == 7,
		    .breaker_us = (5 + below(s, 20)) * SEC,
		    .pull = pull,
		    .block = i == 3,
		    .enabled = true,
		    .alone = i == 5 || i == 9,
		    .coalesce = i >= 8,
		};
	}
}

/* Runs until something breaks; NULL: nothing did. `text` is static. */
static const char *
simulate(uint64_t seed, int64_t steps, struct sim *s)
{
	static char text[256];

	*s = (struct sim){.rng = seed, .now = 1000 * SEC};
	s->all = calloc(SUBS + 1, sizeof(*s->all));
	assert_non_null(s->all);
	make_subs(s);
	start_core(s);
	for (int64_t i = 0; i < steps && !s->broken; i++)
		step(s);
	if (!s->broken)
		heal(s);
	(void)snprintf(text, sizeof(text), "seed %llu: %s",
	    (unsigned long long)seed, s->broken ? s->broken : "");
	core_free(s->core);
	free(s->all);
	free(s->rows);
	return s->broken ? text : NULL;
}

static int64_t
env_number(const char *name, int64_t absent)
{
	const char *v = getenv(name);

	return v ? strtoll(v, NULL, 10) : absent;
}

#define RUN_STEPS   20000
#define PLANT_STEPS 12000

static void
invariants_hold(void **)
{
	static struct sim s;
	int64_t left = env_number("SIM_STEPS", 2 * (int64_t)RUN_STEPS);
	uint64_t seed = (uint64_t)env_number("SIM_SEED", 1);
	int64_t sends = 0, crashes = 0, acks = 0;

	for (; left > 0; left -= RUN_STEPS, seed++) {
		const char *broken = simulate(seed, RUN_STEPS, &s);

		if (broken)
			fail_msg("%s", broken);
		sends += s.sends;
		crashes += s.crashes;
		acks += s.acks;
	}
	print_message("%lld sends, %lld acks, %lld crashes\n", (long long)sends,
	    (long long)acks, (long long)crashes);
	assert_true(sends > 1000 && crashes > 1 && acks > 100);
}

/* Another check may be the first to see it, now and then. */
static int
bug_found(const char *check)
{
	static struct sim s;
	uint64_t first = (uint64_t)env_number("SIM_SEED", 1);

	for (uint64_t seed = first; seed < first + 40; seed++) {
		const char *broken = simulate(seed, PLANT_STEPS, &s);

		if (broken && strncmp(s.what, check, strlen(check)) == 0) {
			print_message("%s\n", broken);
			return 0;
		}
	}
	print_message("%s found nothing\n", check);
	return 1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(invariants_hold),
	};
	const char *check = getenv("SIM_FIND");

	return check ? bug_found(check)
		     : cmocka_run_group_tests(tests, NULL, NULL);
}
