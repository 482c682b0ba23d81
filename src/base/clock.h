/*
 * clock.h - the time, and how it is written.
 *
 * Instants are microseconds since 1970 in UTC (`_us`); spans that we wait are
 * milliseconds (`_ms`). clock_now_us() is the wall, clock_mono_ms() only ever
 * goes forward. What is tested takes the time as a parameter.
 */
#pragma once

#include "base/base.h"

#define US_PER_MS   INT64_C(1000)
#define US_PER_S    INT64_C(1000000)
#define US_PER_HOUR (INT64_C(3600) * US_PER_S)
#define US_PER_DAY  (INT64_C(86400) * US_PER_S)
#define TIME_LEN    24 /* 2026-01-10T12:34:56.789Z */

struct buf;

int64_t clock_now_us(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);
/* Goes on while the machine sleeps: for what others count meanwhile. */
int64_t clock_boot_us(void);
/* Less when a signal comes. */
void clock_sleep_us(long us);

/* RFC 3339, UTC, milliseconds: exactly TIME_LEN bytes. */
void time_format(int64_t us, char ret[TIME_LEN + 1]);
void time_add(struct buf *b, int64_t us);
/*
 * Strict RFC 3339: a real date, `T`, a real time, an optional fraction of 1 to
 * 9 digits, `Z` or an offset. Digits past the microsecond are dropped. *ret_utc
 * says whether it ended in Z (or z); NULL when nobody asks.
 */
bool time_parse(struct str s, int64_t *ret_us, bool *ret_utc);
/* Days since 1970-01-01 of a proleptic Gregorian date; month 13 is January of
 * the next year. */
int64_t time_days(int64_t y, int64_t m, int64_t d);
bool time_is_day(struct str s); /* YYYY-MM-DD, a day that exists */
