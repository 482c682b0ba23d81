/* clock.h, second half: how times are written. */
#include "base/base.h"

int64_t
time_days(int64_t y, int64_t m, int64_t d)
{
	int64_t era, yoe, doy;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = y - era * 400;
	doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void
date_of(int64_t days, int *y, int *m, int *d)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	*d = (int)(doy - (153 * mp + 2) / 5 + 1);
	*m = (int)(mp < 10 ? mp + 3 : mp - 9);
	*y = (int)(yoe + era * 400 + (*m <= 2));
}

static void
digits(char *p, int n, int64_t v)
{
	while (n-- > 0) {
		p[n] = (char)('0' + v % 10);
		v /= 10;
	}
}

void
time_format(int64_t us, char ret[TIME_LEN + 1])
{
	int64_t day = us / US_PER_DAY, rest = us % US_PER_DAY;
	int y, m, d;

	if (rest < 0) {
		rest += US_PER_DAY;
		day--;
	}
	date_of(day, &y, &m, &d);
	memcpy(ret, "0000-00-00T00:00:00.000Z", TIME_LEN + 1);
	digits(ret, 4, y);
	digits(ret + 5, 2, m);
	digits(ret + 8, 2, d);
	digits(ret + 11, 2, rest / (3600 * US_PER_S));
	digits(ret + 14, 2, rest / (60 * US_PER_S) % 60);
	digits(ret + 17, 2, rest / US_PER_S % 60);
	digits(ret + 20, 3, rest / US_PER_MS % 1000);
}

void
time_add(struct buf *b, int64_t us)
{
	char text[TIME_LEN + 1];

	time_format(us, text);
	buf_add(b, (struct str){text, TIME_LEN});
}

/* Takes n bytes off *s, which has as many. */
static void
skip(struct str *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

static bool
literal(struct str *s, char a, char b)
{
	if (s->n == 0 || (s->p[0] != a && s->p[0] != b))
		return false;
	skip(s, 1);
	return true;
}

#define NO_DIGITS 128u

/* The value of two digits, or NO_DIGITS. */
static unsigned
two(const char *p)
{
	unsigned a = (unsigned)(p[0] - '0'), b = (unsigned)(p[1] - '0');

	return a > 9 || b > 9 ? NO_DIGITS : a * 10 + b;
}

static bool
take_date(struct str *s, int64_t *ret_days)
{
	const char *p = s->p;
	unsigned c, y, m, d;
	int year, month, day;

	if (s->n < 10 || p[4] != '-' || p[7] != '-')
		return false;
	c = two(p);
	y = two(p + 2);
	m = two(p + 5);
	d = two(p + 8);
	if ((c | y | m | d) >= NO_DIGITS)
		return false;
	skip(s, 10);
	*ret_days = time_days(c * 100 + y, m, d);
	/* One that does not exist is counted as another one. */
	date_of(*ret_days, &year, &month, &day);
	return (unsigned)month == m && (unsigned)day == d;
}

bool
time_is_day(struct str s)
{
	int64_t days;

	return take_date(&s, &days) && s.n == 0;
}

/* Fraction of a second in microseconds; absent is 0. */
static bool
take_fraction(struct str *s, int64_t *ret_us)
{
	int64_t scale = 100000, us = 0;
	size_t n = 0;

	*ret_us = 0;
	if (!literal(s, '.', '.'))
		return true;
	for (; s->n > 0 && str_is_digit(s->p[0]); n++) {
		us += (s->p[0] - '0') * scale;
		scale /= 10;
		skip(s, 1);
	}
	*ret_us = us;
	return n >= 1 && n <= 9;
}

static bool
take_zone(struct str *s, int64_t *ret_us, bool *ret_utc)
{
	const char *p = s->p;
	unsigned h, m;

	*ret_utc = literal(s, 'Z', 'z');
	*ret_us = 0;
	if (*ret_utc)
		return true;
	if (s->n < 6 || (p[0] != '+' && p[0] != '-') || p[3] != ':')
		return false;
	h = two(p + 1);
	m = two(p + 4);
	if (h > 23 || m > 59)
		return false;
	skip(s, 6);
	*ret_us = (h * 60 + m) * 60 * US_PER_S * (p[0] == '-' ? -1 : 1);
	return true;
}

/* "T12:34:56" */
static bool
take_clock(struct str *s, int64_t *ret_us)
{
	const char *p = s->p;
	unsigned h, m, sec;

	if (s->n < 9 || (p[0] != 'T' && p[0] != 't') || p[3] != ':' ||
	    p[6] != ':')
		return false;
	h = two(p + 1);
	m = two(p + 4);
	sec = two(p + 7);
	if (h > 23 || m > 59 || sec > 60)
		return false;
	skip(s, 9);
	*ret_us = ((h * 60 + m) * 60 + sec) * US_PER_S;
	return true;
}

bool
time_parse(struct str s, int64_t *ret_us, bool *ret_utc)
{
	int64_t days, clock, frac, zone;
	bool utc;

	if (!take_date(&s, &days) || !take_clock(&s, &clock) ||
	    !take_fraction(&s, &frac) || !take_zone(&s, &zone, &utc) || s.n > 0)
		return false;
	*ret_us = days * US_PER_DAY + clock + frac - zone;
	if (ret_utc)
		*ret_utc = utc;
	return true;
}
