/*
 * xml_priv.h - signs of XML, text as it is written, and tags.
 */
#pragma once

#include "markup/entity.h"
#include "markup/limits.h"
#include "markup/xml.h"

enum {
	NAME_START = 1,
	NAME = 2,
	BLANK = 4,
	STOP = 8, /* no text as it is: references, and what XML forbids */
};

extern const unsigned char XML_SIGNS[256];

static inline unsigned
sign(char c)
{
	return XML_SIGNS[(unsigned char)c];
}

/* How many bytes of s are text as they are: no STOP is among them. */
size_t xml_plain(struct str s);

/*
 * The entities that a DOCTYPE defines by a text: <!ENTITY name "text">, and
 * nothing else: none from outside, no parameter entities. A text may hold
 * references to earlier ones; it is expanded where it is defined, so that what
 * it becomes is known and bounded there. One that grows over DTD_VALUE_MAX, or
 * refers to what is not known, is not defined.
 *
 * INVARIANT. All that xml_dtd_find() hands out for one feed is DTD_SPEND_MAX
 * bytes at most; then it finds nothing any more.
 */
#define DTD_ENTITIES_MAX 256  /* a list of Latin letters */
#define DTD_VALUE_MAX    1024 /* of one, in bytes */
#define DTD_SPEND_MAX    ((size_t)1 << 20)
#define DTD_BYTES_MAX    ((size_t)65536)   /* of it that are looked at */
#define DTD_EFFORT_MAX   ((size_t)1 << 24) /* names that are compared */

struct xml_dtd {
	struct {
		struct str name;
		size_t at, n; /* of text */
	} list[DTD_ENTITIES_MAX];
	size_t n, n_text, spent, effort;
	char text[16384];
};

/* `doctype` is from <!DOCTYPE to its end, and must outlive it. */
void xml_dtd_read(struct xml_dtd *d, struct str doctype);
bool xml_dtd_find(struct xml_dtd *d, struct str name, struct str *ret);

#define SPACES_MAX 128 /* namespaces that are bound at once */

struct xml_open {
	struct str name;    /* as it is written, with its prefix */
	struct xml_tag tag; /* without attributes */
	size_t n_spaces;    /* bound when it began */
	bool frame;         /* an item, or what holds items */
};

struct xml_space {
	struct str prefix, uri;
	int number;
};

struct xml_reader {
	struct str s; /* what is still to be read */
	struct xml_dtd dtd;
	const struct xml_calls *calls;
	void *ctx;
	bool mend, faulty;
	bool broken; /* what is open can't be trusted */
	bool done;
	struct xml_open open[FEED_DEPTH_MAX];
	size_t depth, beyond; /* beyond: open ones that were left out */
	struct xml_space spaces[SPACES_MAX];
	size_t n_spaces;
	struct xml_attr attrs[FEED_ATTRS_MAX];
	size_t at[FEED_ATTRS_MAX]; /* of its value in `values`, or BORROWED */
	size_t n_attrs;
	struct buf values; /* of attributes, where they are not as written */
	/* Ends that were looked for in vain: don't look again. */
	bool no_comment_end, no_cdata_end, no_pi_end, no_doctype_end;
	const char *cdata_end; /* the next ]]> */
};
#define BORROWED SIZE_MAX

/*
 * What stands where xml_plain() stopped: the bytes it takes, and what they are
 * as text, in `room` or elsewhere. Empty: it goes.
 */
size_t xml_special(struct xml_reader *r, struct str s, bool refs,
    char room[ENTITY_MAX], struct str *ret);

/* Takes it off *s; it may be empty. */
struct str xml_name(struct str *s);
struct str xml_prefix(struct str name, struct str *ret_local);
/*
 * Up to and with the tag's >. False when it is no tag. Namespaces are bound
 * as they come: whoever calls has noted how many there were.
 */
bool xml_attributes(struct xml_reader *r, struct str *s, bool *ret_closed);
/* Which namespace the element is in; its names are set. */
void xml_resolve(const struct xml_reader *r, struct xml_tag *tag);
