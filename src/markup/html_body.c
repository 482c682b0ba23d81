/* The mode in which nearly all of a text is read: "in body". */
#include "markup/html_priv.h"

static void
start_head(struct html_parser *p, struct html_token *t)
{
	if (t->tag == T_TEMPLATE) {
		if (!html_has_room(p) || p->n_templates == HTML_DEPTH_MAX)
			return;
		(void)html_open(p, t);
		html_format_marker(p);
		p->templates[p->n_templates++] = html_in_template;
		p->mode = html_in_template;
	} else if (HTML_FLAGS[t->tag] & (F_RAW | F_RCDATA)) {
		html_raw(p, t);
	} else {
		html_put(p, t);
	}
}

/* <li>, <dd>, <dt>: each ends the one before. */
static void
start_item(struct html_parser *p, struct html_token *t)
{
	for (size_t i = p->n_open; i > 1; i--) {
		const struct html_node *n = p->open[i - 1];
		bool ends =
		    t->tag == T_LI ? is(n, T_LI) : is(n, T_DD) || is(n, T_DT);

		if (ends) {
			p->n_open = i - 1;
			break;
		}
		if (html_is_special(n) && !is(n, T_ADDRESS) && !is(n, T_DIV) &&
		    !is(n, T_P))
			break;
	}
	(void)html_close_p(p);
	(void)html_open(p, t);
}

static void
start_format(struct html_parser *p, struct html_token *t)
{
	struct html_node *n = NULL;

	if (t->tag == T_A)
		n = html_format_find(p, T_A);
	if (n) {
		html_adopt(p, t);
		html_format_remove(p, n);
		html_stack_remove(p, n);
	}
	html_format_reopen(p);
	if (t->tag == T_NOBR && html_in_scope(p, T_NOBR, SCOPE_PLAIN)) {
		html_adopt(p, t);
		html_format_reopen(p);
	}
	html_format_push(p, html_open(p, t));
}

static void
start_form(struct html_parser *p, struct html_token *t)
{
	bool inside = html_stack_has(p, T_TEMPLATE);
	struct html_node *n;

	if (p->form && !inside)
		return;
	(void)html_close_p(p);
	n = html_open(p, t);
	if (!inside)
		p->form = n;
}

static void
start_table(struct html_parser *p, struct html_token *t)
{
	(void)html_close_p(p);
	if (!html_has_room(p))
		return;
	(void)html_open(p, t);
	p->mode = html_in_table;
}

/* A control that can not stand in one of its kind. */
static void
start_button(struct html_parser *p, struct html_token *t)
{
	if (html_close(p, t->tag, SCOPE_PLAIN) && t->tag == T_SELECT)
		return;
	html_format_reopen(p);
	(void)html_open(p, t);
}

static void
start_foreign(struct html_parser *p, struct html_token *t)
{
	const struct html_node *n;

	html_format_reopen(p);
	n = html_open_ns(p, t, t->tag == T_SVG ? NS_SVG : NS_MATH);
	if (t->self_closing && current(p) == n)
		html_stack_pop(p);
}

static void
start_void(struct html_parser *p, struct html_token *t)
{
	if (t->tag == T_HR)
		(void)html_close_p(p);
	else if (t->tag == T_INPUT)
		(void)html_close(p, T_SELECT, SCOPE_PLAIN);
	if (t->tag != T_PARAM && t->tag != T_SOURCE && t->tag != T_TRACK &&
	    t->tag != T_HR)
		html_format_reopen(p);
	html_put(p, t);
}

static void
start_raw(struct html_parser *p, struct html_token *t)
{
	if (t->tag == T_XMP) {
		(void)html_close_p(p);
		html_format_reopen(p);
	}
	html_raw(p, t);
}

/* Those whose way depends on their name alone. */
static void
start_other(struct html_parser *p, struct html_token *t)
{
	if (t->tag == T_RB || t->tag == T_RTC || t->tag == T_RP ||
	    t->tag == T_RT) {
		if (html_in_scope(p, T_RUBY, SCOPE_PLAIN))
			html_end_implied(p,
			    t->tag == T_RP || t->tag == T_RT ? T_RTC : T_OTHER);
	} else {
		if ((t->tag == T_OPTION || t->tag == T_OPTGROUP) &&
		    is(current(p), T_OPTION))
			html_stack_pop(p);
		html_format_reopen(p);
	}
	(void)html_open(p, t);
}

