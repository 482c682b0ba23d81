#include "reader/fetch/verdict.h"

#include <stdarg.h>

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
find_status(const struct fetch_seen *s)
{
	for (size_t i = 0; i < COUNT_OF(STATUSES); i++)
		if (s->outcome == FETCH_HTTP_ERROR &&
		    STATUSES[i].status == s->status)
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

/* Behind it stand the error's own words. */
static const char *
message_of(enum fetch_outcome o)
{
	return o == FETCH_UNREADABLE
		   ? "what is at this address can't be read as a feed"
	       : o == FETCH_NOT_READ
		   ? "the feed came and this server could not read it"
	       : o == FETCH_TIMEOUT ? "the feed did not come in time"
	       : o == FETCH_REFUSED ? "this address is not allowed"
				    : "the feed could not be fetched";
}

static void
say_message(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v)
{
	const struct status *st = find_status(s);

	if (st && st->status == 401 && b->login)
		(void)snprintf(v->message, sizeof(v->message),
		    "the feed's server does not take the user name and password (401 Unauthorized)");
	else if (st)
		(void)snprintf(v->message, sizeof(v->message), "%s", st->says);
	else if (s->outcome == FETCH_HTTP_ERROR)
		(void)snprintf(v->message, sizeof(v->message),
		    "the feed's server answered %d", s->status);
	else
		(void)snprintf(v->message, sizeof(v->message), "%s: %.*s",
		    message_of(s->outcome),
		    s->error.n < 300 ? (int)s->error.n : 300, s->error.p);
}

PRINTF(2, 3)
static void
say_why(struct fetch_verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
}

/* Each returns the minutes until the next one. */
static int64_t
judge_good(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v)
{
	int64_t min = within(b->interval_min);
	int64_t age = within(s->max_age_s < 0 ? 0 : (s->max_age_s + 59) / 60);

	v->good = true;
	say_why(v, "every %lld min, as subscribed", (long long)min);
	if (b->hub && min < FETCH_MOST_MIN) {
		min = FETCH_MOST_MIN;
		say_why(v, "every %lld min, since its hub sends what is new",
		    (long long)min);
	}
	if (age > min) {
		min = age;
		say_why(v,
		    "its server says that it stays the same for %lld min (max-age)",
		    (long long)min);
	}
	return min;
}

static int64_t
judge_bad(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v)
{
	bool parse = s->outcome == FETCH_UNREADABLE;
	const struct status *st = find_status(s);
	int64_t asked =
	    s->retry_after_ms < 0 ? 0 : (s->retry_after_ms + 59999) / 60000;
	int64_t min;

	say_message(s, b, v);
	v->errors = b->errors + 1;
	v->parse_errors = parse ? b->parse_errors + 1 : 0;
	v->stop = (st && st->stop) || v->parse_errors >= FETCH_PARSE_ERRORS_MAX;
	if (v->stop && parse)
		say_why(v, "stopped: it could not be read %lld times in a row",
		    (long long)v->parse_errors);
	else if (v->stop)
		say_why(v, "stopped: %.300s", v->message);
	if (v->stop)
		return 0;
	min = back_off_min(v->errors);
	say_why(v, "failed %lld times in a row: tried again after %lld min",
	    (long long)v->errors, (long long)min);
	if (asked > 0 && within(asked) > min) {
		min = within(asked);
		say_why(v, "its server asks to wait for %lld min (Retry-After)",
		    (long long)min);
	}
	return min;
}

/* The feed is not at fault: nothing is counted against it. */
static int64_t
judge_ours(const struct fetch_seen *s, const struct fetch_before *b,
    struct fetch_verdict *v)
{
	say_message(s, b, v);
	v->errors = b->errors;
	v->parse_errors = b->parse_errors;
	say_why(v, "it could not be read here: tried again after %d min",
	    FETCH_LEAST_MIN);
	return FETCH_LEAST_MIN;
}

void
verdict_fetch(const struct fetch_seen *s, const struct fetch_before *b,
    int64_t now_us, int64_t time_scale, unsigned jitter,
    struct fetch_verdict *ret)
{
	bool good = s->outcome == FETCH_UPDATED || s->outcome == FETCH_SAME ||
		    s->outcome == FETCH_NOT_MODIFIED ||
		    s->outcome == FETCH_PUSHED;
	struct fetch_verdict v = {.errors = 0};
	int64_t minutes = good                           ? judge_good(s, b, &v)
			  : s->outcome == FETCH_NOT_READ ? judge_ours(s, b, &v)
							 : judge_bad(s, b, &v);
	int64_t us =
	    minutes * 60 * US_PER_S / (time_scale > 0 ? time_scale : 1);

	if (!v.stop)
		v.next_us =
		    now_us + us + us / 20 * (int64_t)(jitter & 0xffff) / 65536;
	*ret = v;
}
