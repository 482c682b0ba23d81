#include "base/conf/conf_value.h"

#define MASK "********"

struct unit {
	const char *name;
	int64_t of_one;
};

/* Ascending, so that writing finds the largest that divides from the end. */
static const struct unit SPANS[] = {
    {"ms", 1},
    {"s", 1000},
    {"m", 60 * 1000},
    {"h", 3600 * 1000},
    {"d", 24 * 3600 * 1000},
};
/* The first WRITTEN are written too. */
#define WRITTEN 4
static const struct unit SIZES[] = {
    {"KiB", INT64_C(1) << 10},
    {"MiB", INT64_C(1) << 20},
    {"GiB", INT64_C(1) << 30},
    {"TiB", INT64_C(1) << 40},
    {"B", 1},
    {"KB", 1000},
    {"MB", 1000 * 1000},
    {"GB", 1000 * 1000 * 1000},
};

static const struct unit *
unit_find(const struct unit *units, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(str_of(units[i].name), name))
			return &units[i];
	return NULL;
}

/* Digits, then a unit or nothing, which means `bare`. */
static bool
read_amount(enum conf_type type, const char *bare, struct str s, int64_t *ret)
{
	const struct unit *u;
	struct str tail;
	size_t digits = 0;
	int64_t v;

	while (digits < s.n && str_is_digit(s.p[digits]))
		digits++;
	tail = str_from(s, digits);
	if (tail.n == 0)
		tail = str_of(bare);
	u = type == CONF_DURATION ? unit_find(SPANS, COUNT_OF(SPANS), tail)
				  : unit_find(SIZES, COUNT_OF(SIZES), tail);
	return u && str_int((struct str){s.p, digits}, &v) &&
	       !__builtin_mul_overflow(v, u->of_one, ret);
}

static bool
read_bool(struct str s, int64_t *ret)
{
	/* Each false one is followed by its opposite. */
	static const char *const WORDS[] = {
	    "false", "true", "no", "yes", "off", "on", "0", "1"};

	for (size_t i = 0; i < COUNT_OF(WORDS); i++)
		if (str_eq_nocase(s, str_of(WORDS[i]))) {
			*ret = i % 2;
			return true;
		}
	return false;
}

static bool
read_url(const char *schemes, struct str s)
{
	struct str rest = str_of(schemes);

	while (rest.n > 0) {
		struct str scheme = str_cut(&rest, '|');
		struct str tail = str_from(s, scheme.n);

		if (str_starts(s, scheme) && str_starts(tail, STR("://")))
			return tail.n > 3 && !str_has(s, ' ');
	}
	return false;
}

/* Items without the blanks around them; false when one is empty. */
static bool
read_list(struct str s, struct buf *b)
{
	bool more = s.n > 0;

	while (more) {
		struct str item;

		more = str_has(s, ',');
		item = str_trim(str_cut(&s, ','));
		if (item.n == 0)
			return false;
		if (b->n > 0)
			buf_addc(b, ',');
		buf_add(b, item);
	}
	return true;
}

static bool
plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return false;
	return str_utf8_bad(s) == s.n;
}

static bool
is_number(enum conf_type t)
{
	return t == CONF_INT || t == CONF_DURATION || t == CONF_SIZE;
}

static bool
is_text(enum conf_type t)
{
	return !is_number(t) && t != CONF_BOOL;
}

/* Checks; a list comes out in *b, everything else stays as it was given. */
static bool
good_text(const struct conf_key *k, struct str s, struct buf *b)
{
	if (!plain(s) || s.n > CONF_TEXT_MAX)
		return false;
	if (k->type == CONF_CHOICE)
		return str_listed(str_of(k->of), '|', s);
	if (s.n < (size_t)k->least || s.n > (size_t)k->most)
		return false;
	if (k->type == CONF_URL)
		return s.n == 0 || read_url(k->of, s);
	return k->type != CONF_LIST || read_list(s, b);
}

static bool
good_number(const struct conf_key *k, struct str s, int64_t *ret)
{
	bool ok = k->type == CONF_INT
		      ? str_int(s, ret)
		      : read_amount(k->type, k->type == CONF_SIZE ? "B" : k->of,
			    s, ret);

	return ok && *ret >= k->least && *ret <= k->most;
}

static int
value_refuse(const struct conf_key *k, struct str text, struct err *e)
{
	bool hide = k->type == CONF_SECRET || k->type == CONF_URL;
	struct buf allowed CLEANUP(buf_done) = BUF(KIB);
	struct str a;

	conf_value_allowed(k, &allowed);
	a = buf_str(&allowed);
	if (hide || !plain(text))
		return err_set(
		    e, ERR_INVALID, "%s must be %.*s", k->name, STR_ARG(a));
	return err_set(e, ERR_INVALID, "%s must be %.*s, not \"%.*s\"", k->name,
	    STR_ARG(a), text.n < 40 ? (int)text.n : 40, text.p);
}

int
conf_value_read(const struct conf_key *k, struct str text, struct arena *a,
    void *field, struct err *e)
{
	struct buf list CLEANUP(buf_done) = BUF(2 * CONF_TEXT_MAX);
	int64_t v = 0;

	if (is_number(k->type) && good_number(k, text, &v))
		*(int64_t *)field = v;
	else if (k->type == CONF_BOOL && read_bool(text, &v))
		*(bool *)field = v;
	else if (is_text(k->type) && good_text(k, text, &list))
		*(const char **)field =
		    arena_z(a, k->type == CONF_LIST ? buf_str(&list) : text);
	else
		return value_refuse(k, text, e);
	return OK;
}

