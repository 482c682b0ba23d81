#include "base/log/log.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define HELD_MAX ((size_t)16 << 10)

static struct {
	enum log_level least;
	enum log_form form;
	int fd;
} setup = {LOG_INFO, LOG_JSON, STDERR_FILENO};

/* Part of the thread, so that nobody has to free it. */
static _Thread_local struct {
	bool on;
	size_t n;
	char lines[HELD_MAX];
} held;

static const char *const LEVELS[] = {"debug", "info", "warn", "error"};

void
log_setup(enum log_level least, enum log_form form, int fd)
{
	setup.least = least;
	setup.form = form;
	setup.fd = fd;
}

bool
log_on(enum log_level level)
{
	return level >= setup.least;
}

static void
write_all(struct str s)
{
	while (s.n > 0) {
		ssize_t n = write(setup.fd, s.p, s.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nowhere to say that we can't say it */
		s = str_from(s, (size_t)n);
	}
}

static void
flush_held(void)
{
	write_all((struct str){held.lines, held.n});
	held.n = 0;
}

/* Inline: most have a size that the compiler knows. */
static inline void
line_put(struct log_line *l, struct str s)
{
	size_t room = l->cap - l->n - 4; /* for ...}\n */
	size_t n = s.n < room ? s.n : room;

	if (n > 0)
		memcpy(l->to + l->n, s.p, n);
	l->n += n;
}

/* Most values are ids and names, which need no escape. */
static bool
plain(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] < ' ' || v.p[i] > '~' || v.p[i] == '"' ||
		    v.p[i] == '\\')
			return false;
	return true;
}

/* As buf_json, cut at a character so that what is written stays JSON. */
static void
line_escaped(struct log_line *l, struct str v)
{
	struct buf b CLEANUP(buf_done) = BUF(3 * l->cap);
	size_t room = l->cap - l->n - 8;
	size_t good = str_utf8_bad(v);
	bool cut = good < v.n;

	v.n = good;
	for (;;) {
		buf_clear(&b);
		buf_json(&b, v);
		if (!b.failed && b.n <= room)
			break;
		cut = true;
		v.n = v.n > 64 ? v.n / 2 : 0;
		v.n = str_utf8_bad(v);
		if (v.n == 0 && room < 8)
			break;
	}
	if (b.n <= room && !b.failed) {
		line_put(l, (struct str){b.p, b.n - 1});
		line_put(l, cut ? STR("~\"") : STR("\""));
	}
}

static void
line_quoted(struct log_line *l, struct str v)
{
	if (v.n + 8 > l->cap - l->n || !plain(v)) {
		line_escaped(l, v);
		return;
	}
	line_put(l, STR("\""));
	line_put(l, v);
	line_put(l, STR("\""));
}

void
log_begin(struct log_line *l, enum log_level level, const char *msg)
{
	log_begin_long(l, level, msg, l->text, sizeof(l->text));
}

void
log_begin_long(struct log_line *l, enum log_level level, const char *msg,
    char *mem, size_t cap)
{
	char now[TIME_LEN + 1];

	l->to = mem;
	l->cap = cap;
	l->n = 0;
	l->on = log_on(level);
	if (!l->on)
		return;
	time_format(clock_now_us(), now);
	if (setup.form == LOG_TEXT) {
		int n = snprintf(
		    l->to, l->cap, "%s %-5s %s", now, LEVELS[level], msg);

		l->n = n > 0 ? (size_t)n : 0;
		return;
	}
	line_put(l, STR("{\"time\":\""));
	line_put(l, (struct str){now, TIME_LEN});
	line_put(l, STR("\",\"level\":\""));
	line_put(l, str_of(LEVELS[level]));
	line_put(l, STR("\",\"msg\":"));
	line_quoted(l, str_of(msg));
}

/* The key, when a value of `need` bytes can still stand behind it. */
static bool
key(struct log_line *l, const char *name, size_t need)
{
	if (!l->on || l->cap - l->n < strlen(name) + need + 16)
		return false;
	line_put(l, setup.form == LOG_TEXT ? STR(" ") : STR(",\""));
	line_put(l, str_of(name));
	line_put(l, setup.form == LOG_TEXT ? STR("=") : STR("\":"));
	return true;
}

void
log_str(struct log_line *l, const char *name, struct str v)
{
	if (key(l, name, 16))
		line_quoted(l, v);
}

static void
line_uuid(struct log_line *l, struct uuid v)
{
	char text[UUID_LEN + 3];

	text[0] = '"';
	uuid_format(v, text + 1);
	text[UUID_LEN + 1] = '"';
	line_put(l, (struct str){text, UUID_LEN + 2});
}

void
log_uuid(struct log_line *l, const char *name, struct uuid v)
{
	if (key(l, name, UUID_LEN + 2))
		line_uuid(l, v);
}

void
log_uuids(struct log_line *l, const char *name, const struct uuid *v, size_t n)
{
	enum { ONE = UUID_LEN + 3, END = 16 };

	if (!key(l, name, END))
		return;
	line_put(l, STR("["));
	for (size_t i = 0; i < n && l->cap - l->n >= ONE + END; i++) {
		if (i > 0)
			line_put(l, STR(","));
		line_uuid(l, v[i]);
	}
	line_put(l, STR("]"));
}

void
log_int(struct log_line *l, const char *name, int64_t v)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)v);

	if (key(l, name, sizeof(text)))
		line_put(l, (struct str){text, (size_t)n});
}

void
log_end(struct log_line *l)
{
	struct str s;

	if (!l->on)
		return;
	line_put(l, setup.form == LOG_TEXT ? STR("\n") : STR("}\n"));
	s = (struct str){l->to, l->n};
	if (held.on && s.n > sizeof(held.lines) - held.n)
		flush_held();
	if (!held.on || s.n > sizeof(held.lines)) {
		write_all(s);
		return;
	}
	memcpy(held.lines + held.n, s.p, s.n);
	held.n += s.n;
}

void
log_err(enum log_level level, const char *msg, const struct err *e)
{
	struct log_line l;

	log_begin(&l, level, msg);
	if (e && e->code != OK)
		log_str(&l, "error", str_of(e->text));
	log_end(&l);
}

void
log_fmt(enum log_level level, const char *msg, const char *fmt, ...)
{
	struct log_line l;
	char text[512];
	va_list ap;

	if (!log_on(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_begin(&l, level, msg);
	log_str(&l, "detail", str_of(text));
	log_end(&l);
}

void
log_hold(void)
{
	held.on = true;
}

void
log_release(void)
{
	held.on = false;
	flush_held();
}
