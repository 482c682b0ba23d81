#include "feed/date.h"

#include "feed/limits.h"

struct word {
	struct str text;
	int value;
};

static const struct word MONTHS[] = {
#define MONTH(name, n) {STR(name), n},
#include "feed/date_words.tbl"
};

static const struct word ERAS[] = {
#define ERA(name, year) {STR(name), year},
#include "feed/date_words.tbl"
};

static const struct word ZONES[] = {
#define ZONE(name, minutes) {STR(name), minutes},
#include "feed/date_words.tbl"
};

static const struct {
	struct str sign, as;
} GLYPHS[] = {
#define GLYPH(sign, as) {STR(sign), STR(as)},
#include "feed/date_words.tbl"
};

/* -1: not seen yet */
struct date {
	int year, month, day, hour, minute, second, zone;
	int64_t frac_us;
	bool pm, am, zoned, ordinal;
	bool weak; /* the month may have been a weekday */
};

static bool
is_letter(char c)
{
	return str_is_letter(c) || (unsigned char)c >= 0x80;
}

/* Signs of other scripts to ASCII, ASCII to lower case; the new length. */
static size_t
to_ascii(struct str s, char to[4 * FEED_DATE_MAX])
{
	size_t n = 0;

	while (s.n > 0) {
		struct str as = {s.p, 1};
		size_t take = 1;

		if (str_starts(s, STR("\xef\xbc")) && s.n > 2 &&
		    (unsigned char)s.p[2] - 0x90U < 10) {
			to[n++] = (char)('0' + ((unsigned char)s.p[2] - 0x90));
			s = str_from(s, 3);
			continue;
		}
		for (size_t i = 0;
		     (unsigned char)s.p[0] >= 0x80 && i < COUNT_OF(GLYPHS); i++)
			if (str_starts(s, GLYPHS[i].sign)) {
				as = GLYPHS[i].as;
				take = GLYPHS[i].sign.n;
				break;
			}
		for (size_t i = 0; i < as.n; i++)
			to[n++] = as.p[i] >= 'A' && as.p[i] <= 'Z'
				      ? (char)(as.p[i] | 0x20)
				      : as.p[i];
		s = str_from(s, take);
		/* 2004년 1월: the sign joins what it stands between. */
		while (take > 1 && as.n == 1 && as.p[0] != ' ' && s.n > 0 &&
		       s.p[0] == ' ')
			s = str_from(s, 1);
	}
	return n;
}

/* ---- reading ---- */

struct number {
	int value;
	size_t digits;
};

static struct number
take_number(struct str *s)
{
	struct number r = {0};

	while (s->n > 0 && str_is_digit(s->p[0])) {
		if (r.value < 100000000)
			r.value = r.value * 10 + (s->p[0] - '0');
		r.digits++;
		*s = str_from(*s, 1);
	}
	return r;
}

static bool
next_digit(struct str s, char sep)
{
	return s.n > 1 && s.p[0] == sep && str_is_digit(s.p[1]);
}

/* h has been read, a colon follows. */
static bool
take_time(struct date *d, struct number h, struct str *s)
{
	int64_t unit = 100000;

	if (d->hour >= 0 || h.digits > 2)
		return false;
	d->hour = h.value;
	*s = str_from(*s, 1);
	d->minute = take_number(s).value;
	if (next_digit(*s, ':')) {
		*s = str_from(*s, 1);
		d->second = take_number(s).value;
	}
	if (next_digit(*s, '.') || next_digit(*s, ','))
		for (*s = str_from(*s, 1); s->n > 0 && str_is_digit(s->p[0]);
		     *s = str_from(*s, 1), unit /= 10)
			d->frac_us += unit * (s->p[0] - '0');
	while (s->n > 0 && s->p[0] == ':')
		*s = str_from(*s, 1);
	return true;
}

static void
set_year(struct date *d, struct number y)
{
	d->year = y.value;
	if (y.digits <= 2)
		d->year += y.value < 70 ? 2000 : 1900;
	else if (y.digits == 3)
		d->year += 1900; /* 124, as struct tm has it */
}

/* "-01-31", "-W05-3" or "-031" behind a year. */
static void
take_iso(struct date *d, struct number y, struct str *s)
{
	char sep = s->p[0];
	struct number m;

	set_year(d, y);
	*s = str_from(*s, 1);
	m = take_number(s);
	if (m.digits == 3) {
		d->ordinal = true;
		d->month = 1;
		d->day = m.value;
		return;
	}
	d->month = m.value;
	if (next_digit(*s, sep)) {
		*s = str_from(*s, 1);
		d->day = take_number(s).value;
	}
	/* 2024年1月 leaves its sign behind. */
	if (s->n > 0 && s->p[0] == sep)
		*s = str_from(*s, 1);
}