static void
write_amount(const struct unit *units, size_t n, const char *bare, int64_t v,
    struct buf *b)
{
	while (n > 0 && (v == 0 || v % units[n - 1].of_one != 0))
		n--;
	buf_int(b, n > 0 ? v / units[n - 1].of_one : v);
	buf_addz(b, n > 0 ? units[n - 1].name : bare);
}

static void
write_number(const struct conf_key *k, int64_t v, struct buf *b)
{
	if (k->type == CONF_DURATION)
		write_amount(SPANS, COUNT_OF(SPANS), "s", v, b);
	else if (k->type == CONF_SIZE)
		write_amount(SIZES, WRITTEN, "", v, b);
	else
		buf_int(b, v);
}

static void
write_text(struct str s, struct buf *b)
{
	bool quote = s.n == 0 || str_trim(s).n < s.n || str_has(s, '"') ||
		     str_has(s, '#');

	if (!quote) {
		buf_add(b, s);
		return;
	}
	buf_addc(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_addc(b, '\\');
		buf_addc(b, s.p[i]);
	}
	buf_addc(b, '"');
}

/*
 * Writes scheme://user:password@host/path?password=… with passwords masked and
 * returns how many there were. A password may hold an unescaped @ or :, so
 * the last @ before the path ends it.
 */
static size_t
write_url(struct str url, struct buf *b)
{
	const char *sep = memmem(url.p, url.n, "://", 3);
	size_t host = sep ? (size_t)(sep - url.p) + 3 : 0, n = 0;
	struct str user = str_from(url, host), rest;
	const char *at;

	user.n = strcspn(user.p, "/?");
	at = memrchr(user.p, '@', user.n);
	user.n = at ? (size_t)(at - user.p) : 0;
	rest = str_from(url, host + user.n);
	buf_add(b, (struct str){url.p, host});
	buf_add(b, str_cut(&user, ':'));
	if (user.n > 0) {
		buf_addz(b, ":" MASK);
		n++;
	}
	while ((at = memmem(rest.p, rest.n, "password=", 9))) {
		size_t upto = (size_t)(at - rest.p) + 9;

		buf_add(b, (struct str){rest.p, upto});
		buf_addz(b, MASK);
		rest = str_from(rest, upto + strcspn(rest.p + upto, "&"));
		n++;
	}
	buf_add(b, rest);
	return n;
}

bool
conf_value_masked(const struct conf_key *k, const void *field)
{
	struct buf b CLEANUP(buf_done) = BUF(4 * CONF_TEXT_MAX);
	struct str text;

	if (k->type != CONF_SECRET && k->type != CONF_URL)
		return false;
	text = str_of(*(const char *const *)field);
	return k->type == CONF_SECRET ? text.n > 0 : write_url(text, &b) > 0;
}

void
conf_value_write(const struct conf_key *k, const void *field, struct buf *b)
{
	if (is_number(k->type))
		write_number(k, *(const int64_t *)field, b);
	else if (k->type == CONF_BOOL)
		buf_addz(b, *(const bool *)field ? "true" : "false");
	else if (!conf_value_masked(k, field))
		write_text(str_of(*(const char *const *)field), b);
	else if (k->type == CONF_SECRET)
		buf_addz(b, MASK);
	else
		(void)write_url(str_of(*(const char *const *)field), b);
}

static void
words(const char *of, const char *after, struct buf *b)
{
	struct str rest = str_of(of);

	while (rest.n > 0) {
		buf_add(b, str_cut(&rest, '|'));
		buf_addz(b, after);
		if (rest.n > 0)
			buf_addz(b, str_has(rest, '|') ? ", " : " or ");
	}
}

static void
range(const struct conf_key *k, struct buf *b)
{
	buf_addz(b, " from ");
	write_number(k, k->least, b);
	buf_addz(b, " to ");
	write_number(k, k->most, b);
}

void
conf_value_allowed(const struct conf_key *k, struct buf *b)
{
	switch (k->type) {
	case CONF_INT:
		buf_addz(b, "a whole number");
		range(k, b);
		if (k->of[0])
			buf_fmt(b, " (%s)", k->of);
		break;
	case CONF_DURATION:
		buf_addz(b, "a duration");
		range(k, b);
		buf_fmt(b, ", such as 500ms, 10s, 5m or a number of %s", k->of);
		break;
	case CONF_SIZE:
		buf_addz(b, "a size");
		range(k, b);
		buf_addz(b, ", such as 5MB, 1MiB or a number of bytes");
		break;
	case CONF_BOOL:
		buf_addz(b, "true or false");
		break;
	case CONF_CHOICE:
		words(k->of, "", b);
		break;
	case CONF_URL:
		buf_addz(b, "a URL beginning with ");
		words(k->of, "://", b);
		break;
	case CONF_LIST:
		buf_addz(b, "a list separated by commas, no item empty");
		break;
	case CONF_TEXT:
	case CONF_PATH:
	case CONF_SECRET:
		buf_addz(b, k->type == CONF_PATH ? "a path" : "text");
		buf_fmt(b, " of %lld to %lld bytes", (long long)k->least,
		    (long long)k->most);
		break;
	}
}
