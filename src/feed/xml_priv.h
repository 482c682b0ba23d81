/*
 * xml_priv.h - signs of XML, and text as it is written.
 */
#ifndef FEED_XML_PRIV_H
#define FEED_XML_PRIV_H

#include "feed/entity.h"

struct dtd;

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
 * What stands where xml_plain() stopped: the bytes it takes, and what they are
 * as text, in `room` or elsewhere. Empty: it goes. `dtd` may be NULL.
 */
size_t xml_special(struct str s, struct dtd *dtd, bool refs,
    char room[ENTITY_MAX], struct str *ret, bool *ret_faulty);

#endif
