#include "markup/html.h"

#include <assert.h>

#include "base/arena.h"
#include "base/str.h"
#include "markup/html_priv.h"

/* What a table may open in a full stack: table, tbody, tr, td, and spares. */
#define ROOM 8

const uint16_t HTML_FLAGS[T_COUNT] = {
    0,
#define TAG(id, name, flags) flags,
#include "markup/html_tags.tbl"
#undef TAG
};

static const char *const NAMES[T_COUNT] = {
    "",
#define TAG(id, name, flags) name,
#include "markup/html_tags.tbl"
#undef TAG
};

enum html_tag
html_tag_find(struct str name)
{
	size_t low = 1, high = T_COUNT;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = str_cmp(name, str_of(NAMES[mid]));

		if (c == 0)
			return (enum html_tag)mid;
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return T_OTHER;
}

const char *
html_tag_name(enum html_tag t)
{
	assert(t > T_OTHER && t < T_COUNT);
	return NAMES[t];
}

struct str
html_attr(const struct html_node *n, const char *name)
{
	for (size_t i = 0; i < n->n_attrs; i++)
		if (str_eq(n->attrs[i].name, str_of(name)))
			return n->attrs[i].value;
	return (struct str){NULL, 0};
}

bool
html_is_block(const struct html_node *n)
{
	static const uint8_t MORE[] = {T_TABLE, T_CAPTION, T_TR, T_TD, T_TH,
	    T_LI, T_DD, T_DT, T_PRE, T_LISTING, T_FORM, T_HR, T_BR, T_OPTION,
	    T_PLAINTEXT};

	if (n->is_text || n->ns != NS_HTML)
		return false;
	for (size_t i = 0; i < COUNT_OF(MORE); i++)
		if (n->tag == MORE[i])
			return true;
	return flag(n, F_BLOCK) || heading((enum html_tag)n->tag);
}

const struct html_node *
html_next(const struct html_node *root, const struct html_node *n, bool over)
{
	if (n->first && !over)
		return n->first;
	while (n != root && !n->next)
		n = n->parent;
	return n == root ? NULL : n->next;
}

/* ---- the tree ---- */

static struct html_node *
node(struct parser *p)
{
	struct html_node *n = arena_alloc(p->lex.arena, sizeof(*n));

	p->lex.full |= arena_over(p->lex.arena);
	return n;
}

static struct html_node *
element(struct parser *p, const struct token *t, enum html_ns ns)
{
	struct html_node *n = node(p);
	size_t bytes = t->n_attrs * sizeof(t->attrs[0]);

	if (!n)
		return NULL;
	n->tag = (uint8_t)t->tag;
	n->ns = (uint8_t)ns;
	n->text = t->text;
	if (t->n_attrs > 0) {
		n->attrs = arena_try(p->lex.arena, bytes);
		if (!n->attrs) {
			p->lex.full = true;
			return NULL;
		}
		memcpy(n->attrs, t->attrs, bytes);
		n->n_attrs = (uint16_t)t->n_attrs;
	}
	return n;
}

void
tree_detach(struct html_node *n)
{
	struct html_node *up = n->parent;

	if (!up)
		return;
	*(n->prev ? &n->prev->next : &up->first) = n->next;
	*(n->next ? &n->next->prev : &up->last) = n->prev;
	n->parent = n->prev = n->next = NULL;
}

static void
insert_before(
    struct html_node *parent, struct html_node *n, struct html_node *mark)
{
	tree_detach(n);
	n->parent = parent;
	n->next = mark;
	n->prev = mark ? mark->prev : parent->last;
	*(n->prev ? &n->prev->next : &parent->first) = n;
	*(mark ? &mark->prev : &parent->last) = n;
}

void
tree_append(struct html_node *parent, struct html_node *n)
{
	insert_before(parent, n, NULL);
}

