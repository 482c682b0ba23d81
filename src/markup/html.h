/*
 * html.h - HTML from strangers, read as browsers read it, into a tree.
 *
 * WHAT. The tokenizer and the tree construction of the HTML standard for a
 * fragment inside <body>, with scripting: misnested formatting, tables with
 * text in the wrong place, implied end tags, SVG and MathML, templates, raw
 * text. A whole page may be given as well: its <html>, <head> and <body> tags
 * are passed over, so that what they hold stands at the top. Comments and
 * the doctype are not kept.
 *
 * WHY OUR OWN. Debian has myhtml and gumbo. Both look through the whole stack
 * of open elements for each tag, so that 200 KB of <div> take them 2 to 3
 * seconds and 5 MB over twenty minutes; gumbo compares each attribute with all
 * before it; neither has a bound to set, neither is developed any more. Here
 * the stack, the list of formatting elements and the attributes of a tag are
 * bounded, so that time is linear in the input.
 *
 * HOW FAR LIKE BROWSERS. Elements deeper than HTML_DEPTH_MAX are put in but
 * not entered: what follows stands beside them. Of a tag's attributes the
 * first HTML_ATTRS_MAX are kept, of formatting elements that wait to be
 * opened again the last HTML_FORMAT_MAX. <select> is an ordinary element, as
 * in the standard since 2025.
 *
 * LIFE. All of the tree is the arena's; nothing is borrowed from the input.
 * One thread at a time. When the arena is full the rest of the input is left
 * out, and `cut` says so: a bound for whoever reads strangers' pages.
 *
 * INVARIANTS
 *   1. Nothing recurses, here or in who walks the tree by html_next().
 *   2. Texts and names are valid UTF-8. Names are in lower case.
 *   3. The same bytes give the same tree.
 */
#pragma once

#include "base/base.h"

enum html_tag {
	T_OTHER, /* its name is in `text` */
#define TAG(id, name, start, kept, flags) id,
#include "markup/html_tags.tbl"
#undef TAG
	T_COUNT
};

enum html_ns { NS_HTML, NS_SVG, NS_MATH };

struct html_attr {
	struct str name, value;
};

struct html_node {
	struct html_node *parent, *first, *last, *prev, *next;
	struct html_attr *attrs;
	struct str text; /* the text, or the element's name */
	uint16_t n_attrs;
	uint8_t tag; /* enum html_tag */
	uint8_t ns;  /* enum html_ns */
	bool is_text;
	bool has_block; /* for who walks the tree: below it is a block */
};

struct html {
	struct html_node *root; /* not part of the input */
	bool cut;               /* the arena was full before the end */
};

/* ERR_LIMIT when not even the input fits into the arena. */
int html_parse(struct arena *a, struct str input, struct html *ret,
    struct err *e) MUST_CHECK;

/* The attribute's value; .p is NULL when there is none. */
struct str html_attr(const struct html_node *n, const char *name);
enum html_tag html_tag_find(struct str name); /* in lower case */
const char *html_tag_name(enum html_tag t);   /* not of T_OTHER */
/* Begins a line of its own in a browser, or ends one. */
bool html_is_block(const struct html_node *n);

/*
 * The node behind n in the order of the document, within root; NULL at the
 * end. With `over` its children are left out.
 */
const struct html_node *html_next(
    const struct html_node *root, const struct html_node *n, bool over);