/* a has been read, a separator and a digit follow. */
static bool
take_numeric(struct date *d, struct number a, struct str *s)
{
	char sep = s->p[0];
	struct number b, c;

	if (d->month >= 0 || d->year >= 0)
		return false;
	if (a.digits >= 3) {
		take_iso(d, a, s);
		return true;
	}
	*s = str_from(*s, 1);
	b = take_number(s);
	if (!next_digit(*s, sep))
		return false;
	*s = str_from(*s, 1);
	c = take_number(s);
	/* 99-12-31 and 03-12-31; 31-12-03 is of 2003, as nobody writes 2031 */
	if (c.digits <= 2 && sep == '-' && a.digits == 2 && a.value != 31 &&
	    b.value <= 12 && c.value >= 1 && c.value <= 31) {
		set_year(d, a);
		d->month = b.value;
		d->day = c.value;
		return true;
	}
	set_year(d, c);
	d->day = sep == '/' && a.value <= 12 ? b.value : a.value;
	d->month = sep == '/' && a.value <= 12 ? a.value : b.value;
	if (d->month > 12 && d->day <= 12) {
		int t = d->month;

		d->month = d->day;
		d->day = t;
	}
	return true;
}

/* 20240131, 20240131T120000, 20240131120000 */
static bool
take_packed(struct date *d, struct str run)
{
	int part[6] = {0};
	size_t n = 0;

	if (d->year >= 0 || (run.n != 8 && run.n != 12 && run.n != 14))
		return false;
	for (size_t at = 0; at < run.n; n++)
		for (size_t i = 0; i < (n == 0 ? 4 : 2); i++, at++)
			part[n] = part[n] * 10 + (run.p[at] - '0');
	d->year = part[0];
	d->month = part[1];
	d->day = part[2];
	if (n > 3) {
		d->hour = part[3];
		d->minute = part[4];
		d->second = part[5];
	}
	return true;
}

static void
take_zone(struct date *d, struct str *s)
{
	int sign = s->p[0] == '-' ? -1 : 1, hours, minutes = 0;
	struct number n;

	*s = str_from(*s, 1);
	n = take_number(s);
	hours = n.value;
	if (n.digits > 2) {
		hours = n.value / 100;
		minutes = n.value % 100;
	} else if (next_digit(*s, ':')) {
		*s = str_from(*s, 1);
		minutes = take_number(s).value;
	}
	/* Nobody lives further away: this is no zone. */
	if (hours > 15 || minutes > 59)
		return;
	d->zone = sign * (hours * 60 + minutes);
	d->zoned = true;
}

static void
take_alone(struct date *d, struct number n)
{
	if (n.digits <= 2 && d->day < 0 && n.value <= 31) {
		d->day = n.value;
	} else if (n.digits <= 4 && d->year < 0) {
		set_year(d, n);
	} else if (n.digits <= 2 && d->hour < 0 && d->day >= 0 &&
		   d->month >= 0 && d->year >= 0) {
		d->hour = n.value; /* 2024-01-31T12Z */
	} else if (n.digits == 6 && d->hour < 0 && d->day >= 0) {
		d->hour = n.value / 10000; /* 20240131T120000 */
		d->minute = n.value / 100 % 100;
		d->second = n.value % 100;
	} else if (n.digits == 4 && d->hour < 0 && d->day >= 0) {
		d->hour = n.value / 100;
		d->minute = n.value % 100;
	}
}

static bool
take_digits(struct date *d, struct str *s)
{
	struct str run = *s;
	struct number n = take_number(s);

	run.n = n.digits;
	if (n.digits >= 8)
		return take_packed(d, run);
	/* 10.30, as Italians write it, when the date is complete */
	if (next_digit(*s, ':') ||
	    (next_digit(*s, '.') && n.digits <= 2 && d->hour < 0 &&
		d->year >= 0 && d->month >= 0))
		return take_time(d, n, s);
	/* 時 without minutes, and "12:" */
	if (s->n > 0 && s->p[0] == ':' && d->day >= 0 && d->hour < 0) {
		d->hour = n.value;
		*s = str_from(*s, 1);
		return true;
	}
	if (n.digits <= 4 && d->month < 0 &&
	    (next_digit(*s, '-') || next_digit(*s, '/') || next_digit(*s, '.')))
		return take_numeric(d, n, s);
	take_alone(d, n);
	return true;
}

