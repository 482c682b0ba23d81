/* The mode in which nearly all of a text is read: "in body". */
#include "base/str.h"
#include "markup/html_priv.h"

void
in_head(struct parser *p, struct token *t)
{
	if (t->tag == T_TEMPLATE) {
		if (!tree_has_room(p) || p->n_templates == HTML_DEPTH_MAX ||
		    !tree_open(p, t))
			return;
		format_marker(p);
		p->templates[p->n_templates++] = in_template;
		p->mode = in_template;
	} else if (HTML_FLAGS[t->tag] & (F_RAW | F_RCDATA)) {
		tree_raw(p, t);
	} else {
		tree_put(p, t);
	}
}

void
end_template(struct parser *p)
{
	if (!stack_has(p, T_TEMPLATE))
		return;
	stack_pop_until(p, T_TEMPLATE);
	format_clear(p);
	if (p->n_templates > 0)
		p->n_templates--;
	set_mode(p);
}

/* <li>, <dd>, <dt>: each ends the one before. */
static void
start_item(struct parser *p, struct token *t)
{
	for (size_t i = p->n_open; i > 1; i--) {
		const struct html_node *n = p->open[i - 1];
		bool ends =
		    t->tag == T_LI ? is(n, T_LI) : is(n, T_DD) || is(n, T_DT);

		if (ends) {
			stack_pop_to(p, n);
			break;
		}
		if (special(n) && !is(n, T_ADDRESS) && !is(n, T_DIV) &&
		    !is(n, T_P))
			break;
	}
	close_p(p);
	(void)tree_open(p, t);
}

static void
start_format(struct parser *p, struct token *t)
{
	struct html_node *n = NULL;

	if (t->tag == T_A)
		n = format_find(p, T_A);
	if (n) {
		adopt(p, t);
		format_remove(p, n);
		stack_remove(p, n);
	}
	format_reopen(p);
	if (t->tag == T_NOBR && in_scope(p, T_NOBR, SCOPE_PLAIN)) {
		adopt(p, t);
		format_reopen(p);
	}
	n = tree_open(p, t);
	if (n)
		format_push(p, n);
}

static void
start_form(struct parser *p, struct token *t)
{
	bool inside = stack_has(p, T_TEMPLATE);
	struct html_node *n;

	if (p->form && !inside)
		return;
	close_p(p);
	n = tree_open(p, t);
	if (!inside)
		p->form = n;
}

static void
start_table(struct parser *p, struct token *t)
{
	close_p(p);
	if (!tree_has_room(p))
		return;
	if (tree_open(p, t))
		p->mode = in_table;
}

/* A control that can not stand in one of its kind. */
static void
start_button(struct parser *p, struct token *t)
{
	if (in_scope(p, t->tag, SCOPE_PLAIN)) {
		implied_ends(p, T_OTHER);
		stack_pop_until(p, t->tag);
		if (t->tag == T_SELECT)
			return;
	}
	format_reopen(p);
	(void)tree_open(p, t);
}

static void
start_foreign(struct parser *p, struct token *t)
{
	const struct html_node *n;

	format_reopen(p);
	n = tree_open_ns(p, t, t->tag == T_SVG ? NS_SVG : NS_MATH);
	if (t->self_closing && n && current(p) == n)
		stack_pop(p);
}

static void
start_void(struct parser *p, struct token *t)
{
	if (t->tag == T_HR)
		close_p(p);
	else if (t->tag == T_INPUT && in_scope(p, T_SELECT, SCOPE_PLAIN))
		stack_pop_until(p, T_SELECT);
	if (t->tag != T_PARAM && t->tag != T_SOURCE && t->tag != T_TRACK &&
	    t->tag != T_HR)
		format_reopen(p);
	tree_put(p, t);
}

static void
start_raw(struct parser *p, struct token *t)
{
	if (t->tag == T_XMP) {
		close_p(p);
		format_reopen(p);
	}
	tree_raw(p, t);
}

/* Those whose way depends on their name alone. */
static void
start_other(struct parser *p, struct token *t)
{
	if (t->tag == T_RB || t->tag == T_RTC || t->tag == T_RP ||
	    t->tag == T_RT) {
		if (in_scope(p, T_RUBY, SCOPE_PLAIN))
			implied_ends(p,
			    t->tag == T_RP || t->tag == T_RT ? T_RTC : T_OTHER);
	} else {
		if ((t->tag == T_OPTION || t->tag == T_OPTGROUP) &&
		    is(current(p), T_OPTION))
			stack_pop(p);
		format_reopen(p);
	}
	(void)tree_open(p, t);
}

static void
start_pre(struct parser *p, struct token *t)
{
	close_p(p);
	(void)tree_open(p, t);
	p->skip_lf = true;
}

static void
start_heading(struct parser *p, struct token *t)
{
	close_p(p);
	if (flag(current(p), F_SPECIAL) &&
	    heading((enum html_tag)current(p)->tag))
		stack_pop(p);
	(void)tree_open(p, t);
}

static void
start_marked(struct parser *p, struct token *t)
{
	size_t before;

	format_reopen(p);
	before = p->n_open;
	if (tree_open(p, t) && p->n_open > before)
		format_marker(p);
}