static void
start_pre(struct html_parser *p, struct html_token *t)
{
	(void)html_close_p(p);
	(void)html_open(p, t);
	p->skip_lf = true;
}

static void
start_heading(struct html_parser *p, struct html_token *t)
{
	(void)html_close_p(p);
	if (flag(current(p), F_HEADING))
		html_stack_pop(p);
	(void)html_open(p, t);
}

static void
start_marked(struct html_parser *p, struct html_token *t)
{
	size_t before;

	html_format_reopen(p);
	before = p->n_open;
	(void)html_open(p, t);
	if (p->n_open > before)
		html_format_marker(p);
}

static void
start_plaintext(struct html_parser *p, struct html_token *t)
{
	(void)html_close_p(p);
	(void)html_open(p, t);
	html_format_reopen(p);
	html_text(p, html_lexer_rest(&p->lex));
}

static void
start_block(struct html_parser *p, struct html_token *t)
{
	(void)html_close_p(p);
	(void)html_open(p, t);
}

static void
start_image(struct html_parser *p, struct html_token *t)
{
	t->tag = T_IMG;
	t->text = STR("img");
	start_void(p, t);
}

/* Of a whole page, or of a table: passed over. */
static void
start_skip(struct html_parser *, struct html_token *)
{
}

static void (*const STARTS[T_COUNT])(
    struct html_parser *p, struct html_token *t) = {
    start_other,
#define TAG(id, name, start, kept, flags) start_##start,
#include "markup/html_tags.tbl"
#undef TAG
};

static void
end_template(struct html_parser *p)
{
	if (!html_stack_has(p, T_TEMPLATE))
		return;
	html_stack_pop_until(p, T_TEMPLATE);
	html_format_clear(p);
	if (p->n_templates > 0)
		p->n_templates--;
	html_set_mode(p);
}

static void
end_form(struct html_parser *p)
{
	const struct html_node *n = p->form;

	if (html_stack_has(p, T_TEMPLATE)) {
		(void)html_close(p, T_FORM, SCOPE_PLAIN);
		return;
	}
	p->form = NULL;
	if (!n || html_stack_index(p, n) == p->n_open ||
	    !html_in_scope(p, T_FORM, SCOPE_PLAIN))
		return;
	html_end_implied(p, T_OTHER);
	html_stack_remove(p, n);
}

static void
end_scoped(struct html_parser *p, const struct html_token *t, enum html_scope s)
{
	if (html_close(p, t->tag, s) &&
	    (t->tag == T_APPLET || t->tag == T_MARQUEE || t->tag == T_OBJECT))
		html_format_clear(p);
}

static void
body_end(struct html_parser *p, struct html_token *t)
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
		if (!html_in_scope(p, T_P, SCOPE_BUTTON))
			(void)html_open_tag(p, T_P);
		(void)html_close_p(p);
		return;
	case T_LI:
		end_scoped(p, t, SCOPE_LIST);
		return;
	case T_BR:
		t->kind = TOK_START;
		t->n_attrs = 0;
		start_void(p, t);
		return;
	default:
		break;
	}
	if (f & (F_BLOCK | F_CLOSES)) {
		end_scoped(p, t, SCOPE_PLAIN);
	} else if (f & F_HEADING) {
		(void)html_close_any(p, F_HEADING, SCOPE_PLAIN);
	} else if (f & F_FORMAT) {
		html_adopt(p, t);
	} else {
		html_end_other(p, t);
	}
}

bool
html_in_body(struct html_parser *p, struct html_token *t)
{
	if (t->kind == TOK_TEXT) {
		html_format_reopen(p);
		html_text(p, t->text);
	} else if (t->kind == TOK_START) {
		STARTS[t->tag](p, t);
	} else {
		body_end(p, t);
	}
	return false;
}
