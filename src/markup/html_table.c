/* The modes of tables, which throw out what is not theirs, and templates. */
#include "markup/html_priv.h"

/* Pops what stands below the table, its section or its row. */
static void
clear_to(struct html_parser *p, enum html_tag t, uint16_t flags)
{
	while (p->n_open > 1 && !is(current(p), t) &&
	       !flag(current(p), flags) && !is(current(p), T_TEMPLATE))
		html_stack_pop(p);
}

static bool
fostered(struct html_parser *p, struct html_token *t)
{
	bool again;

	p->foster = true;
	again = html_in_body(p, t);
	p->foster = false;
	return again;
}

static bool
white(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr(" \t\n\f", s.p[i]) || !s.p[i])
			return false;
	return true;
}

static bool
holds_parts(const struct html_node *n)
{
	return is(n, T_TABLE) || is(n, T_TEMPLATE) || is(n, T_TR) ||
	       flag(n, F_SECTION);
}

static bool
is_hidden(const struct html_token *t)
{
	for (size_t i = 0; i < t->n_attrs; i++)
		if (str_eq(t->attrs[i].name, STR("type")))
			return str_eq_nocase(t->attrs[i].value, STR("hidden"));
	return false;
}

/* True: what has to stand around it is there now. */
static bool
start_part(struct html_parser *p, struct html_token *t)
{
	bool column = t->tag == T_COL || t->tag == T_COLGROUP;
	bool implied =
	    t->tag == T_COL || t->tag == T_TR || (HTML_FLAGS[t->tag] & F_CELL);

	clear_to(p, T_TABLE, 0);
	p->mode = column ? html_in_colgroup : html_in_table_body;
	if (t->tag == T_CAPTION) {
		html_format_marker(p);
		p->mode = html_in_caption;
	}
	if (implied)
		(void)html_open_tag(p, column ? T_COLGROUP : T_TBODY);
	else
		(void)html_open(p, t);
	return implied;
}

static bool
table_start(struct html_parser *p, struct html_token *t)
{
	if (HTML_FLAGS[t->tag] & F_PART)
		return start_part(p, t);
	switch ((int)t->tag) {
	case T_TABLE:
		if (!html_close(p, T_TABLE, SCOPE_TABLE))
			return false;
		html_set_mode(p);
		return true;
	case T_STYLE:
	case T_SCRIPT:
	case T_TEMPLATE:
		return html_in_body(p, t);
	case T_INPUT:
		if (!is_hidden(t))
			return fostered(p, t);
		html_put(p, t);
		return false;
	case T_FORM:
		if (html_stack_has(p, T_TEMPLATE) || p->form)
			return false;
		p->form = html_open(p, t);
		if (current(p) == p->form)
			html_stack_pop(p);
		return false;
	default:
		return fostered(p, t);
	}
}

/* Tags of the outer structure, which a mode leaves alone. */
static bool
outer(enum html_tag t)
{
	return (HTML_FLAGS[t] & F_PART) || t == T_BODY || t == T_HTML;
}

bool
html_in_table(struct html_parser *p, struct html_token *t)
{
	if (t->kind == TOK_TEXT) {
		if (!holds_parts(current(p)) || !white(t->text))
			return fostered(p, t);
		html_text(p, t->text);
		return false;
	}
	if (t->kind == TOK_START)
		return table_start(p, t);
	if (t->tag == T_TABLE) {
		if (html_close(p, T_TABLE, SCOPE_TABLE))
			html_set_mode(p);
		return false;
	}
	if (t->tag == T_TEMPLATE)
		return html_in_body(p, t);
	return outer(t->tag) ? false : fostered(p, t);
}

bool
html_in_caption(struct html_parser *p, struct html_token *t)
{
	bool own = t->kind == TOK_END && t->tag == T_CAPTION;
	bool ends = t->kind == TOK_START ? (HTML_FLAGS[t->tag] & F_PART) != 0
					 : own || t->tag == T_TABLE;

	if (!ends)
		return t->kind == TOK_END && outer(t->tag) ? false
							   : html_in_body(p, t);
	if (!html_close(p, T_CAPTION, SCOPE_TABLE))
		return false;
	html_format_clear(p);
	p->mode = html_in_table;
	return !own;
}