static void
week_date(struct date *d, struct str *s)
{
	int64_t first, monday;
	int week, day = 1;
	struct number n;

	*s = str_from(*s, 1);
	n = take_number(s);
	week = n.value;
	if (n.digits == 3) { /* 1985W155 */
		week = n.value / 10;
		day = n.value % 10;
	} else if (next_digit(*s, '-')) {
		*s = str_from(*s, 1);
		day = take_number(s).value;
	}
	if (d->year < 1 || week < 1 || week > 53 || day < 1 || day > 7)
		return;
	/* The week of January 4th is the first; 1970-01-01 was a Thursday. */
	first = time_days(d->year, 1, 4);
	monday = first - ((first + 3) % 7 + 7) % 7;
	d->ordinal = true;
	d->month = 1;
	d->day =
	    (int)(monday - time_days(d->year, 1, 1)) + (week - 1) * 7 + day;
}

static void
take_word(struct date *d, struct str *s)
{
	struct str w = {s->p, 0};

	while (s->n > 0 && is_letter(s->p[0])) {
		w.n++;
		*s = str_from(*s, 1);
	}
	if (w.n == 1 && (w.p[0] == 'a' || w.p[0] == 'p') &&
	    str_starts(*s, STR(".m"))) { /* "p.m." */
		*s = str_from(*s, 2);
		w = w.p[0] == 'a' ? STR("am") : STR("pm");
	}
	if (str_eq(w, STR("am")) || str_eq(w, STR("pm"))) {
		d->am = w.p[0] == 'a';
		d->pm = w.p[0] == 'p';
		return;
	}
	if (str_eq(w, STR("w")) && d->year >= 0 && d->month < 0 && s->n > 0 &&
	    str_is_digit(s->p[0])) {
		*s = (struct str){s->p - 1, s->n + 1};
		week_date(d, s);
		return;
	}
	for (size_t i = 0; d->year < 0 && i < COUNT_OF(ERAS); i++)
		if (str_eq(w, ERAS[i].text) && s->n > 0 &&
		    str_is_digit(s->p[0])) {
			struct number y = take_number(s);

			y.value += ERAS[i].value;
			y.digits = 4;
			if (next_digit(*s, '-'))
				take_iso(d, y, s);
			else
				set_year(d, y);
			return;
		}
	for (size_t i = 0; d->hour >= 0 && i < COUNT_OF(ZONES); i++)
		if (str_eq(w, ZONES[i].text)) {
			/* "GMT+9" is 9, and "+0900 (JST)" is not twice. */
			if (!d->zoned)
				d->zone = ZONES[i].value;
			d->zoned = d->zoned || ZONES[i].value != 0;
			return;
		}
	for (size_t i = 0; (d->month < 0 || d->weak) && i < COUNT_OF(MONTHS);
	     i++)
		if (w.p[0] == MONTHS[i].text.p[0] &&
		    str_starts(w, MONTHS[i].text)) {
			bool tuesday = d->day < 0 && MONTHS[i].value == 3;

			/* "mar," and "martes 5" are Tuesday; "mar 5" is what
			 * no other word is. */
			if (tuesday && ((s->n > 0 && s->p[0] == ',') ||
					   str_starts(w, STR("mart"))))
				return;
			d->month = MONTHS[i].value;
			d->weak = tuesday;
			return;
		}
}

/* Seconds, milli- or microseconds since 1970, and nothing else. */
static bool
epoch(struct str s, int64_t *ret)
{
	struct str whole = str_cut(&s, '.');
	int64_t v;

	if (whole.n < 9 || whole.n > 16 || !str_int(whole, &v) || v < 0)
		return false;
	if (whole.n <= 11)
		v *= US_PER_S;
	else if (whole.n == 13)
		v *= US_PER_MS;
	else if (whole.n != 16)
		return false;
	*ret = v;
	return true;
}

/* 031231, 2003335 and 03335: ISO 8601 without its hyphens, all there is. */
static bool
packed(struct date *d, struct str s)
{
	struct str year = {s.p, s.n == 7 ? 4 : 2};
	struct number y, n;

	if (s.n < 5 || s.n > 7)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!str_is_digit(s.p[i]))
			return false;
	s = str_from(s, year.n);
	y = take_number(&year);
	n = take_number(&s);
	set_year(d, y);
	d->ordinal = n.digits == 3;
	d->month = d->ordinal ? 1 : n.value / 100;
	d->day = d->ordinal ? n.value : n.value % 100;
	if (d->day == 0) /* a week of another year may begin so, no day */
		d->month = 0;
	return true;
}

