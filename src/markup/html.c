#include "markup/html.h"

#include "markup/html_priv.h"

/* What a table may open in a full stack: table, tbody, tr, td, and spares. */
#define ROOM 8

const uint16_t HTML_FLAGS[T_COUNT] = {
    0,
#define TAG(id, name, start, kept, flags) flags,
#include "markup/html_tags.tbl"
#undef TAG
};

static const char *const NAMES[T_COUNT] = {
    "",
#define TAG(id, name, start, kept, flags) name,
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
	return !n->is_text && flag(n, F_BLOCK | F_HEADING | F_LINE);
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

struct html_node *
html_node(struct html_parser *p)
{
	struct html_node *n = arena_alloc(p->lex.arena, sizeof(*n));

	p->lex.full |= arena_over(p->lex.arena);
	return n;
}

static struct html_node *
element(struct html_parser *p, const struct html_token *t, enum html_ns ns)
{
	struct html_node *n = html_node(p);
	size_t bytes = t->n_attrs * sizeof(t->attrs[0]);

	n->tag = (uint8_t)t->tag;
	n->ns = (uint8_t)ns;
	n->text = t->text;
	if (t->n_attrs > 0) {
		n->attrs = arena_alloc(p->lex.arena, bytes);
		memcpy(n->attrs, t->attrs, bytes);
		n->n_attrs = (uint16_t)t->n_attrs;
	}
	return n;
}

static void
detach(struct html_node *n)
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
	detach(n);
	n->parent = parent;
	n->next = mark;
	n->prev = mark ? mark->prev : parent->last;
	*(n->prev ? &n->prev->next : &parent->first) = n;
	*(mark ? &mark->prev : &parent->last) = n;
}

void
html_append(struct html_node *parent, struct html_node *n)
{
	insert_before(parent, n, NULL);
}

/* "The appropriate place": what does not belong into a table stands before. */
void
html_place(struct html_parser *p, struct html_node *target, struct html_node *n)
{
	size_t i = p->n_open;

	if (!p->foster || !(is(target, T_TABLE) || is(target, T_TR) ||
			      flag(target, F_SECTION))) {
		html_append(target, n);
		return;
	}
	while (i > 1 && !is(p->open[i - 1], T_TABLE) &&
	       !is(p->open[i - 1], T_TEMPLATE))
		i--;
	if (i <= 1 || is(p->open[i - 1], T_TEMPLATE))
		html_append(p->open[i - 1], n);
	else if (p->open[i - 1]->parent)
		insert_before(p->open[i - 1]->parent, n, p->open[i - 1]);
	else
		html_append(p->open[i - 2], n);
}

bool
html_has_room(const struct html_parser *p)
{
	return p->n_open < HTML_DEPTH_MAX - ROOM;
}

/* Parts of a table and templates come here with room; others may find none. */
static void
push(struct html_parser *p, struct html_node *n)
{
	bool part = is(n, T_TABLE) || flag(n, F_PART) || is(n, T_TEMPLATE);

	if (!part && !html_has_room(p))
		return;
	if (p->n_open == HTML_DEPTH_MAX) {
		p->lex.full = true;
		return;
	}
	p->open[p->n_open++] = n;
	p->some_p = p->some_p || is(n, T_P);
}

struct html_node *
html_open_node(struct html_parser *p, struct html_node *n)
{
	html_place(p, current(p), n);
	push(p, n);
	return n;
}

struct html_node *
html_open_ns(struct html_parser *p, const struct html_token *t, enum html_ns ns)
{
	return html_open_node(p, element(p, t, ns));
}

struct html_node *
html_open(struct html_parser *p, const struct html_token *t)
{
	return html_open_ns(p, t, NS_HTML);
}

struct html_node *
html_open_tag(struct html_parser *p, enum html_tag tag)
{
	struct html_node *n = html_node(p);

	n->tag = (uint8_t)tag;
	n->text = str_of(NAMES[tag]);
	return html_open_node(p, n);
}

void
html_put(struct html_parser *p, const struct html_token *t)
{
	html_place(p, current(p), element(p, t, NS_HTML));
}

static struct html_node *
text_node(struct html_parser *p, struct str s)
{
	struct html_node *n = html_node(p);

	n->is_text = true;
	n->text = s;
	return n;
}

void
html_text(struct html_parser *p, struct str s)
{
	if (s.n > 0)
		html_place(p, current(p), text_node(p, s));
}

void
html_raw(struct html_parser *p, struct html_token *t)
{
	struct html_node *n = element(p, t, NS_HTML);
	struct str s = html_lexer_raw(&p->lex, t->tag);

	if (t->tag == T_TEXTAREA && s.n > 0 && s.p[0] == '\n')
		s = str_from(s, 1);
	html_place(p, current(p), n);
	if (s.n > 0)
		html_append(n, text_node(p, s));
}

/* ---- the stack of open elements ---- */

void
html_stack_pop(struct html_parser *p)
{
	if (p->n_open > 1)
		p->n_open--;
}

size_t
html_stack_index(const struct html_parser *p, const struct html_node *n)
{
	size_t i = 0;

	while (i < p->n_open && p->open[i] != n)
		i++;
	return i;
}

void
html_stack_pop_until(struct html_parser *p, enum html_tag t)
{
	while (p->n_open > 1)
		if (is(p->open[--p->n_open], t))
			return;
}

