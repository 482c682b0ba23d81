/* The list of formatting elements, and the "adoption agency". */
#include "markup/html_priv.h"

static bool
same(const struct html_node *a, const struct html_node *b)
{
	if (a->tag != b->tag || a->n_attrs != b->n_attrs)
		return false;
	for (size_t i = 0; i < a->n_attrs; i++) {
		size_t j = 0;

		while (j < b->n_attrs &&
		       !(str_eq(a->attrs[i].name, b->attrs[j].name) &&
			   str_eq(a->attrs[i].value, b->attrs[j].value)))
			j++;
		if (j == b->n_attrs)
			return false;
	}
	return true;
}

static void
remove_at(struct html_parser *p, size_t i)
{
	memmove(&p->format[i], &p->format[i + 1],
	    (p->n_format - i - 1) * sizeof(p->format[0]));
	p->n_format--;
}

/* Where the part behind the last marker begins. */
static size_t
part(const struct html_parser *p)
{
	size_t i = p->n_format;

	while (i > 0 && p->format[i - 1])
		i--;
	return i;
}

/* A marker must go in: the oldest element makes room for it. */
static void
make_room(struct html_parser *p)
{
	if (p->n_format == HTML_FORMAT_MAX)
		remove_at(p, 0);
}

void
html_format_push(struct html_parser *p, struct html_node *n)
{
	size_t begin = part(p), alike = 0, first = 0;

	if (html_stack_index(p, n) == p->n_open)
		return; /* the stack was full: it is closed already */
	for (size_t i = p->n_format; i > begin; i--) {
		if (!same(p->format[i - 1], n))
			continue;
		first = i - 1;
		alike++;
	}
	if (alike >= 3)
		remove_at(p, first);
	make_room(p);
	p->format[p->n_format++] = n;
}

void
html_format_marker(struct html_parser *p)
{
	make_room(p);
	p->format[p->n_format++] = NULL;
}

void
html_format_clear(struct html_parser *p)
{
	while (p->n_format > 0)
		if (!p->format[--p->n_format])
			return;
}

static size_t
format_index(const struct html_parser *p, const struct html_node *n)
{
	size_t i = 0;

	while (i < p->n_format && p->format[i] != n)
		i++;
	return i;
}

void
html_format_remove(struct html_parser *p, const struct html_node *n)
{
	size_t i = format_index(p, n);

	if (i < p->n_format)
		remove_at(p, i);
}

struct html_node *
html_format_find(const struct html_parser *p, enum html_tag t)
{
	for (size_t i = p->n_format; i > 0 && p->format[i - 1]; i--)
		if (p->format[i - 1]->tag == t)
			return p->format[i - 1];
	return NULL;
}

static struct html_node *
clone(struct html_parser *p, const struct html_node *n)
{
	struct html_node *c = html_node(p);

	c->tag = n->tag;
	c->ns = n->ns;
	c->text = n->text;
	c->attrs = n->attrs;
	c->n_attrs = n->n_attrs;
	return c;
}

void
html_format_reopen(struct html_parser *p)
{
	size_t i = p->n_format;

	while (i > 0 && p->format[i - 1] &&
	       html_stack_index(p, p->format[i - 1]) == p->n_open)
		i--;
	for (; i < p->n_format; i++) {
		if (!html_has_room(p))
			return;
		p->format[i] = html_open_node(p, clone(p, p->format[i]));
	}
}

void
html_end_other(struct html_parser *p, const struct html_token *t)
{
	for (size_t i = p->n_open; i > 1; i--) {
		const struct html_node *n = p->open[i - 1];

		if (n->ns == NS_HTML && n->tag == t->tag &&
		    (t->tag != T_OTHER || str_eq(n->text, t->text))) {
			p->n_open = i - 1;
			return;
		}
		if (html_is_special(n))
			return;
	}
}

/*
 * The elements between the formatting element at `top` and the block below it
 * are copied, so that the block stands outside of it. Returns the last one,
 * which is to stand in the common ancestor. *mark is where the new formatting
 * element goes in the list.
 */
static struct html_node *
copy_between(struct html_parser *p, size_t top, size_t block, size_t *mark)
{
	struct html_node *last = p->open[block], *furthest = last;
	int count = 0;

	for (size_t i = block; i-- > top + 1;) {
		struct html_node *n = p->open[i], *c;
		size_t at = format_index(p, n);

		count++;
		if (count > 3 && at < p->n_format) {
			remove_at(p, at);
			*mark -= at < *mark;
			at = p->n_format;
		}
		if (at == p->n_format) {
			html_stack_remove(p, n);
			continue;
		}
		c = clone(p, n);
		p->format[at] = c;
		p->open[i] = c;
		if (last == furthest)
			*mark = at + 1;
		html_append(c, last);
		last = c;
	}
	return last;
}

/* One round; false: that was the last. */
static bool
adopt_once(struct html_parser *p, const struct html_token *t)
{
	struct html_node *f = html_format_find(p, t->tag), *c, *last, *block;
	size_t top, at, mark;

	if (!f) {
		html_end_other(p, t);
		return false;
	}
	top = html_stack_index(p, f);
	if (top == p->n_open) {
		html_format_remove(p, f);
		return false;
	}
	for (at = p->n_open - 1; at > top; at--)
		if (html_scope_ends(p->open[at], SCOPE_PLAIN))
			return false;
	for (at = top + 1; at < p->n_open; at++)
		if (html_is_special(p->open[at]))
			break;
	if (at == p->n_open) {
		p->n_open = top;
		html_format_remove(p, f);
		return false;
	}
	block = p->open[at];
	mark = format_index(p, f);
	last = copy_between(p, top, at, &mark);
	c = clone(p, f);
	html_place(p, p->open[top - 1], last);
	while (block->first)
		html_append(c, block->first);
	html_append(block, c);
	/* In the list: behind its mark. */
	at = format_index(p, f);
	remove_at(p, at);
	mark -= at < mark;
	memmove(&p->format[mark + 1], &p->format[mark],
	    (p->n_format - mark) * sizeof(p->format[0]));
	p->format[mark] = c;
	p->n_format++;
	/* On the stack: below the block. */
	html_stack_remove(p, f);
	at = html_stack_index(p, block) + 1;
	memmove(&p->open[at + 1], &p->open[at],
	    (p->n_open - at) * sizeof(p->open[0]));
	p->open[at] = c;
	p->n_open++;
	return true;
}

void
html_adopt(struct html_parser *p, const struct html_token *t)
{
	const struct html_node *n = current(p);
	int round = 0;

	if (is(n, t->tag) && format_index(p, n) == p->n_format) {
		html_stack_pop(p);
		return;
	}
	while (round < 8 && adopt_once(p, t))
		round++;
}