/* "The appropriate place": what does not belong into a table stands before. */
void
tree_place(struct parser *p, struct html_node *target, struct html_node *n)
{
	size_t i = p->n_open;

	if (!p->foster || target->ns != NS_HTML ||
	    (target->tag != T_TABLE && target->tag != T_TBODY &&
		target->tag != T_TFOOT && target->tag != T_THEAD &&
		target->tag != T_TR)) {
		tree_append(target, n);
		return;
	}
	while (i > 1 && !is(p->open[i - 1], T_TABLE) &&
	       !is(p->open[i - 1], T_TEMPLATE))
		i--;
	if (i <= 1 || is(p->open[i - 1], T_TEMPLATE))
		tree_append(p->open[i - 1], n);
	else if (p->open[i - 1]->parent)
		insert_before(p->open[i - 1]->parent, n, p->open[i - 1]);
	else
		tree_append(p->open[i - 2], n);
}

bool
tree_has_room(const struct parser *p)
{
	return p->n_open < HTML_DEPTH_MAX - ROOM;
}

/* Parts of a table and templates come here with room; others may find none. */
static void
push(struct parser *p, struct html_node *n)
{
	bool part =
	    n->ns == NS_HTML &&
	    (n->tag == T_TABLE || n->tag == T_TBODY || n->tag == T_THEAD ||
		n->tag == T_TFOOT || n->tag == T_TR || n->tag == T_TD ||
		n->tag == T_TH || n->tag == T_CAPTION || n->tag == T_COLGROUP ||
		n->tag == T_TEMPLATE);

	if (!part && !tree_has_room(p))
		return;
	if (p->n_open == HTML_DEPTH_MAX) {
		p->lex.full = true;
		return;
	}
	p->open[p->n_open++] = n;
}

struct html_node *
tree_open_ns(struct parser *p, const struct token *t, enum html_ns ns)
{
	struct html_node *n = element(p, t, ns);

	if (!n)
		return NULL;
	tree_place(p, current(p), n);
	push(p, n);
	return n;
}

struct html_node *
tree_open(struct parser *p, const struct token *t)
{
	return tree_open_ns(p, t, NS_HTML);
}

struct html_node *
tree_open_tag(struct parser *p, enum html_tag tag)
{
	struct html_node *n = node(p);

	if (!n)
		return NULL;
	n->tag = (uint8_t)tag;
	n->text = str_of(NAMES[tag]);
	tree_place(p, current(p), n);
	push(p, n);
	return n;
}

void
tree_put(struct parser *p, const struct token *t)
{
	struct html_node *n = element(p, t, NS_HTML);

	if (n)
		tree_place(p, current(p), n);
}

void
tree_text(struct parser *p, struct str s)
{
	struct html_node *n = s.n > 0 ? node(p) : NULL;

	if (!n)
		return;
	n->is_text = true;
	n->text = s;
	tree_place(p, current(p), n);
}

void
tree_raw(struct parser *p, struct token *t)
{
	struct html_node *n = element(p, t, NS_HTML), *inside;
	struct str s = lexer_raw(&p->lex, t->tag);

	if (t->tag == T_TEXTAREA && s.n > 0 && s.p[0] == '\n')
		s = str_from(s, 1);
	if (!n)
		return;
	tree_place(p, current(p), n);
	inside = s.n > 0 ? node(p) : NULL;
	if (!inside)
		return;
	inside->is_text = true;
	inside->text = s;
	tree_append(n, inside);
}

/* ---- the stack of open elements ---- */

void
stack_pop(struct parser *p)
{
	if (p->n_open > 1)
		p->n_open--;
}

void
stack_pop_to(struct parser *p, const struct html_node *n)
{
	while (p->n_open > 1) {
		const struct html_node *c = current(p);

		p->n_open--;
		if (c == n)
			return;
	}
}

void
stack_pop_until(struct parser *p, enum html_tag t)
{
	while (p->n_open > 1) {
		bool done = is(current(p), t);

		p->n_open--;
		if (done)
			return;
	}
}

bool
stack_holds(const struct parser *p, const struct html_node *n)
{
	for (size_t i = p->n_open; i > 0; i--)
		if (p->open[i - 1] == n)
			return true;
	return false;
}

void
stack_remove(struct parser *p, const struct html_node *n)
{
	for (size_t i = p->n_open; i > 1; i--) {
		if (p->open[i - 1] != n)
			continue;
		memmove(&p->open[i - 1], &p->open[i],
		    (p->n_open - i) * sizeof(p->open[0]));
		p->n_open--;
		return;
	}
}

