/*
 * shapes.h - what the server and the document reader say to each other.
 *
 * A request is a struct doc_ask and behind it either the document as it came, or
 * (DOC_CLEAN) a struct doc_articles. An answer is a struct doc_result and, when
 * its code is OK, one of the others. All of it goes by pack.h.
 */
#pragma once

#include "doc/pack.h"

enum doc_kind {
	DOC_FEED,  /* answered: struct feed */
	DOC_PAGE,  /* struct discover */
	DOC_OPML,  /* struct opml */
	DOC_ICON,  /* struct doc_icon */
	DOC_CLEAN, /* struct doc_cleaned */
	DOC_KINDS
};

/* What a test has the reader do instead (caged.h). */
enum doc_fault {
	DOC_FAULT_NONE,
	DOC_FAULT_CRASH,
	DOC_FAULT_LOOP,
	DOC_FAULT_MEMORY,
	DOC_FAULT_CALL, /* one that the cage does not let out */
	DOC_FAULTS
};

struct doc_ask {
	int kind, fault, tags, engine;
	struct str url, content_type, links;
};

struct doc_result {
	int code; /* enum err_code */
	struct str text;
};

struct doc_icon {
	struct str mime; /* empty: no picture that we know */
};

/* An article as its feed has it, and as it is kept: caged.h. */
struct doc_article {
	struct str title, author, summary, content, base;
	struct doc_article *next;
};

struct doc_articles {
	struct doc_article *first;
};

struct doc_clean {
	struct str summary, content; /* .p NULL: nothing is left */
	struct str terms, excerpt;
	struct str title; /* from its text, when it had none */
	struct doc_clean *next;
};

struct doc_cleaned {
	struct doc_clean *first;
	size_t n;
};

extern const struct pack_shape DOC_ASK, DOC_RESULT, DOC_ICON_SHAPE,
    DOC_ARTICLES, DOC_CLEANED, DOC_FEED_SHAPE, DOC_PAGE_SHAPE, DOC_OPML_SHAPE;
/* What each kind is answered with. */
extern const struct pack_shape *const DOC_SHAPES[DOC_KINDS];
