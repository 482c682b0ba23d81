#include "contract/retry.h"

#include <assert.h>

#include "base/json.h"
#include "contract/member.h"

static int
retry_wrong(struct err *e, const char *at, const char *name, const char *why)
{
	char here[JSON_POINTER_MAX + 1];

	(void)snprintf(here, sizeof(here), "%s/%s", at, name);
	return json_wrong(e, here, "%s", why);
}

static bool
in_range(int64_t ms)
{
	return ms >= 0 && ms <= RETRY_DELAY_MAX_MS;
}

int
retry_delays_read(const struct json *list, const char *at,
    struct retry_schedule *s, struct err *e)
{
	int rc = member_want(list, JSON_ARRAY, at, e);

	if (rc == OK && list->n > RETRY_DELAYS_MAX)
		rc =
		    json_wrong(e, at, "must hold at most %d", RETRY_DELAYS_MAX);
	if (rc < 0)
		return rc;
	s->kind = RETRY_LIST;
	s->retries = 0;
	s->most_ms = 0;
	for (const struct json *j = list->child; rc == OK && j; j = j->next) {
		int64_t ms = 0;

		rc = member_int(j, at, 0, RETRY_DELAY_MAX_MS, &ms, e);
		s->delays_ms[s->retries++] = ms;
		s->most_ms = ms > s->most_ms ? ms : s->most_ms;
	}
	return rc;
}

int
retry_check(const struct retry_schedule *s, const char *at, struct err *e)
{
	if (s->retries > RETRY_DELAYS_MAX)
		return retry_wrong(e, at,
		    s->kind == RETRY_LIST ? "delaysMs" : "count",
		    "must be at most 64");
	if (s->kind == RETRY_DOUBLING &&
	    (s->base_ms < 1 || !in_range(s->base_ms)))
		return retry_wrong(e, at, "baseMs", "must be 1 to 30 days");
	if (s->kind == RETRY_DOUBLING &&
	    (s->most_ms < s->base_ms || !in_range(s->most_ms)))
		return retry_wrong(e, at, "maxMs",
		    "must be at least baseMs and at most 30 days");
	for (unsigned i = 0; s->kind == RETRY_LIST && i < s->retries; i++)
		if (!in_range(s->delays_ms[i]))
			return retry_wrong(e, at, "delaysMs",
			    "must hold whole numbers from 0 to 2592000000");
	if (!in_range(s->jitter_from_ms) || !in_range(s->jitter_to_ms) ||
	    s->jitter_from_ms > s->jitter_to_ms)
		return retry_wrong(e, at, "jitterMs",
		    "must run from 0 or more to 30 days or less");
	if (s->jitter_step_ms < 1 || s->jitter_step_ms > RETRY_DELAY_MAX_MS)
		return retry_wrong(
		    e, at, "jitterMs", "must have a step above 0");
	if (s->jitter_pct > 100)
		return retry_wrong(e, at, "jitterPercent", "must be 0 to 100");
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
		return throw_dice(dice, ms / 100 * (int64_t)s->jitter_pct);
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
