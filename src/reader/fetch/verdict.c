#include "reader/fetch/verdict.h"

#include "base/clock.h"
#include "base/str.h"
#include "reader/limits.h"

const char *
fetch_outcome_word(enum fetch_outcome o)
{
	static const char *const WORDS[] = {
	    [FETCH_UPDATED] = "updated",
	    [FETCH_SAME] = "same",
	    [FETCH_NOT_MODIFIED] = "not_modified",
	    [FETCH_HTTP_ERROR] = "http_error",
	    [FETCH_UNREADABLE] = "unreadable",
	    [FETCH_NOT_READ] = "not_read",
	    [FETCH_TOO_LARGE] = "too_large",
	    [FETCH_REDIRECTS] = "redirects",
	    [FETCH_TIMEOUT] = "timeout",
	    [FETCH_UNREACHABLE] = "unreachable",
	    [FETCH_REFUSED] = "refused",
	    [FETCH_PUSHED] = "pushed",
	    [FETCH_CRASHED] = "crashed",
	};

	return WORDS[o];
}

/* What a status means for a feed; NULL: nothing of its own. */
static const struct status {
	int status;
	bool stop;
	const char *says;
} STATUSES[] = {
    {401, true, "the feed wants a login now (401 Unauthorized)"},
    {403, true, "the feed's server refuses us (403 Forbidden)"},
    {404, true, "there is no feed at this address any more (404 Not Found)"},
    {410, true, "the feed was removed for good (410 Gone)"},
    {429, false, "the feed's server was asked too often (429)"},
    {500, false, "the feed's server has a fault (500)"},
    {502, false, "the feed's server is out of order (502)"},
    {503, false, "the feed's server is not available now (503)"},
    {504, false, "the feed's server did not answer in time (504)"},
};

static const struct status *
find_status(int status)
{
	for (size_t i = 0; i < COUNT_OF(STATUSES); i++)
		if (STATUSES[i].status == status)
			return &STATUSES[i];
	return NULL;
}

int64_t
verdict_max_age(struct str v)
{
	int64_t age = -1;

	while (v.n > 0) {
		struct str part = str_trim(str_cut(&v, ',')), name;

		name = str_trim(str_cut(&part, '='));
		part = str_trim(part);
		if (part.n > 1 && part.p[0] == '"')
			part = (struct str){part.p + 1, part.n - 2};
		if (str_eq_nocase(name, STR("no-cache")) ||
		    str_eq_nocase(name, STR("no-store")))
			return 0;
		if (str_eq_nocase(name, STR("max-age")) &&
		    (!str_int(part, &age) || age < 0))
			age = -1;
	}
	return age;
}

static int64_t
within(int64_t min)
{
	return min < FETCH_LEAST_MIN  ? FETCH_LEAST_MIN
	       : min > FETCH_MOST_MIN ? FETCH_MOST_MIN
				      : min;
}

/* 30 min, 1 h, 2 h, 4 h, 8 h, 12 h, 12 h … */
static int64_t
back_off_min(int64_t errors)
{
	return errors > 6 ? FETCH_MOST_MIN
			  : within(FETCH_LEAST_MIN << (errors - 1));
}

static void
set_next(struct fetch_verdict *v, int64_t minutes, int64_t now_us,
    int64_t scale, unsigned jitter)
{
	int64_t us = minutes * 60 * US_PER_S / (scale > 0 ? scale : 1);

	v->next_us = now_us + us + us / 20 * (int64_t)(jitter & 0xffff) / 65536;
}

static void
say_message(const struct fetch_seen *s, struct fetch_verdict *v)
{
	const struct status *st =
	    s->outcome == FETCH_HTTP_ERROR ? find_status(s->status) : NULL;
	int n = s->error.n < 300 ? (int)s->error.n : 300;

	if (st)
		(void)snprintf(v->message, sizeof(v->message), "%s", st->says);
	else if (s->outcome == FETCH_HTTP_ERROR)
		(void)snprintf(v->message, sizeof(v->message),
		    "the feed's server answered %d", s->status);
	else if (s->outcome == FETCH_UNREADABLE)
		(void)snprintf(v->message, sizeof(v->message),
		    "what is at this address can't be read as a feed: %.*s", n,
		    s->error.p);
	else if (s->outcome == FETCH_NOT_READ)
		(void)snprintf(v->message, sizeof(v->message),
		    "the feed came and this server could not read it: %.*s", n,
		    s->error.p);
	else if (s->outcome == FETCH_TIMEOUT)
		(void)snprintf(v->message, sizeof(v->message),
		    "the feed did not come in time: %.*s", n, s->error.p);
	else if (s->outcome == FETCH_REFUSED)
		(void)snprintf(v->message, sizeof(v->message),
		    "this address is not allowed: %.*s", n, s->error.p);
	else
		(void)snprintf(v->message, sizeof(v->message),
		    "the feed could not be fetched: %.*s", n, s->error.p);
}