static void
start_plaintext(struct parser *p, struct token *t)
{
	close_p(p);
	(void)tree_open(p, t);
	format_reopen(p);
	tree_text(p, lexer_rest(&p->lex));
}

static void
body_start(struct parser *p, struct token *t)
{
	uint16_t f = HTML_FLAGS[t->tag];

	switch ((int)t->tag) {
	case T_HTML:
	case T_BODY:
	case T_HEAD:
	case T_FRAMESET:
	case T_FRAME:
	case T_CAPTION:
	case T_COL:
	case T_COLGROUP:
	case T_TBODY:
	case T_TD:
	case T_TFOOT:
	case T_TH:
	case T_THEAD:
	case T_TR:
		return;
	case T_BASE:
	case T_BASEFONT:
	case T_BGSOUND:
	case T_LINK:
	case T_META:
	case T_NOFRAMES:
	case T_SCRIPT:
	case T_STYLE:
	case T_TEMPLATE:
	case T_TITLE:
		in_head(p, t);
		return;
	case T_IMAGE:
		t->tag = T_IMG;
		t->text = STR("img");
		start_void(p, t);
		return;
	case T_PRE:
	case T_LISTING:
		start_pre(p, t);
		return;
	case T_FORM:
		start_form(p, t);
		return;
	case T_LI:
	case T_DD:
	case T_DT:
		start_item(p, t);
		return;
	case T_PLAINTEXT:
		start_plaintext(p, t);
		return;
	case T_BUTTON:
	case T_SELECT:
		start_button(p, t);
		return;
	case T_APPLET:
	case T_MARQUEE:
	case T_OBJECT:
		start_marked(p, t);
		return;
	case T_TABLE:
		start_table(p, t);
		return;
	case T_SVG:
	case T_MATH:
		start_foreign(p, t);
		return;
	default:
		break;
	}
	if (f & F_BLOCK) {
		close_p(p);
		(void)tree_open(p, t);
	} else if (heading(t->tag)) {
		start_heading(p, t);
	} else if (f & F_FORMAT) {
		start_format(p, t);
	} else if (f & F_VOID) {
		start_void(p, t);
	} else if (f & (F_RAW | F_RCDATA)) {
		start_raw(p, t);
	} else {
		start_other(p, t);
	}
}

static void
end_form(struct parser *p)
{
	const struct html_node *n = p->form;

	if (stack_has(p, T_TEMPLATE)) {
		if (!in_scope(p, T_FORM, SCOPE_PLAIN))
			return;
		implied_ends(p, T_OTHER);
		stack_pop_until(p, T_FORM);
		return;
	}
	p->form = NULL;
	if (!n || !stack_holds(p, n) || !in_scope(p, T_FORM, SCOPE_PLAIN))
		return;
	implied_ends(p, T_OTHER);
	stack_remove(p, n);
}

static void
end_heading(struct parser *p)
{
	bool found = false;

	for (int t = T_H1; t <= T_H6; t++)
		found |= in_scope(p, (enum html_tag)t, SCOPE_PLAIN);
	if (!found)
		return;
	while (p->n_open > 1) {
		bool done = current(p)->ns == NS_HTML &&
			    heading((enum html_tag)current(p)->tag);

		stack_pop(p);
		if (done)
			return;
	}
}

static void
end_scoped(struct parser *p, const struct token *t, enum scope s)
{
	if (!in_scope(p, t->tag, s))
		return;
	implied_ends(p, HTML_FLAGS[t->tag] & F_IMPLIED ? t->tag : T_OTHER);
	stack_pop_until(p, t->tag);
	if (t->tag == T_APPLET || t->tag == T_MARQUEE || t->tag == T_OBJECT)
		format_clear(p);
}

static void
body_end(struct parser *p, struct token *t)
{
	uint16_t f = HTML_FLAGS[t->tag];

	switch ((int)t->tag) {
	case T_TEMPLATE:
		end_template(p);
		return;
	case T_BODY:
	case T_HTML:
		return;
	case T_FORM:
		end_form(p);
		return;
	case T_P:
		if (!in_scope(p, T_P, SCOPE_BUTTON))
			(void)tree_open_tag(p, T_P);
		close_p(p);
		return;
	case T_LI:
		end_scoped(p, t, SCOPE_LIST);
		return;
	case T_BR:
		t->kind = TOK_START;
		t->n_attrs = 0;
		start_void(p, t);
		return;
	case T_DD:
	case T_DT:
	case T_BUTTON:
	case T_SELECT:
	case T_PRE:
	case T_LISTING:
	case T_APPLET:
	case T_MARQUEE:
	case T_OBJECT:
		end_scoped(p, t, SCOPE_PLAIN);
		return;
	default:
		break;
	}
	if (f & F_BLOCK)
		end_scoped(p, t, SCOPE_PLAIN);
	else if (heading(t->tag))
		end_heading(p);
	else if (f & F_FORMAT)
		adopt(p, t);
	else
		other_end(p, t);
}

bool
in_body(struct parser *p, struct token *t)
{
	if (t->kind == TOK_TEXT) {
		format_reopen(p);
		tree_text(p, t->text);
	} else if (t->kind == TOK_START) {
		body_start(p, t);
	} else {
		body_end(p, t);
	}
	return false;
}
