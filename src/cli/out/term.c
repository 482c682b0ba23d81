#include "cli/out/term.h"

#include <locale.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/limits.h"

int
term_begin(struct cli *c, struct err *e)
{
	const char *when = args_text(&c->args, "color");
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!when || strcmp(when, "auto") == 0)
		c->colour = isatty(fileno(c->out)) && (!none || !none[0]) &&
			    term && strcmp(term, "dumb") != 0;
	else if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
		c->colour = when[0] == 'a';
	else
		return cli_usage(c, e, "--color must be auto, always or never");
	return OK;
}

void
term_tint(struct cli *c, enum tint t)
{
	static const char *const CODES[] = {[TINT_NONE] = "0",
	    [TINT_HEAD] = "1",
	    [TINT_GOOD] = "32",
	    [TINT_BAD] = "31",
	    [TINT_WAIT] = "33",
	    [TINT_DIM] = "2"};

	if (c->colour)
		(void)fprintf(c->out, "\033[%sm", CODES[t]);
}

enum tint
term_tint_of(struct str word)
{
	static const struct {
		const char *words;
		enum tint tint;
	} ROWS[] = {
	    {"SUCCESS ok done good requeued live enabled", TINT_GOOD},
	    {"DEAD_LETTER DROPPED failed revoked expired held open disabled",
		TINT_BAD},
	    {"RETRY_PENDING PROCESSING PENDING running stopped skipped behind waiting",
		TINT_WAIT},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		if (word.n > 0 && str_listed(str_of(ROWS[i].words), ' ', word))
			return ROWS[i].tint;
	return TINT_NONE;
}

/* Bytes from here on that are to be spelled out; 0: it can be shown. */
static size_t
odd(struct str s, bool lines)
{
	unsigned char c = (unsigned char)s.p[0];
	size_t n = str_utf8_len(s);

	if (n == 0)
		return 1;
	if (c == '\n' || c == '\t')
		return lines ? 0 : 1;
	/* U+0080 to U+009F are controls too. */
	if (n == 2 && c == 0xc2 && (unsigned char)s.p[1] < 0xa0)
		return 2;
	return c < 0x20 || c == 0x7f;
}

struct str
term_clean(struct arena *a, struct str s, bool lines)
{
	struct buf b CLEANUP(buf_done) = BUF(CLI_SHOWN_MAX);
	size_t at = 0;

	while (at < s.n && odd(str_from(s, at), lines) == 0)
		at += str_utf8_len(str_from(s, at));
	if (at >= s.n)
		return s;
	for (at = 0; at < s.n;) {
		struct str rest = str_from(s, at);
		size_t n = odd(rest, lines);

		for (size_t i = 0; i < n; i++)
			buf_fmt(&b, "\\x%02x", (unsigned char)rest.p[i]);
		if (n == 0) {
			n = str_utf8_len(rest);
			buf_add(&b, (struct str){rest.p, n});
		}
		at += n;
	}
	return arena_dup(a, buf_str(&b));
}

/* Columns of the character that s begins with; *ret_n: its bytes. */
static size_t
width_one(struct str s, size_t *ret_n)
{
	mbstate_t state = {0};
	wchar_t wide = 0;
	size_t n = mbrtowc(&wide, s.p, s.n, &state);
	int w;

	*ret_n = n > 0 && n <= s.n ? n : 1;
	w = n > 0 && n <= s.n ? wcwidth(wide) : 1;
	return w < 0 ? 1 : (size_t)w;
}

/* Columns up to `most`, and the bytes that these are. */
static size_t
measure(struct str s, size_t most, size_t *ret_bytes)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t was = utf8 ? uselocale(utf8) : (locale_t)0;
	size_t columns = 0, at = 0, n = 0;

	while (at < s.n) {
		size_t w = width_one(str_from(s, at), &n);

		if (columns + w > most)
			break;
		columns += w;
		at += n;
	}
	if (utf8) {
		(void)uselocale(was);
		freelocale(utf8);
	}
	*ret_bytes = at;
	return columns;
}

size_t
term_width(struct str s)
{
	size_t bytes;

	return measure(s, SIZE_MAX / 2, &bytes);
}

struct str
term_fit(struct arena *a, struct str s, size_t columns)
{
	size_t bytes = 0;

	(void)measure(s, columns, &bytes);
	if (bytes == s.n || columns == 0)
		return s;
	(void)measure(s, columns - 1, &bytes);
	return arena_fmt(a, "%.*s…", (int)bytes, s.p);
}

size_t
term_columns(void)
{
	struct winsize size = {0};

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
		   ? size.ws_col
		   : 80;
}

void
term_progress(struct cli *c, bool ended, const char *fmt, ...)
{
	va_list args;

	if (!isatty(fileno(c->err)))
		return;
	(void)fputc('\r', c->err);
	va_start(args, fmt);
	(void)vfprintf(c->err, fmt, args);
	va_end(args);
	(void)fputs(ended ? "\033[K\n" : "\033[K", c->err);
	(void)fflush(c->err);
}
