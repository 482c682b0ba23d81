/*
 * element.h - which element this is, and what it means (elements.tbl).
 */
#pragma once

#include "base/base.h"

enum element_family {
	FAMILY_OTHER,
	FAMILY_RSS, /* and what has no namespace */
	FAMILY_ATOM,
	FAMILY_DC,
	FAMILY_DCTERMS,
	FAMILY_CONTENT,
	FAMILY_MEDIA,
	FAMILY_ITUNES,
	FAMILY_ENC,
	FAMILY_XHTML,
	FAMILY_RDF,
	FAMILY_BURNER, /* what feeds are sent through */
	FAMILY_PRISM,
};

enum element_where {
	IN_FEED = 1,
	IN_ITEM = 2,
	IN_BOTH = 3,
	IN_AUTHOR = 4,
	IN_ANY = 15,
};

enum element_kind {
	KIND_CHANNEL,   /* the feed's own elements are in it */
	KIND_ITEM,      /* an item's are */
	KIND_PASS,      /* as if it weren't there */
	KIND_SKIP,      /* as if nothing of it were there */
	KIND_AUTHOR,    /* a name, or elements that say it */
	KIND_PLAIN,     /* text */
	KIND_TITLE,     /* text that may have been escaped twice */
	KIND_HTML,      /* text that is HTML, or HTML unescaped */
	KIND_MARKUP,    /* elements */
	KIND_CONSTRUCT, /* Atom: what it is says its type */
	KIND_URL,
	KIND_DATE,
	KIND_PERSON,
	KIND_GUID,
	KIND_CATEGORY,
	KIND_KEYWORDS, /* separated by commas */
	/* These say it in attributes. */
	KIND_LABEL, /* Atom's category, and that of podcasts */
	KIND_LINK,  /* Atom's */
	KIND_THUMB, /* a small picture */
	KIND_ENCLOSURE,
	KIND_MEDIA,
};

enum field {
	FIELD_NONE,
	FIELD_ID,
	FIELD_TITLE,
	FIELD_LINK,
	FIELD_PERMA, /* an id that may serve as link */
	FIELD_THUMB,
	FIELD_BASE, /* of its HTML */
	FIELD_CONTENT,
	FIELD_SUMMARY,
	FIELD_LANGUAGE,
	FIELD_AUTHOR,
	FIELD_NAME,
	FIELD_EMAIL,
	FIELD_PUBLISHED,
	FIELD_UPDATED,
	FIELD_COUNT,
};

struct element {
	enum element_family family;
	const char *name;
	enum element_where where;
	enum element_kind kind;
	enum field field;
	uint8_t rank;
};

/* Both may be empty. An unknown URI is as good as none. */
enum element_family element_family(struct str uri, struct str prefix);

/* Any case; NULL when it means nothing there. */
const struct element *element_find(
    enum element_family family, struct str name, enum element_where where);
