/* SVG and MathML: where they end, and where HTML begins again inside. */
#include "markup/html_priv.h"

static bool
math_text_point(const struct html_node *n)
{
	return n->ns == NS_MATH &&
	       (n->tag == T_MI || n->tag == T_MO || n->tag == T_MN ||
		   n->tag == T_MS || n->tag == T_MTEXT);
}

bool
html_foreign_special(const struct html_node *n)
{
	if (n->ns == NS_MATH)
		return math_text_point(n) || n->tag == T_ANNOTATION_XML;
	return n->ns == NS_SVG && (n->tag == T_FOREIGNOBJECT ||
				      n->tag == T_DESC || n->tag == T_TITLE);
}

static bool
html_point(const struct html_node *n)
{
	struct str encoding;

	if (n->ns == NS_SVG)
		return html_foreign_special(n);
	if (n->ns != NS_MATH || n->tag != T_ANNOTATION_XML)
		return false;
	encoding = html_attr(n, "encoding");
	return str_eq_nocase(encoding, STR("text/html")) ||
	       str_eq_nocase(encoding, STR("application/xhtml+xml"));
}

bool
html_foreign_takes(const struct html_parser *p, const struct html_token *t)
{
	const struct html_node *n = current(p);

	if (n->ns == NS_HTML)
		return false;
	if (math_text_point(n) &&
	    (t->kind == TOK_TEXT ||
		(t->kind == TOK_START && t->tag != T_MGLYPH &&
		    t->tag != T_MALIGNMARK)))
		return false;
	if (n->ns == NS_MATH && n->tag == T_ANNOTATION_XML &&
	    t->kind == TOK_START && t->tag == T_SVG)
		return false;
	return !(
	    html_point(n) && (t->kind == TOK_START || t->kind == TOK_TEXT));
}

static bool
breaks_out(const struct html_token *t)
{
	if (t->kind == TOK_END)
		return t->tag == T_BR || t->tag == T_P;
	if (t->tag == T_FONT)
		for (size_t i = 0; i < t->n_attrs; i++)
			if (str_eq(t->attrs[i].name, STR("color")) ||
			    str_eq(t->attrs[i].name, STR("face")) ||
			    str_eq(t->attrs[i].name, STR("size")))
				return true;
	return HTML_FLAGS[t->tag] & F_BREAKOUT;
}

/* Up the stack to the element that it ends; among HTML the mode knows. */
static bool
end_tag(struct html_parser *p, struct html_token *t)
{
	size_t i = p->n_open;

	while (i > 1) {
		const struct html_node *n = p->open[i - 1];

		if (n->ns == NS_HTML)
			return p->mode(p, t);
		if (str_eq(n->text, t->text)) {
			p->n_open = i - 1;
			return false;
		}
		i--;
	}
	return false;
}

bool
html_in_foreign(struct html_parser *p, struct html_token *t)
{
	const struct html_node *n;

	if (t->kind == TOK_TEXT) {
		html_text(p, t->text);
		return false;
	}
	if (breaks_out(t)) {
		while (current(p)->ns != NS_HTML &&
		       !math_text_point(current(p)) && !html_point(current(p)))
			html_stack_pop(p);
		return p->mode(p, t);
	}
	if (t->kind == TOK_END)
		return end_tag(p, t);
	n = html_open_ns(p, t, (enum html_ns)current(p)->ns);
	if (t->self_closing && current(p) == n)
		html_stack_pop(p);
	return false;
}
