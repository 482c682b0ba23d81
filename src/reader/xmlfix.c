#include "reader/xmlfix.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "reader/entity.h"

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

/* A run of text without < and &, less what no XML may hold. */
static void
add_run(struct fix *f, struct str run)
{
	size_t from = 0;

	for (size_t i = 0; i < run.n; i++) {
		unsigned char c = (unsigned char)run.p[i];
		size_t n = 1;

		if (c == 0xef && run.n - i > 2 && run.p[i + 1] == '\xbf' &&
		    (unsigned char)run.p[i + 2] >= 0xbe)
			n = 3; /* U+FFFE and U+FFFF */
		else if (c >= 0x20 || c == '\t' || c == '\n' || c == '\r')
			continue;
		buf_add(f->to, (struct str){run.p + from, i - from});
		i += n - 1;
		from = i + 1;
	}
	buf_add(f->to, str_from(run, from));
}

/* The character as XML has it. */
static void
add_escaped(struct fix *f, struct str c)
{
	if (c.n == 1 && c.p[0] == '&')
		buf_addz(f->to, "&amp;");
	else if (c.n == 1 && c.p[0] == '<')
		buf_addz(f->to, "&lt;");
	else if (c.n == 1 && c.p[0] == '>')
		buf_addz(f->to, "&gt;");
	else if (c.n == 1 && c.p[0] == '"')
		buf_addz(f->to, "&quot;");
	else
		buf_add(f->to, c);
}

/* Text or an attribute's value; `refs`: references are read. */
static void
add_text(struct fix *f, struct str s, bool refs)
{
	while (s.n > 0) {
		size_t n = 0, took, len = 0;
		char room[ENTITY_UTF8_MAX];

		while (n < s.n && s.p[n] != '&' && s.p[n] != '<' &&
		       s.p[n] != '"' && s.p[n] != '>')
			n++;
		add_run(f, (struct str){s.p, n});
		s = str_from(s, n);
		if (s.n == 0)
			break;
		took = refs && s.p[0] == '&' ? entity_read(s, room, &len) : 0;
		if (took > 0)
			add_escaped(f, (struct str){room, len});
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
		if (n == FEED_ATTRS_MAX || among(name, f->attrs, n))
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

static void
cdata(struct fix *f)
{
	struct str all = str_from(f->s, 9);
	bool whole = skip_to(f, 9, STR("]]>"), &f->no_cdata_end);
	size_t n = all.n;

	if (whole) {
		n = (size_t)(f->s.p - all.p) - 3;
	} else {
		/* Up to the end tag of what it stands in, if there is one. */
		const char *at = NULL;

		for (struct str r = all; f->depth > 0 && !at;) {
			const char *lt = find(r, STR("</"));
			struct str name = f->open[f->depth - 1].name;

			if (!lt)
				break;
			r = str_from(r, (size_t)(lt - r.p) + 2);
			if (str_starts(r, name))
				at = lt;
		}
		n = at ? (size_t)(at - all.p) : all.n;
		f->s = str_from(all, n);
	}
	if (f->depth > 0)
		add_text(f, (struct str){all.p, n}, false);
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