bool
stack_has(const struct parser *p, enum html_tag t)
{
	for (size_t i = p->n_open; i > 0; i--)
		if (is(p->open[i - 1], t))
			return true;
	return false;
}

static bool
foreign_special(const struct html_node *n)
{
	if (n->ns == NS_MATH)
		return (n->tag >= T_MI && n->tag <= T_MO) || n->tag == T_MN ||
		       n->tag == T_MS || n->tag == T_MTEXT ||
		       n->tag == T_ANNOTATION_XML;
	return n->ns == NS_SVG && (n->tag == T_FOREIGNOBJECT ||
				      n->tag == T_DESC || n->tag == T_TITLE);
}

bool
special(const struct html_node *n)
{
	return flag(n, F_SPECIAL) || foreign_special(n);
}

bool
scope_barrier(const struct html_node *n, enum scope s)
{
	if (s == SCOPE_TABLE)
		return is(n, T_TABLE) || is(n, T_TEMPLATE);
	return flag(n, F_SCOPE) || foreign_special(n) ||
	       (s == SCOPE_BUTTON && is(n, T_BUTTON)) ||
	       (s == SCOPE_LIST && (is(n, T_OL) || is(n, T_UL)));
}

bool
in_scope(const struct parser *p, enum html_tag t, enum scope s)
{
	for (size_t i = p->n_open; i > 1; i--) {
		if (is(p->open[i - 1], t))
			return true;
		if (scope_barrier(p->open[i - 1], s))
			return false;
	}
	return false;
}

void
implied_ends(struct parser *p, enum html_tag but)
{
	while (flag(current(p), F_IMPLIED) &&
	       (but == T_OTHER || !is(current(p), but)) && p->n_open > 1)
		p->n_open--;
}

void
close_p(struct parser *p)
{
	if (in_scope(p, T_P, SCOPE_BUTTON))
		stack_pop_until(p, T_P);
}

void
set_mode(struct parser *p)
{
	for (size_t i = p->n_open; i > 1; i--) {
		const struct html_node *n = p->open[i - 1];

		p->mode = is(n, T_TD) || is(n, T_TH) ? in_cell
			  : is(n, T_TR)              ? in_row
			  : is(n, T_TBODY) || is(n, T_THEAD) || is(n, T_TFOOT)
			      ? in_table_body
			  : is(n, T_CAPTION)  ? in_caption
			  : is(n, T_COLGROUP) ? in_colgroup
			  : is(n, T_TABLE)    ? in_table
			  : is(n, T_TEMPLATE) && p->n_templates > 0
			      ? p->templates[p->n_templates - 1]
			      : NULL;
		if (p->mode)
			return;
	}
	p->mode = in_body;
}

/* ---- the whole ---- */

/* Tokens that a mode wants looked at again, in another: never many. */
#define AGAIN_MAX 32

static void
take(struct parser *p, struct token *t)
{
	if (p->skip_lf && !p->lex.between && t->kind == TOK_TEXT &&
	    t->text.n > 0 && t->text.p[0] == '\n')
		t->text = str_from(t->text, 1);
	p->skip_lf = false;
	if (t->kind == TOK_TEXT && t->text.n == 0)
		return;
	for (int i = 0; i < AGAIN_MAX && !p->lex.full; i++) {
		bool again =
		    foreign_takes(p, t) ? in_foreign(p, t) : p->mode(p, t);

		if (!again)
			return;
	}
}

int
html_parse(struct arena *a, struct str input, struct html *ret, struct err *e)
{
	struct parser p UNINIT;
	struct token t UNINIT;

	memset(&p, 0, sizeof(p));
	if (!lexer_init(&p.lex, a, input))
		return err_set(e, ERR_NOMEM,
		    "no memory to read %zu bytes of HTML", input.n);
	p.root = node(&p);
	p.root->tag = T_HTML;
	p.root->text = STR("html");
	p.open[p.n_open++] = p.root;
	p.mode = in_body;
	for (;;) {
		p.lex.foreign = current(&p)->ns != NS_HTML;
		lexer_next(&p.lex, &t);
		if (t.kind == TOK_END_OF_INPUT || p.lex.full)
			break;
		take(&p, &t);
	}
	ret->root = p.root;
	ret->cut = p.lex.full;
	return OK;
}
