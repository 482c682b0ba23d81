/*
 * xml.h - reads XML as feeds have it, and calls back.
 *
 * WHY OUR OWN. What feeds hold is nearly XML. A general parser stops at the
 * first stray &, or recovers by hanging items into each other; to mend the text
 * first and then parse it is to read it three times. Here both are one: faults
 * that leave no doubt (references, attributes, signs that XML forbids) are
 * mended on the way. Where elements are closed in the wrong order, it goes on
 * by the rules below; when what was read so far would have been other by them,
 * the caller begins again with `mend`.
 *
 * Mending has rules for feeds, which no general parser has:
 *   - a stray & or < is text; names of HTML become their characters;
 *   - attributes get their quotes; the second of two equal ones goes;
 *   - an end tag closes what is open within it, but none of an item's closes
 *     the item; one that nothing began goes;
 *   - an <item> or <entry> that begins within another ends that one;
 *   - <br>, <img> and the like end themselves;
 *   - the root stays open to the end, for items behind it;
 *   - what is open at the end is closed; a tag cut in two there goes.
 * Until there is such a fault only the first two hold.
 *
 * Comments, instructions and any DOCTYPE go; what the latter defines is in
 * xml_priv.h. Nothing is ever fetched.
 *
 * INVARIANTS
 *   1. What is handed out is UTF-8 when the input is, and without control
 *      characters. Each start has its end, no deeper than FEED_DEPTH_MAX.
 *   2. A byte is looked at a bounded number of times.
 */
#pragma once

#include "base/base.h"

struct xml_attr {
	struct str prefix, name, value;
};

struct xml_tag {
	struct str prefix, name;
	struct str uri; /* of its namespace; empty: none that is known */
	int space;      /* what calls->space made of it and the prefix */
	const struct xml_attr *attrs; /* of a start, without xmlns */
	size_t n_attrs;
};

/* What they are handed lives for the call alone. */
struct xml_calls {
	bool (*start)(void *ctx, const struct xml_tag *tag); /* false: enough */
	/* `bare`: neither & nor < is in it. */
	void (*text)(void *ctx, struct str text, bool bare);
	void (*end)(void *ctx, const struct xml_tag *tag);
	/* A number for a namespace, asked for once each; NULL: 0. */
	int (*space)(struct str uri, struct str prefix);
};

/*
 * `doctype` is what stood before, from <!DOCTYPE to its end, or empty.
 * ERR_SYNTAX, never with `mend`: it must be mended. ERR_LIMIT: a tag's
 * attributes are too large. *ret_faulty: it was not well-formed.
 */
int xml_read(struct str xml, struct str doctype, bool mend,
    const struct xml_calls *calls, void *ctx, bool *ret_faulty) MUST_CHECK;

/* s begins with <!DOCTYPE: how many bytes it takes; 0 when it never ends. */
size_t xml_doctype(struct str s);

/* Of HTML: without content, and so without an end tag. */
bool xml_void(struct str name);
