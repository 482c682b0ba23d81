#include "feed/jsonfix.h"

struct fix {
	struct str s;
	struct buf *to;
	char open[JSON_DEPTH_MAX + 1]; /* what closes them */
	size_t depth;
	size_t safe;       /* what was written when a value was complete */
	size_t safe_depth; /* and what was open then */
};

static int
hex4(struct str s)
{
	unsigned char v[2];

	if (s.n < 4 || !str_unhex((struct str){s.p, 4}, v))
		return -1;
	return v[0] << 8 | v[1];
}

static bool
half(int v, int from)
{
	return v >= from && v < from + 0x400;
}

/* s begins behind "\u"; how many bytes it takes with that. */
static size_t
unicode(struct fix *f, struct str s)
{
	int a = hex4(s), b = -1;
	struct str rest = str_from(s, 4);

	if (a < 0) {
		buf_addz(f->to, "\\\\u");
		return 2;
	}
	if (str_starts(rest, STR("\\u")))
		b = hex4(str_from(rest, 2));
	if (half(a, 0xd800) && half(b, 0xdc00)) {
		buf_fmt(f->to, "\\u%04x\\u%04x", (unsigned)a, (unsigned)b);
		return 12;
	}
	if (half(a, 0xd800) || half(a, 0xdc00))
		a = 0xfffd;
	buf_fmt(f->to, "\\u%04x", (unsigned)a);
	return 6;
}

static size_t
escape(struct fix *f)
{
	if (f->s.n < 2)
		return 1; /* cut off: it goes */
	if (f->s.p[1] == 'u')
		return unicode(f, str_from(f->s, 2));
	if (strchr("\"\\/bfnrt", f->s.p[1]) && f->s.p[1])
		buf_add(f->to, (struct str){f->s.p, 2});
	else if ((unsigned char)f->s.p[1] < 0x20 ||
		 (unsigned char)f->s.p[1] >= 0x80)
		return 1;
	else
		buf_addc(f->to, f->s.p[1]);
	return 2;
}

/* From behind the quote. False when it is never closed. */
static bool
string(struct fix *f)
{
	while (f->s.n > 0) {
		unsigned char c = (unsigned char)f->s.p[0];
		size_t took = 1;

		if (c == '"') {
			buf_addc(f->to, '"');
			f->s = str_from(f->s, 1);
			return true;
		}
		if (c == '\\')
			took = escape(f);
		else if (c == '\n')
			buf_addz(f->to, "\\n");
		else if (c == '\t')
			buf_addz(f->to, "\\t");
		else if (c >= 0x20)
			buf_addc(f->to, (char)c);
		f->s = str_from(f->s, took);
	}
	return false;
}

static void
comment(struct fix *f)
{
	bool line = f->s.p[1] == '/';
	struct str end = line ? STR("\n") : STR("*/");

	f->s = str_from(f->s, 2);
	if (!str_pass(&f->s, end))
		f->s = STR_EMPTY;
}

static void
drop_comma(struct fix *f)
{
	while (f->to->n > 0 && str_is_blank(f->to->p[f->to->n - 1]))
		f->to->n--;
	if (f->to->n > 0 && f->to->p[f->to->n - 1] == ',')
		f->to->n--;
}

/* One sign outside of strings. False when there is no going on. */
static bool
sign(struct fix *f, char c)
{
	if (c == '{' || c == '[') {
		if (f->depth > JSON_DEPTH_MAX)
			return false;
		f->open[f->depth++] = c == '{' ? '}' : ']';
	} else if (c == '}' || c == ']') {
		if (f->depth == 0 || f->open[f->depth - 1] != c)
			return false;
		drop_comma(f);
		f->depth--;
	}
	buf_addc(f->to, c);
	/* Whatever stands before a comma or behind a bracket is complete. */
	if (c == ',')
		f->safe = f->to->n - 1;
	else if (strchr("{[}]", c))
		f->safe = f->to->n;
	else
		return true;
	f->safe_depth = f->depth;
	return true;
}

void
jsonfix(struct str json, struct buf *to)
{
	struct fix f = {.s = str_trim(json), .to = to};
	bool whole = true;

	while (f.s.n > 0 && whole && !to->failed) {
		char c = f.s.p[0];

		if (c == '/' && f.s.n > 1 &&
		    (f.s.p[1] == '/' || f.s.p[1] == '*')) {
			comment(&f);
			continue;
		}
		f.s = str_from(f.s, 1);
		if (c == '"') {
			buf_addc(to, '"');
			whole = string(&f);
		} else {
			whole = sign(&f, c);
		}
		/* What stands behind the document is not of it. */
		if (f.depth == 0 && (c == '}' || c == ']'))
			break;
	}
	if (to->failed || f.depth == 0)
		return;
	to->n = f.safe;
	f.depth = f.safe_depth;
	while (f.depth > 0)
		buf_addc(to, f.open[--f.depth]);
}
