/*
 * verdict.h - what one fetch of a feed means: is it stopped, when is the next
 * one, and why, in words for people.
 *
 * WHAT (seed 002, 8 and 9). As a table:
 *   a feed, the same body, 304   next after the shortest interval of those who
 *                                subscribe; counters to 0
 *                                with a hub that sends us news: 12 h
 *   404, 410, 401, 403           stopped
 *   no feed in it                back-off; stopped at the tenth in a row
 *   it came and we could not read it (doc/caged.h)
 *                                again after 30 min; counters stay
 *   429, 5xx, other 4xx, no answer, refused, too large, lost in redirects,
 *   a server that died of it     back-off: 30 min, doubled each time, to 12 h
 * Retry-After (with any error that backs off) and Cache-Control: max-age (with
 * a good answer) may make it later, within 30 min and 12 h; never earlier than
 * the interval. `jitter` spreads feeds that were fetched together: up to a
 * twentieth more.
 *
 * Pure: the clock, the jitter and TIME_SCALE are parameters.
 */
#pragma once

#include "base/base.h"

/* What came of a fetch; the words stand in feed_fetch.outcome. */
enum fetch_outcome {
	FETCH_UPDATED,      /* a feed, read */
	FETCH_SAME,         /* the same bytes as last time: not read again */
	FETCH_NOT_MODIFIED, /* 304 */
	FETCH_HTTP_ERROR,   /* any other status */
	FETCH_UNREADABLE, /* an answer, and no feed, or one that no parser bears */
	FETCH_NOT_READ, /* an answer, and nobody here to read it now */
	FETCH_TOO_LARGE,
	FETCH_REDIRECTS, /* too many, or to nowhere */
	FETCH_TIMEOUT,
	FETCH_UNREACHABLE, /* name, connection, TLS, no HTTP */
	FETCH_REFUSED,     /* by the guard */
	FETCH_PUSHED,      /* a hub sent it (websub.h) */
	FETCH_CRASHED,     /* the server died before it had a result */
};
const char *fetch_outcome_word(enum fetch_outcome o);

struct fetch_seen {
	enum fetch_outcome outcome;
	int status;             /* of HTTP; 0: none */
	int64_t retry_after_ms; /* -1: none */
	int64_t max_age_s;      /* -1: none */
	struct str error;       /* what went wrong, in words */
};

struct fetch_before {
	int64_t errors, parse_errors; /* in a row */
	int64_t interval_min;         /* of those who subscribe, the least */
	bool login; /* asked for with a user name and password */
	bool hub;   /* that sends what is new: we look seldom ourselves */
};

#define FETCH_WORDS_MAX 400

struct fetch_verdict {
	bool good, stop;
	int64_t errors, parse_errors;
	int64_t next_us;               /* not when stopped */
	char why[FETCH_WORDS_MAX];     /* it is fetched then */
	char message[FETCH_WORDS_MAX]; /* what is wrong; "" when good */
};

/* jitter: 0 to 65535. */
void verdict_fetch(const struct fetch_seen *s, const struct fetch_before *b,
    int64_t now_us, int64_t time_scale, unsigned jitter,
    struct fetch_verdict *ret);

/* Seconds of Cache-Control's max-age; -1 when it has none, 0 with no-cache. */
int64_t verdict_max_age(struct str cache_control);
