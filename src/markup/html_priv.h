/*
 * html_priv.h - the parser's inside, for html*.c alone.
 *
 * html_token.c cuts the input into tokens, html.c holds the tree with its
 * stack of open elements and the list of formatting elements, html_body.c and
 * html_table.c hold the insertion modes, html_foreign.c SVG and MathML. Names
 * of things are those of the standard.
 *
 * A mode is a function that takes a token and returns true when the token is
 * to be looked at again, in the mode that it set.
 */
#pragma once

#include "markup/html.h"
#include "markup/limits.h"

/* What html_tags.tbl says of an element. */
enum {
	F_SPECIAL = 1,
	F_FORMAT = 2,     /* is opened again where it was cut off */
	F_SCOPE = 4,      /* nobody looks past it */
	F_IMPLIED = 8,    /* its end tag may be left out */
	F_LINE = 16,      /* begins a line of its own, as a block does */
	F_RAW = 32,       /* holds text without references */
	F_RCDATA = 64,    /* holds text with references */
	F_BREAKOUT = 128, /* ends SVG and MathML */
	F_BLOCK = 256,    /* closes <p>, and that is all there is to it */
	F_HEADING = 512,
	F_HEAD = 1024,    /* belongs into <head> */
	F_PART = 2048,    /* of a table, and nowhere else */
	F_SECTION = 4096, /* a part that holds rows */
	F_CELL = 8192,    /* a part that a row holds */
	F_CLOSES = 16384, /* its end tag ends what is open within it */
};
extern const uint16_t HTML_FLAGS[T_COUNT];

enum html_token_kind { TOK_END_OF_INPUT, TOK_TEXT, TOK_START, TOK_END };

struct html_token {
	enum html_token_kind kind;
	enum html_tag tag;
	struct str text; /* or the name */
	bool self_closing;
	size_t n_attrs;
	struct html_attr attrs[HTML_ATTRS_MAX];
};

struct html_lexer {
	struct arena *arena;
	struct str in;
	size_t at;
	bool full;    /* the arena */
	bool foreign; /* CDATA is text */
	bool between; /* a comment stood before the token */
};

/* Valid UTF-8 with LF alone. False: over the arena's limit. */
bool html_lexer_init(struct html_lexer *l, struct arena *a, struct str input);
void html_lexer_next(struct html_lexer *l, struct html_token *t);
/* What stands before the end tag of such an element, which is passed. */
struct str html_lexer_raw(struct html_lexer *l, enum html_tag tag);
struct str html_lexer_rest(struct html_lexer *l);

struct html_parser;
typedef bool html_mode(struct html_parser *p, struct html_token *t);

struct html_parser {
	struct html_lexer lex;
	struct html_node *root;
	struct html_node *open[HTML_DEPTH_MAX];
	size_t n_open;
	struct html_node *format[HTML_FORMAT_MAX]; /* NULL: a marker */
	size_t n_format;
	html_mode *mode;
	html_mode *templates[HTML_DEPTH_MAX];
	size_t n_templates;
	struct html_node *form;
	bool some_p; /* <p> may be open: most elements ask for one to close */
	bool foster;
	bool skip_lf; /* a line feed at the start of the next token */
};

/*
 * The tree. A node is made in any case; the parser stops behind the one that
 * was over the arena's limit.
 */
static inline struct html_node *
current(const struct html_parser *p)
{
	return p->open[p->n_open - 1];
}

static inline bool
is(const struct html_node *n, enum html_tag t)
{
	return n->tag == t && n->ns == NS_HTML;
}

static inline bool
flag(const struct html_node *n, uint16_t f)
{
	return n->ns == NS_HTML && (HTML_FLAGS[n->tag] & f);
}

/* Puts it in, and it is open: unless the stack is nearly full. */
struct html_node *html_open(struct html_parser *p, const struct html_token *t);
struct html_node *html_open_ns(
    struct html_parser *p, const struct html_token *t, enum html_ns ns);
struct html_node *html_open_node(struct html_parser *p, struct html_node *n);
struct html_node *html_open_tag(struct html_parser *p, enum html_tag tag);
/* Puts it in, closed at once. */
void html_put(struct html_parser *p, const struct html_token *t);
void html_text(struct html_parser *p, struct str s);
/* The element, with its text up to its end tag. */
void html_raw(struct html_parser *p, struct html_token *t);
/* Where it belongs when `target` is the current element. */
void html_place(
    struct html_parser *p, struct html_node *target, struct html_node *n);
void html_append(struct html_node *parent, struct html_node *n);
bool html_has_room(
    const struct html_parser *p); /* for more than a table's parts */

void html_stack_pop(struct html_parser *p);
void html_stack_pop_until(struct html_parser *p, enum html_tag t);
void html_stack_remove(struct html_parser *p, const struct html_node *n);
bool html_stack_has(const struct html_parser *p, enum html_tag t);
/* From the bottom; n_open: it is not in there. */
size_t html_stack_index(const struct html_parser *p, const struct html_node *n);
/* SCOPE_TABLE stops at table, html and template alone. */
enum html_scope { SCOPE_PLAIN, SCOPE_LIST, SCOPE_BUTTON, SCOPE_TABLE };
bool html_scope_ends(const struct html_node *n, enum html_scope s);
bool html_is_special(const struct html_node *n);
bool html_in_scope(
    const struct html_parser *p, enum html_tag t, enum html_scope s);
/* Ends it, and what is open in it; false: there is none in scope. */
bool html_close(struct html_parser *p, enum html_tag t, enum html_scope s);
/* One that has the flag. */
bool html_close_any(struct html_parser *p, uint16_t f, enum html_scope s);
bool html_close_p(struct html_parser *p); /* in button scope */
void html_end_implied(struct html_parser *p, enum html_tag but);

void html_format_push(struct html_parser *p, struct html_node *n);
void html_format_marker(struct html_parser *p);
void html_format_clear(struct html_parser *p); /* to the last marker */
void html_format_remove(struct html_parser *p, const struct html_node *n);
struct html_node *html_format_find(
    const struct html_parser *p, enum html_tag t);
void html_format_reopen(struct html_parser *p);
void html_adopt(
    struct html_parser *p, const struct html_token *t); /* "adoption agency" */
void html_end_other(struct html_parser *p, const struct html_token *t);

void html_set_mode(struct html_parser *p); /* by the stack */
/* A node without a place. */
struct html_node *html_node(struct html_parser *p);

html_mode html_in_body, html_in_table, html_in_caption, html_in_colgroup,
    html_in_table_body, html_in_row, html_in_cell, html_in_template;
bool html_foreign_takes(
    const struct html_parser *p, const struct html_token *t);
bool html_foreign_special(const struct html_node *n);
bool html_in_foreign(struct html_parser *p, struct html_token *t);