void
html_stack_remove(struct html_parser *p, const struct html_node *n)
{
	size_t i = html_stack_index(p, n);

	if (i == 0 || i == p->n_open)
		return;
	p->n_open--;
	memmove(
	    &p->open[i], &p->open[i + 1], (p->n_open - i) * sizeof(p->open[0]));
}

bool
html_stack_has(const struct html_parser *p, enum html_tag t)
{
	for (size_t i = p->n_open; i > 0; i--)
		if (is(p->open[i - 1], t))
			return true;
	return false;
}

bool
html_is_special(const struct html_node *n)
{
	return flag(n, F_SPECIAL) || html_foreign_special(n);
}

bool
html_scope_ends(const struct html_node *n, enum html_scope s)
{
	if (s == SCOPE_TABLE)
		return is(n, T_TABLE) || is(n, T_TEMPLATE);
	return flag(n, F_SCOPE) || html_foreign_special(n) ||
	       (s == SCOPE_BUTTON && is(n, T_BUTTON)) ||
	       (s == SCOPE_LIST && (is(n, T_OL) || is(n, T_UL)));
}

/* The last that is open of this tag, or with one of these flags; the whole
 * stack when there is none. */
static size_t
find_in_scope(
    const struct html_parser *p, enum html_tag t, uint16_t f, enum html_scope s)
{
	for (size_t i = p->n_open; i-- > 1;) {
		if (is(p->open[i], t) || flag(p->open[i], f))
			return i;
		if (html_scope_ends(p->open[i], s))
			break;
	}
	return p->n_open;
}

bool
html_in_scope(const struct html_parser *p, enum html_tag t, enum html_scope s)
{
	return find_in_scope(p, t, 0, s) < p->n_open;
}

bool
html_close(struct html_parser *p, enum html_tag t, enum html_scope s)
{
	size_t before = p->n_open;

	p->n_open = find_in_scope(p, t, 0, s);
	return p->n_open < before;
}

bool
html_close_any(struct html_parser *p, uint16_t f, enum html_scope s)
{
	size_t before = p->n_open;

	p->n_open = find_in_scope(p, T_COUNT, f, s);
	return p->n_open < before;
}

bool
html_close_p(struct html_parser *p)
{
	bool closed = p->some_p && html_close(p, T_P, SCOPE_BUTTON);

	if (!closed && p->some_p) { /* behind a scope's end, or none at all */
		p->some_p = false;
		for (size_t i = 1; i < p->n_open && !p->some_p; i++)
			p->some_p = is(p->open[i], T_P);
	}
	return closed;
}

void
html_end_implied(struct html_parser *p, enum html_tag but)
{
	while (flag(current(p), F_IMPLIED) &&
	       (but == T_OTHER || !is(current(p), but)) && p->n_open > 1)
		p->n_open--;
}

void
html_set_mode(struct html_parser *p)
{
	for (size_t i = p->n_open; i > 1; i--) {
		const struct html_node *n = p->open[i - 1];

		p->mode = flag(n, F_CELL)      ? html_in_cell
			  : is(n, T_TR)        ? html_in_row
			  : flag(n, F_SECTION) ? html_in_table_body
			  : is(n, T_CAPTION)   ? html_in_caption
			  : is(n, T_COLGROUP)  ? html_in_colgroup
			  : is(n, T_TABLE)     ? html_in_table
			  : is(n, T_TEMPLATE) && p->n_templates > 0
			      ? p->templates[p->n_templates - 1]
			      : NULL;
		if (p->mode)
			return;
	}
	p->mode = html_in_body;
}

/* ---- the whole ---- */

/* Tokens that a mode wants looked at again, in another: never many. */
#define AGAIN_MAX 32

static void
take_token(struct html_parser *p, struct html_token *t)
{
	if (p->skip_lf && !p->lex.between && t->kind == TOK_TEXT &&
	    t->text.n > 0 && t->text.p[0] == '\n')
		t->text = str_from(t->text, 1);
	p->skip_lf = false;
	if (t->kind == TOK_TEXT && t->text.n == 0)
		return;
	for (int i = 0; i < AGAIN_MAX && !p->lex.full; i++) {
		bool again = html_foreign_takes(p, t) ? html_in_foreign(p, t)
						      : p->mode(p, t);

		if (!again)
			return;
	}
}

int
html_parse(struct arena *a, struct str input, struct html *ret, struct err *e)
{
	struct html_parser p UNINIT;
	struct html_token t UNINIT;

	memset(&p, 0, sizeof(p));
	if (!html_lexer_init(&p.lex, a, input))
		return err_set(e, ERR_LIMIT,
		    "%zu bytes of HTML are too many to read", input.n);
	p.root = html_node(&p);
	p.root->tag = T_HTML;
	p.root->text = STR("html");
	p.open[p.n_open++] = p.root;
	p.mode = html_in_body;
	for (;;) {
		p.lex.foreign = current(&p)->ns != NS_HTML;
		html_lexer_next(&p.lex, &t);
		if (t.kind == TOK_END_OF_INPUT || p.lex.full)
			break;
		take_token(&p, &t);
	}
	ret->root = p.root;
	ret->cut = p.lex.full;
	return OK;
}