static bool
date_finish(struct date *d, int64_t *ret)
{
	int64_t us, days;

	if (d->month < 0 && d->day >= 0)
		return false; /* a day of no month */
	if (d->year < 1 || d->year > 9999)
		return false;
	d->month = d->month < 0 ? 1 : d->month;
	d->day = d->day < 0 && !d->ordinal ? 1 : d->day;
	d->hour = d->hour < 0 ? 0 : d->hour;
	d->minute = d->minute < 0 ? 0 : d->minute;
	d->second = d->second < 0 ? 0 : d->second;
	if (d->pm && d->hour < 12)
		d->hour += 12;
	if (d->am && d->hour == 12)
		d->hour = 0;
	if (d->month < 1 || d->month > 12 || d->hour > 24 || d->minute > 59 ||
	    d->second > 60)
		return false;
	days = time_days(d->year, d->month, d->day);
	if (d->ordinal
		? d->day > 371
		: d->day < 1 || days >= time_days(d->year, d->month + 1, 1))
		return false;
	us = days * US_PER_DAY +
	     ((int64_t)d->hour * 3600 + d->minute * 60 + d->second) * US_PER_S +
	     d->frac_us - (int64_t)d->zone * 60 * US_PER_S;
	if (us < -INT64_C(62135596800) * US_PER_S ||
	    us >= INT64_C(253402300800) * US_PER_S)
		return false;
	*ret = us;
	return true;
}

static int
two_digits(const char *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/*
 * "Mon, 05 Jan 2026 10:00:00 GMT" or "+0900", and RFC 3339, to the letter:
 * nearly all are, and need no thinking.
 */
static bool
usual(struct str s, int64_t *ret)
{
	static const char FORM[] = "___, 00 ___ 0000 00:00:00 _0000";
	static const char MONTH_NAMES[] =
	    "JanFebMarAprMayJunJulAugSepOctNovDec";
	bool gmt = s.n == 29 && str_ends(s, STR("GMT"));
	struct date d = {.zone = 0};

	if (str_is_digit(s.p[0]))
		return s.n > 18 && s.p[4] == '-' && time_parse(s, ret, NULL);
	if (!gmt && !(s.n == 31 && (s.p[26] == '+' || s.p[26] == '-') &&
			s.p[27] < '2' && s.p[29] < '6'))
		return false;
	for (size_t i = 0; i < (gmt ? 26 : s.n); i++)
		if (FORM[i] == '0' ? !str_is_digit(s.p[i])
				   : FORM[i] != '_' && FORM[i] != s.p[i])
			return false;
	while (
	    d.month < 12 && memcmp(s.p + 8, MONTH_NAMES + 3 * d.month, 3) != 0)
		d.month++;
	if (d.month++ == 12)
		return false;
	d.day = two_digits(s.p + 5);
	d.year = two_digits(s.p + 12) * 100 + two_digits(s.p + 14);
	d.hour = two_digits(s.p + 17);
	d.minute = two_digits(s.p + 20);
	d.second = two_digits(s.p + 23);
	if (!gmt)
		d.zone = (s.p[26] == '-' ? -1 : 1) *
			 (two_digits(s.p + 27) * 60 + two_digits(s.p + 29));
	return d.hour < 24 && date_finish(&d, ret);
}

bool
feed_date(struct str text, int64_t *ret_us)
{
	struct date d = {.year = -1,
	    .month = -1,
	    .day = -1,
	    .hour = -1,
	    .minute = -1,
	    .second = -1};
	UNINIT char room[4 * FEED_DATE_MAX];
	struct str s = str_trim(text);

	if (s.n == 0 || s.n > FEED_DATE_MAX)
		return false;
	if (usual(s, ret_us) || epoch(s, ret_us))
		return true;
	if (packed(&d, s))
		return date_finish(&d, ret_us);
	s = (struct str){room, to_ascii(s, room)};
	while (s.n > 0) {
		bool sign = (s.p[0] == '+' || s.p[0] == '-') && s.n > 1 &&
			    str_is_digit(s.p[1]);

		if (str_is_digit(s.p[0])) {
			if (!take_digits(&d, &s))
				return false;
		} else if (sign && d.hour >= 0 && !d.zoned) {
			take_zone(&d, &s);
		} else if (is_letter(s.p[0])) {
			take_word(&d, &s);
		} else {
			s = str_from(s, 1);
		}
	}
	return date_finish(&d, ret_us);
}
