/*
 * xml_print_test.h - for tests: what xml_read() calls, as XML again.
 */
#pragma once

#include "markup/limits.h"
#include "markup/xml.h"

struct xml_print {
	struct buf to;
	size_t depth, deepest;
	bool faulty;
};

static void
xml_print_escaped(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '&')
			buf_addz(b, "&amp;");
		else if (c == '<')
			buf_addz(b, "&lt;");
		else if (c == '>')
			buf_addz(b, "&gt;");
		else if (c == '"')
			buf_addz(b, "&quot;");
		else if (c < ' ')
			buf_fmt(b, "&#%d;", c);
		else
			buf_addc(b, (char)c);
	}
}

static void
xml_print_name(struct buf *b, struct str prefix, struct str name)
{
	buf_add(b, prefix);
	buf_addz(b, prefix.n > 0 ? ":" : "");
	buf_add(b, name);
}

static bool
xml_print_start(void *ctx, const struct xml_tag *t)
{
	struct xml_print *p = ctx;

	p->depth++;
	p->deepest = p->depth > p->deepest ? p->depth : p->deepest;
	buf_addc(&p->to, '<');
	xml_print_name(&p->to, t->prefix, t->name);
	for (size_t i = 0; i < t->n_attrs; i++) {
		buf_addc(&p->to, ' ');
		xml_print_name(&p->to, t->attrs[i].prefix, t->attrs[i].name);
		buf_addz(&p->to, "=\"");
		xml_print_escaped(&p->to, t->attrs[i].value);
		buf_addc(&p->to, '"');
	}
	buf_addc(&p->to, '>');
	return true;
}

static void
xml_print_text(void *ctx, struct str text, bool bare)
{
	struct xml_print *p = ctx;

	assert(p->depth > 0);
	assert(!bare ||
	       (!memchr(text.p, '&', text.n) && !memchr(text.p, '<', text.n)));
	xml_print_escaped(&p->to, text);
}

static void
xml_print_end(void *ctx, const struct xml_tag *t)
{
	struct xml_print *p = ctx;

	assert(p->depth > 0);
	p->depth--;
	buf_addz(&p->to, "</");
	xml_print_name(&p->to, t->prefix, t->name);
	buf_addc(&p->to, '>');
}

/* As feed_parse() does it: again, when it must be. The caller frees p->to. */
static void
xml_print(struct str s, struct str doctype, struct xml_print *p)
{
	static const struct xml_calls CALLS = {
	    xml_print_start, xml_print_text, xml_print_end, NULL};
	int rc;

	*p = (struct xml_print){.to = BUF(FEED_TEXT_MAX)};
	rc = xml_read(s, doctype, false, &CALLS, p, &p->faulty);
	if (rc == ERR_SYNTAX) {
		buf_clear(&p->to);
		p->depth = p->deepest = 0;
		rc = xml_read(s, doctype, true, &CALLS, p, &p->faulty);
		assert(p->faulty);
	}
	assert(rc == OK && p->depth == 0);
}
