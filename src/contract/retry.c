#include "contract/retry.h"

#include "contract/member.h"

int
retry_delays_read(const struct json *list, const char *at,
    struct retry_schedule *s, struct err *e)
{
	TRY(member_want(list, JSON_ARRAY, at, e));
	if (list->n > RETRY_DELAYS_MAX)
		return json_wrong(
		    e, at, "must hold at most %d", RETRY_DELAYS_MAX);
	s->kind = RETRY_LIST;
	s->retries = 0;
	s->most_ms = 0;
	for (const struct json *j = list->child; j; j = j->next) {
		int64_t *ms = &s->delays_ms[s->retries++];

		TRY(member_int(j, at, 0, RETRY_DELAY_MAX_MS, ms, e));
		s->most_ms = *ms > s->most_ms ? *ms : s->most_ms;
	}
	return OK;
}

/* base × 2^n, clamped before it can overflow. */
static int64_t
doubled(const struct retry_schedule *s, unsigned n)
{
	int64_t ms = s->base_ms;

	for (unsigned i = 0; i < n; i++) {
		if (ms > s->most_ms / 2)
			return s->most_ms;
		ms *= 2;
	}
	return ms < s->most_ms ? ms : s->most_ms;
}

/* One of 0..n, each as likely, as far as 32 bits can tell. */
static int64_t
throw_dice(uint32_t dice, int64_t n)
{
	return (int64_t)((unsigned __int128)dice * (uint64_t)(n + 1) >> 32);
}

static int64_t
jitter(const struct retry_schedule *s, int64_t ms, uint32_t dice)
{
	int64_t steps;

	if (s->jitter_pct > 0)
		return throw_dice(dice, ms / 100 * s->jitter_pct);
	steps = (s->jitter_to_ms - s->jitter_from_ms) / s->jitter_step_ms;
	return s->jitter_from_ms + throw_dice(dice, steps) * s->jitter_step_ms;
}

enum retry_answer
retry_next(const struct retry_schedule *s, unsigned tries,
    int64_t retry_after_ms, uint32_t dice, int64_t scale, int64_t *ret_delay_ms)
{
	int64_t ms;

	assert(tries >= 1);
	if (tries > s->retries)
		return RETRY_STOP;
	ms =
	    s->kind == RETRY_LIST ? s->delays_ms[tries - 1] : doubled(s, tries);
	ms += jitter(s, ms, dice);
	if (s->heed) {
		int64_t asked =
		    retry_after_ms < s->most_ms ? retry_after_ms : s->most_ms;

		ms = asked > ms ? asked : ms;
	}
	*ret_delay_ms = retry_scaled(ms, scale);
	return RETRY_LATER;
}

int64_t
retry_scaled(int64_t ms, int64_t scale)
{
	assert(scale >= 1);
	return ms > 0 ? (ms + scale - 1) / scale : 0;
}