bool
html_in_colgroup(struct html_parser *p, struct html_token *t)
{
	struct str s = t->text;

	if (t->kind == TOK_TEXT) {
		size_t n = 0;

		while (n < s.n && white((struct str){s.p + n, 1}))
			n++;
		html_text(p, (struct str){s.p, n});
		t->text = str_from(s, n);
		if (t->text.n == 0)
			return false;
	} else if (t->kind == TOK_START && t->tag == T_COL) {
		html_put(p, t);
		return false;
	} else if (t->tag == (t->kind == TOK_START ? T_HTML : T_COL)) {
		return false;
	} else if (t->tag == T_TEMPLATE) {
		return html_in_body(p, t);
	}
	if (!is(current(p), T_COLGROUP))
		return false;
	html_stack_pop(p);
	p->mode = html_in_table;
	return t->kind != TOK_END || t->tag != T_COLGROUP;
}

static bool
leave_section(struct html_parser *p)
{
	if (!html_close_any(p, F_SECTION, SCOPE_TABLE))
		return false;
	p->mode = html_in_table;
	return true;
}

bool
html_in_table_body(struct html_parser *p, struct html_token *t)
{
	uint16_t f = HTML_FLAGS[t->tag];

	if (t->kind == TOK_START && (t->tag == T_TR || (f & F_CELL))) {
		clear_to(p, T_TEMPLATE, F_SECTION);
		p->mode = html_in_row;
		if (f & F_CELL)
			(void)html_open_tag(p, T_TR);
		else
			(void)html_open(p, t);
		return f & F_CELL;
	}
	if (t->kind == TOK_START && (f & F_PART))
		return leave_section(p);
	if (t->kind == TOK_END) {
		if (f & F_SECTION) {
			if (html_in_scope(p, t->tag, SCOPE_TABLE))
				(void)leave_section(p);
			return false;
		}
		if (t->tag == T_TABLE)
			return leave_section(p);
		if (outer(t->tag))
			return false;
	}
	return html_in_table(p, t);
}

static bool
leave_row(struct html_parser *p)
{
	if (!html_close(p, T_TR, SCOPE_TABLE))
		return false;
	p->mode = html_in_table_body;
	return true;
}

bool
html_in_row(struct html_parser *p, struct html_token *t)
{
	uint16_t f = HTML_FLAGS[t->tag];

	if (t->kind == TOK_START && (f & F_CELL)) {
		clear_to(p, T_TR, 0);
		(void)html_open(p, t);
		p->mode = html_in_cell;
		html_format_marker(p);
		return false;
	}
	if (t->kind == TOK_START && (f & F_PART))
		return leave_row(p);
	if (t->kind == TOK_END) {
		if (t->tag == T_TR || t->tag == T_TABLE)
			return leave_row(p) && t->tag == T_TABLE;
		if (f & F_SECTION)
			return html_in_scope(p, t->tag, SCOPE_TABLE) &&
			       leave_row(p);
		if (outer(t->tag))
			return false;
	}
	return html_in_table(p, t);
}

/* When the cell was closed, its row goes on. */
static bool
leave_cell(struct html_parser *p, bool closed)
{
	if (closed) {
		html_format_clear(p);
		p->mode = html_in_row;
	}
	return closed;
}

bool
html_in_cell(struct html_parser *p, struct html_token *t)
{
	uint16_t f = HTML_FLAGS[t->tag];

	if (t->kind == TOK_START && (f & F_PART))
		return leave_cell(p, html_close_any(p, F_CELL, SCOPE_TABLE));
	if (t->kind == TOK_END) {
		if (f & F_CELL) {
			(void)leave_cell(p, html_close(p, t->tag, SCOPE_TABLE));
			return false;
		}
		if (t->tag == T_TABLE || t->tag == T_TR || (f & F_SECTION))
			return html_in_scope(p, t->tag, SCOPE_TABLE) &&
			       leave_cell(
				   p, html_close_any(p, F_CELL, SCOPE_TABLE));
		if (outer(t->tag))
			return false;
	}
	return html_in_body(p, t);
}

bool
html_in_template(struct html_parser *p, struct html_token *t)
{
	uint16_t f = HTML_FLAGS[t->tag];
	html_mode *next = t->tag == T_COL  ? html_in_colgroup
			  : t->tag == T_TR ? html_in_table_body
			  : f & F_CELL     ? html_in_row
			  : f & F_PART     ? html_in_table
					   : html_in_body;

	if (t->kind == TOK_END && t->tag != T_TEMPLATE)
		return false;
	if (t->kind != TOK_START || (f & F_HEAD))
		return html_in_body(p, t);
	if (p->n_templates > 0)
		p->templates[p->n_templates - 1] = next;
	p->mode = next;
	return true;
}
