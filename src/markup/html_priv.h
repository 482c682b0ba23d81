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
#ifndef MARKUP_HTML_PRIV_H
#define MARKUP_HTML_PRIV_H

#include "base/limits.h"
#include "markup/html.h"

/* What html_tags.tbl says of an element. */
enum {
	F_SPECIAL = 1,
	F_FORMAT = 2,     /* is opened again where it was cut off */
	F_SCOPE = 4,      /* nobody looks past it */
	F_IMPLIED = 8,    /* its end tag may be left out */
	F_VOID = 16,      /* has none */
	F_RAW = 32,       /* holds text without references */
	F_RCDATA = 64,    /* holds text with references */
	F_BREAKOUT = 128, /* ends SVG and MathML */
	F_BLOCK = 256,    /* closes <p>, and that is all there is to it */
};
extern const uint16_t HTML_FLAGS[T_COUNT];

enum token_kind { TOK_END_OF_INPUT, TOK_TEXT, TOK_START, TOK_END };

struct token {
	enum token_kind kind;
	enum html_tag tag;
	struct str text; /* or the name */
	bool self_closing;
	size_t n_attrs;
	struct html_attr attrs[HTML_ATTRS_MAX];
};

struct lexer {
	struct arena *arena;
	struct str in;
	size_t at;
	bool full;    /* the arena */
	bool foreign; /* CDATA is text */
	bool between; /* a comment stood before the token */
};

/* Valid UTF-8 with LF alone. False: no room. */
bool lexer_init(struct lexer *l, struct arena *a, struct str input);
void lexer_next(struct lexer *l, struct token *t);
/* What stands before the end tag of such an element, which is passed. */
struct str lexer_raw(struct lexer *l, enum html_tag tag);
struct str lexer_rest(struct lexer *l);

struct parser;
typedef bool mode_fn(struct parser *p, struct token *t);

struct parser {
	struct lexer lex;
	struct html_node *root;
	struct html_node *open[HTML_DEPTH_MAX];
	size_t n_open;
	struct html_node *format[HTML_FORMAT_MAX]; /* NULL: a marker */
	size_t n_format;
	mode_fn *mode;
	mode_fn *templates[HTML_DEPTH_MAX];
	size_t n_templates;
	struct html_node *form;
	bool foster;
	bool skip_lf; /* a line feed at the start of the next token */
};

/* The tree. Those that make nodes return NULL when there is no room. */
static inline struct html_node *
current(const struct parser *p)
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

static inline bool
heading(enum html_tag t)
{
	return t >= T_H1 && t <= T_H6;
}

/* Puts it in, and it is open: unless the stack is nearly full. */
struct html_node *tree_open(struct parser *p, const struct token *t);
struct html_node *tree_open_ns(
    struct parser *p, const struct token *t, enum html_ns ns);
struct html_node *tree_open_tag(struct parser *p, enum html_tag tag);
/* Puts it in, closed at once. */
void tree_put(struct parser *p, const struct token *t);
void tree_text(struct parser *p, struct str s);
/* The element, with its text up to its end tag. */
void tree_raw(struct parser *p, struct token *t);
/* Where it belongs when `target` is the current element. */
void tree_place(
    struct parser *p, struct html_node *target, struct html_node *n);
void tree_detach(struct html_node *n);
void tree_append(struct html_node *parent, struct html_node *n);
bool tree_has_room(const struct parser *p); /* for more than a table's parts */

void stack_pop(struct parser *p);
void stack_pop_to(struct parser *p, const struct html_node *n);
void stack_pop_until(struct parser *p, enum html_tag t);
void stack_remove(struct parser *p, const struct html_node *n);
bool stack_has(const struct parser *p, enum html_tag t);
bool stack_holds(const struct parser *p, const struct html_node *n);
/* SCOPE_TABLE stops at table, html and template alone. */
enum scope { SCOPE_PLAIN, SCOPE_LIST, SCOPE_BUTTON, SCOPE_TABLE };
bool scope_barrier(const struct html_node *n, enum scope s);
bool special(const struct html_node *n);
bool in_scope(const struct parser *p, enum html_tag t, enum scope s);
void implied_ends(struct parser *p, enum html_tag but);
void close_p(struct parser *p); /* when one is in button scope */

void format_push(struct parser *p, struct html_node *n);
void format_marker(struct parser *p);
void format_clear(struct parser *p); /* to the last marker */
void format_remove(struct parser *p, const struct html_node *n);
struct html_node *format_find(const struct parser *p, enum html_tag t);
void format_reopen(struct parser *p);
void adopt(struct parser *p, const struct token *t); /* "adoption agency" */
void other_end(struct parser *p, const struct token *t);

void set_mode(struct parser *p); /* by the stack */

mode_fn in_body, in_table, in_caption, in_colgroup, in_table_body, in_row,
    in_cell, in_template;
/* What in_body does for elements that belong into <head>. */
void in_head(struct parser *p, struct token *t);
void end_template(struct parser *p);
bool foreign_takes(const struct parser *p, const struct token *t);
bool in_foreign(struct parser *p, struct token *t);

#endif
