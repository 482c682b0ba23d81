#include "feed/xmlfix.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "feed/entity.h"

struct open {
	struct str name;
	bool item; /* an item, or what holds items */
};

struct fix {
	struct str s; /* what is still to be read */
	struct buf *to;
	struct open open[FEED_DEPTH_MAX];
	size_t depth, beyond; /* beyond: open ones that were left out */
	struct str attrs[FEED_ATTRS_MAX];
	/* Ends that were looked for in vain: don't look again. */
	bool no_comment_end, no_cdata_end, no_pi_end, no_doctype_end;
	const char *cdata_end; /* the next ]]> */
};

static bool
name_start(char c)
{
	char low = (char)(c | 0x20);

	return (low >= 'a' && low <= 'z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool
name_char(char c)
{
	return name_start(c) || (c >= '0' && c <= '9') || c == '-' ||
	       c == '.' || c == ':';
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str
take_name(struct str *s)
{
	struct str name = {s->p, 0};

	while (name.n < s->n && name_char(s->p[name.n]))
		name.n++;
	*s = str_from(*s, name.n);
	return name;
}

static struct str
local(struct str name)
{
	const char *colon = memchr(name.p, ':', name.n);

	return colon ? str_from(name, (size_t)(colon - name.p) + 1) : name;
}

static bool
among(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(name, list[i]))
			return true;
	return false;
}

static const struct str ITEMS[] = {STR("item"), STR("entry")};
static const struct str FRAME[] = {STR("item"), STR("entry"), STR("channel"),
    STR("rss"), STR("feed"), STR("rdf")};
static const struct str VOIDS[] = {STR("br"), STR("hr"), STR("img"),
    STR("input"), STR("meta"), STR("wbr"), STR("area"), STR("col"),
    STR("embed"), STR("param"), STR("track")};

static const char *
find(struct str s, struct str what)
{
	return memmem(s.p, s.n, what.p, what.n);
}

/* What can't go through as it is: markup, what no XML may hold, and 0xef,
 * with which U+FFFE and U+FFFF begin. */
static const bool STOPS[256] = {
    [0 ... 8] = true,
    [11] = true,
    [12] = true,
    [14 ... 31] = true,
    ['"'] = true,
    ['&'] = true,
    ['<'] = true,
    ['>'] = true,
    [0xef] = true,
};

/* The character as XML has it; nothing when XML doesn't. */
static void
add_escaped(struct fix *f, struct str c)
{
	const char *as = NULL;

	if (c.p[0] == '&')
		as = "&amp;";
	else if (c.p[0] == '<')
		as = "&lt;";
	else if (c.p[0] == '>')
		as = "&gt;";
	else if (c.p[0] == '"')
		as = "&quot;";
	else if (c.n == 1 && c.p[0] >= 0 && c.p[0] < ' ' &&
		 STOPS[(unsigned char)c.p[0]])
		as = "";
	if (as)
		buf_addz(f->to, as);
	else
		buf_add(f->to, c);
}

/* One of XML's own references, as most are: its length. */
static size_t
own_reference(struct str s)
{
	static const struct str OWN[] = {
	    STR("&lt;"), STR("&gt;"), STR("&amp;"), STR("&quot;")};

	for (size_t i = 0; i < COUNT_OF(OWN); i++)
		if (str_starts(s, OWN[i]))
			return OWN[i].n;
	return 0;
}

/* Text or an attribute's value; `refs`: references are read. */
static void
add_text(struct fix *f, struct str s, bool refs)
{
	while (s.n > 0) {
		size_t n = 0, took = 0, len = 0;
		char room[ENTITY_UTF8_MAX];

		while (n < s.n && !STOPS[(unsigned char)s.p[n]])
			n++;
		buf_add(f->to, (struct str){s.p, n});
		s = str_from(s, n);
		if (s.n == 0)
			break;
		if (refs && s.p[0] == '&') {
			n = own_reference(s);
			buf_add(f->to, (struct str){s.p, n});
			s = str_from(s, n);
			if (n > 0)
				continue;
			took = entity_read(s, room, &len);
		}
		if (took > 0)
			add_escaped(f, (struct str){room, len});
		else if (s.n > 2 && s.p[0] == '\xef' && s.p[1] == '\xbf' &&
			 (unsigned char)s.p[2] >= 0xbe)
			took = 3;
		else
			add_escaped(f, (struct str){s.p, 1});
		s = str_from(s, took > 0 ? took : 1);
	}
}

static void
write_name(struct fix *f, struct str name)
{
	bool colon = false;

	while (name.n > 0 && name.p[name.n - 1] == ':')
		name.n--;
	for (size_t i = 0; i < name.n; i++) {
		buf_addc(f->to, name.p[i] == ':' && colon ? '_' : name.p[i]);
		colon = colon || name.p[i] == ':';
	}
}

static void
close_top(struct fix *f)
{
	buf_addz(f->to, "</");
	write_name(f, f->open[--f->depth].name);
	buf_addc(f->to, '>');
}

/* ---- tags ---- */

static void
end_tag(struct fix *f, struct str name)
{
	bool frame = among(local(name), FRAME, COUNT_OF(FRAME));
	size_t at = f->depth;

	if (f->beyond > 0 && !frame) {
		f->beyond--;
		return;
	}
	while (at > 0 && !str_eq(f->open[at - 1].name, name)) {
		if (str_eq_nocase(f->open[at - 1].name, name))
			break;
		if (f->open[at - 1].item && !frame)
			return;
		at--;
	}
	/* The root stays open. */
	if (at <= 1)
		return;
	f->beyond = 0;
	while (f->depth >= at)
		close_top(f);
}

/* An item begins: what is open of another one ends. */
static void
end_items(struct fix *f)
{
	for (size_t at = f->depth; at > 1; at--)
		if (among(
			local(f->open[at - 1].name), ITEMS, COUNT_OF(ITEMS))) {
			while (f->depth >= at)
				close_top(f);
			f->beyond = 0;
			return;
		}
}

/*
 * One attribute, blanks before it gone. False when it runs into a <: then the
 * tag was none. A quote that is never closed ends at the tag's >.
 */
static bool
attribute(struct str *s, struct str *ret_name, struct str *ret_value)
{
	size_t n = 0;

	*ret_name = take_name(s);
	*ret_value = *ret_name;
	while (s->n > 0 && blank(s->p[0]))
		*s = str_from(*s, 1);
	if (s->n == 0 || s->p[0] != '=')
		return true;
	do
		*s = str_from(*s, 1);
	while (s->n > 0 && blank(s->p[0]));
	if (s->n > 0 && (s->p[0] == '"' || s->p[0] == '\'')) {
		char quote = s->p[0];
		size_t gt = SIZE_MAX;

		*s = str_from(*s, 1);
		for (; n < s->n && s->p[n] != quote; n++) {
			if (s->p[n] == '>' && gt == SIZE_MAX)
				gt = n;
			if (s->p[n] == '<')
				break;
		}
		if (n < s->n && s->p[n] == quote) {
			*ret_value = (struct str){s->p, n};
			*s = str_from(*s, n + 1);
			return true;
		}
		if (gt == SIZE_MAX)
			return false;
		n = gt - (gt > 0 && s->p[gt - 1] == '/');
	} else {
		while (n < s->n && !blank(s->p[n]) && s->p[n] != '>' &&
		       s->p[n] != '<')
			n++;
		if (n < s->n && s->p[n] == '>' && n > 0 && s->p[n - 1] == '/')
			n--;
	}
	*ret_value = (struct str){s->p, n};
	*s = str_from(*s, n);
	return true;
}

/* Is it a tag from here to a >? Writes nothing. */
static bool
measure(struct str s, bool *ret_closed, struct str *ret_rest)
{
	struct str name, value;

	*ret_closed = false;
	while (s.n > 0 && s.p[0] != '>') {
		if (s.p[0] == '<')
			return false;
		*ret_closed = s.p[0] == '/';
		if (name_start(s.p[0])) {
			*ret_closed = false;
			if (!attribute(&s, &name, &value))
				return false;
		} else {
			s = str_from(s, 1);
		}
	}
	if (s.n == 0)
		return false;
	*ret_rest = str_from(s, 1);
	return true;
}

static void
write_attributes(struct fix *f, struct str s, const char *end)
{
	size_t n = 0;

	while (s.p < end && s.p[0] != '>') {
		struct str name, value;

		if (!name_start(s.p[0])) {
			s = str_from(s, 1);
			continue;
		}
		if (!attribute(&s, &name, &value))
			return;
		while (name.p[name.n - 1] == ':')
			name.n--;
		if (n == FEED_ATTRS_MAX || among(name, f->attrs, n) ||
		    str_has(local(name), ':'))
			continue;
		f->attrs[n++] = name;
		buf_addc(f->to, ' ');
		write_name(f, name);
		buf_addz(f->to, "=\"");
		add_text(f, value, true);
		buf_addc(f->to, '"');
	}
}

/* f->s stands at the <; false when it is text. */
static bool
start_tag(struct fix *f)
{
	struct str s = str_from(f->s, 1), name, rest = STR_EMPTY;
	bool closed = false, item;

	name = take_name(&s);
	/* "a<b" with nothing behind: neither end nor blank. */
	if (s.n > 0 && !blank(s.p[0]) && s.p[0] != '>' && s.p[0] != '/')
		return false;
	if (!measure(s, &closed, &rest)) {
		/* Cut in two by the end: it goes. */
		if (!memchr(s.p, '<', s.n) && !memchr(s.p, '>', s.n)) {
			f->s = STR_EMPTY;
			return true;
		}
		return false;
	}
	f->s = rest;
	item = among(local(name), FRAME, COUNT_OF(FRAME));
	if (among(local(name), ITEMS, COUNT_OF(ITEMS)))
		end_items(f);
	if (f->depth == FEED_DEPTH_MAX) {
		f->beyond += !closed;
		return true;
	}
	buf_addc(f->to, '<');
	write_name(f, name);
	write_attributes(f, s, rest.p);
	closed = closed || among(name, VOIDS, COUNT_OF(VOIDS));
	if (closed && f->depth > 0) {
		buf_addz(f->to, "/>");
		return true;
	}
	buf_addc(f->to, '>');
	while (name.n > 0 && name.p[name.n - 1] == ':')
		name.n--;
	f->open[f->depth++] = (struct open){name, item};
	return true;
}

/* ---- what begins with <! or <? ---- */

/* Up to and with `end`; false when there is none. */
static bool
skip_to(struct fix *f, size_t from, struct str end, bool *none)
{
	const char *at = *none ? NULL : find(str_from(f->s, from), end);

	if (!at) {
		*none = true;
		return false;
	}
	f->s = str_from(f->s, (size_t)(at - f->s.p) + end.n);
	return true;
}

size_t
xmlfix_doctype(struct str s)
{
	size_t brackets = 0;
	char quote = 0;

	for (size_t i = 2; i < s.n; i++) {
		char c = s.p[i];

		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (brackets > 0 && (c == '"' || c == '\'')) {
			quote = c;
		} else if (c == '[') {
			brackets++;
		} else if (c == ']') {
			brackets -= brackets > 0;
		} else if (c == '>' && brackets == 0) {
			return i + 1;
		}
	}
	return 0;
}

static void
doctype(struct fix *f)
{
	size_t n = f->no_doctype_end ? 0 : xmlfix_doctype(f->s);

	f->no_doctype_end = n == 0;
	if (n > 0)
		f->s = str_from(f->s, n);
	else /* at least its first line goes */
		(void)str_cut(&f->s, '>');
}

/* The end tag of what is open now, up to `end`; NULL when there is none. */
static const char *
own_end(const struct fix *f, struct str s)
{
	struct str name = f->depth > 0 ? f->open[f->depth - 1].name : STR_EMPTY;

	while (name.n > 0) {
		const char *at = find(s, STR("</"));

		if (!at)
			break;
		s = str_from(s, (size_t)(at - s.p) + 2);
		if (str_starts(s, name))
			return at;
	}
	return NULL;
}

/*
 * One that never ends goes to the end tag of its element; so does one whose
 * end is that of another, which begins behind that tag.
 */
static void
cdata(struct fix *f)
{
	struct str s = str_from(f->s, 9), within = s;
	const char *next, *end = NULL;

	if (!f->cdata_end || f->cdata_end < s.p) {
		f->cdata_end = f->no_cdata_end ? NULL : find(s, STR("]]>"));
		f->no_cdata_end = !f->cdata_end;
	}
	if (f->cdata_end)
		within.n = (size_t)(f->cdata_end - s.p);
	next = find(within, STR("<![CDATA["));
	if (next && f->cdata_end)
		within.n = (size_t)(next - s.p);
	if (next || !f->cdata_end)
		end = own_end(f, within);
	if (end) {
		f->s = str_from(s, (size_t)(end - s.p));
	} else if (f->cdata_end) {
		end = f->cdata_end;
		f->s = str_from(s, (size_t)(end - s.p) + 3);
	} else {
		end = s.p + s.n;
		f->s = STR_EMPTY;
	}
	if (f->depth > 0)
		add_text(f, (struct str){s.p, (size_t)(end - s.p)}, false);
}

static bool
other_markup(struct fix *f)
{
	if (str_starts(f->s, STR("<!--")))
		return skip_to(f, 4, STR("-->"), &f->no_comment_end);
	if (str_starts(f->s, STR("<![CDATA["))) {
		cdata(f);
		return true;
	}
	if (f->s.p[1] == '?') {
		if (str_starts(f->s, STR("<?xml ")) ||
		    !skip_to(f, 2, STR("?>"), &f->no_pi_end))
			(void)str_cut(&f->s, '>');
		return true;
	}
	if (f->s.n > 9 &&
	    str_eq_nocase((struct str){f->s.p + 2, 7}, STR("doctype"))) {
		doctype(f);
		return true;
	}
	return false;
}

/* True when markup stood there and is done with. */
static bool
markup(struct fix *f)
{
	struct str s = str_from(f->s, 1);

	if (s.n == 0)
		return false;
	if (s.p[0] == '!' || s.p[0] == '?')
		return other_markup(f);
	if (name_start(s.p[0]))
		return start_tag(f);
	if (s.p[0] == '/' && s.n > 1 && name_start(s.p[1])) {
		struct str name;

		s = str_from(s, 1);
		name = take_name(&s);
		while (s.n > 0 && s.p[0] != '>' && s.p[0] != '<')
			s = str_from(s, 1);
		if (s.n > 0 && s.p[0] == '>')
			s = str_from(s, 1);
		f->s = s;
		end_tag(f, name);
		return true;
	}
	return false;
}

void
xmlfix(struct str xml, struct buf *to)
{
	struct fix *f = calloc(1, sizeof(*f));

	if (!f) {
		to->failed = true;
		return;
	}
	f->s = xml;
	f->to = to;
	while (f->s.n > 0 && !to->failed) {
		const char *lt = memchr(f->s.p, '<', f->s.n);
		struct str run = {f->s.p, lt ? (size_t)(lt - f->s.p) : f->s.n};

		/* Outside of the root is no text. */
		if (f->depth > 0)
			add_text(f, run, true);
		f->s = str_from(f->s, run.n);
		if (f->s.n > 0 && !markup(f)) {
			if (f->depth > 0)
				buf_addz(to, "&lt;");
			f->s = str_from(f->s, 1);
		}
	}
	while (f->depth > 0)
		close_top(f);
	free(f);
}