static void
judge_good(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v, int64_t *ret_min)
{
	int64_t min = within(b->interval_min);
	int64_t age = s->max_age_s < 0 ? 0 : (s->max_age_s + 59) / 60;

	v->good = true;
	(void)snprintf(v->why, sizeof(v->why), "every %lld min, as subscribed",
	    (long long)min);
	if (b->hub && min < FETCH_MOST_MIN) {
		min = FETCH_MOST_MIN;
		(void)snprintf(v->why, sizeof(v->why),
		    "every %lld min, since its hub sends what is new",
		    (long long)min);
	}
	if (within(age) > min) {
		min = within(age);
		(void)snprintf(v->why, sizeof(v->why),
		    "its server says that it stays the same for %lld min (max-age)",
		    (long long)min);
	}
	*ret_min = min;
}

static void
judge_bad(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v, int64_t *ret_min)
{
	bool parse = s->outcome == FETCH_UNREADABLE;
	const struct status *st =
	    s->outcome == FETCH_HTTP_ERROR ? find_status(s->status) : NULL;
	int64_t asked =
	    s->retry_after_ms < 0 ? 0 : (s->retry_after_ms + 59999) / 60000;
	int64_t min;

	say_message(s, v);
	v->errors = b->errors + 1;
	v->parse_errors = parse ? b->parse_errors + 1 : 0;
	v->stop = st && st->stop;
	if (v->stop) {
		(void)snprintf(
		    v->why, sizeof(v->why), "stopped: %.300s", v->message);
		return;
	}
	if (v->parse_errors >= FETCH_PARSE_ERRORS_MAX) {
		v->stop = true;
		(void)snprintf(v->why, sizeof(v->why),
		    "stopped: it could not be read %lld times in a row",
		    (long long)v->parse_errors);
		return;
	}
	min = back_off_min(v->errors);
	(void)snprintf(v->why, sizeof(v->why),
	    "failed %lld times in a row: tried again after %lld min",
	    (long long)v->errors, (long long)min);
	if (asked > 0 && within(asked) > min) {
		min = within(asked);
		(void)snprintf(v->why, sizeof(v->why),
		    "its server asks to wait for %lld min (Retry-After)",
		    (long long)min);
	}
	*ret_min = min;
}

/* The feed is not at fault: nothing is counted against it. */
static void
judge_ours(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v, int64_t *ret_min)
{
	say_message(s, v);
	v->errors = b->errors;
	v->parse_errors = b->parse_errors;
	*ret_min = FETCH_LEAST_MIN;
	(void)snprintf(v->why, sizeof(v->why),
	    "it could not be read here: tried again after %d min",
	    FETCH_LEAST_MIN);
}

void
verdict_fetch(const struct fetch_seen *s, const struct fetch_before *b,
    int64_t now_us, int64_t time_scale, unsigned jitter,
    struct fetch_verdict *ret)
{
	struct fetch_verdict v = {.errors = 0};
	int64_t minutes = 0;

	switch (s->outcome) {
	case FETCH_UPDATED:
	case FETCH_SAME:
	case FETCH_NOT_MODIFIED:
	case FETCH_PUSHED:
		judge_good(s, b, &v, &minutes);
		break;
	case FETCH_NOT_READ:
		judge_ours(s, b, &v, &minutes);
		break;
	case FETCH_HTTP_ERROR:
	case FETCH_UNREADABLE:
	case FETCH_TOO_LARGE:
	case FETCH_REDIRECTS:
	case FETCH_TIMEOUT:
	case FETCH_UNREACHABLE:
	case FETCH_REFUSED:
	case FETCH_CRASHED:
		judge_bad(s, b, &v, &minutes);
		break;
	}
	if (!v.stop)
		set_next(&v, minutes, now_us, time_scale, jitter);
	*ret = v;
}
