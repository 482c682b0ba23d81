/*
 * xml_value.h - what one element of a feed says, in its text or attributes.
 */
#pragma once

#include "markup/xml.h"

struct feed_item;
struct making;
struct slots;

/* By its name without prefix; empty when it is not there. */
struct str value_attr(const struct xml_tag *t, struct str name);
/* xml:base on top of the one around. */
struct str value_base(
    const struct xml_tag *t, struct arena *arena, struct str outer);

/* An element that is being captured. */
struct value {
	const struct element *e;
	struct buf text; /* its memory goes on to the next */
	bool markup; /* elements in it are kept; from here on, anew for each */
	bool escape; /* its text is markup too: < is &lt; */
	bool naked;  /* it turned out to be elements: its text is markup too */
	bool first;  /* nothing in it yet */
	bool tagged; /* an element was in it */
	/* XHTML stands in the div that Atom wants around it: where that one's
	 * content is, and where it ends; 0: there is none. */
	size_t div_from, div_to, div_end;
	struct str div_base;
	struct str type, mode, href; /* the arena's */
	bool no_link, a_link;        /* isPermaLink: false, true */
};

void value_begin(struct value *v, struct arena *a, const struct element *e,
    const struct xml_tag *t);
/* `bare`: neither & nor < is in it. */
void value_text(struct value *v, struct str text, bool bare);
/* Elements in it, `level` of them open with this one. */
void value_start(
    struct value *v, size_t level, const struct xml_tag *t, struct str base);
void value_end(struct value *v, size_t level, const struct xml_tag *t);
/* It is complete. `it` is NULL outside of items. */
void value_keep(struct value *v, struct making *m, struct slots *s,
    struct feed_item *it, struct str base);
/* For kinds that say it in attributes alone. */
void value_attrs(const struct element *e, struct making *m, struct slots *s,
    struct feed_item *it, struct str base, const struct xml_tag *t);
