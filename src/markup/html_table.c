/* The modes of tables, which throw out what is not theirs, and templates. */
#include "base/str.h"
#include "markup/html_priv.h"

/* Pops what stands below the table, its body or its row. */
static void
clear_to(struct parser *p, enum html_tag a, enum html_tag b, enum html_tag c)
{
	while (p->n_open > 1 && !is(current(p), a) && !is(current(p), b) &&
	       !is(current(p), c) && !is(current(p), T_TEMPLATE))
		stack_pop(p);
}

static void
to_table(struct parser *p)
{
	clear_to(p, T_TABLE, T_TABLE, T_TABLE);
}

static void
to_body(struct parser *p)
{
	clear_to(p, T_TBODY, T_TFOOT, T_THEAD);
}

static void
to_row(struct parser *p)
{
	clear_to(p, T_TR, T_TR, T_TR);
}

static bool
fostered(struct parser *p, struct token *t)
{
	bool again;

	p->foster = true;
	again = in_body(p, t);
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
part_of_table(const struct html_node *n)
{
	return is(n, T_TABLE) || is(n, T_TBODY) || is(n, T_TEMPLATE) ||
	       is(n, T_TFOOT) || is(n, T_THEAD) || is(n, T_TR);
}

static bool
table_start(struct parser *p, struct token *t)
{
	struct str type;
	struct html_node *n;

	switch ((int)t->tag) {
	case T_CAPTION:
		to_table(p);
		format_marker(p);
		(void)tree_open(p, t);
		p->mode = in_caption;
		return false;
	case T_COLGROUP:
		to_table(p);
		(void)tree_open(p, t);
		p->mode = in_colgroup;
		return false;
	case T_COL:
		to_table(p);
		(void)tree_open_tag(p, T_COLGROUP);
		p->mode = in_colgroup;
		return true;
	case T_TBODY:
	case T_TFOOT:
	case T_THEAD:
		to_table(p);
		(void)tree_open(p, t);
		p->mode = in_table_body;
		return false;
	case T_TD:
	case T_TH:
	case T_TR:
		to_table(p);
		(void)tree_open_tag(p, T_TBODY);
		p->mode = in_table_body;
		return true;
	case T_TABLE:
		if (!in_scope(p, T_TABLE, SCOPE_TABLE))
			return false;
		stack_pop_until(p, T_TABLE);
		set_mode(p);
		return true;
	case T_STYLE:
	case T_SCRIPT:
	case T_TEMPLATE:
		in_head(p, t);
		return false;
	case T_INPUT:
		type = STR_EMPTY;
		for (size_t i = 0; i < t->n_attrs; i++)
			if (str_eq(t->attrs[i].name, STR("type")))
				type = t->attrs[i].value;
		if (!str_eq_nocase(type, STR("hidden")))
			return fostered(p, t);
		tree_put(p, t);
		return false;
	case T_FORM:
		if (stack_has(p, T_TEMPLATE) || p->form)
			return false;
		n = tree_open(p, t);
		p->form = n;
		if (n && current(p) == n)
			stack_pop(p);
		return false;
	default:
		return fostered(p, t);
	}
}

/* Tags of the outer structure, which a mode leaves alone. */
static bool
outer(enum html_tag t, bool with_rows)
{
	switch ((int)t) {
	case T_BODY:
	case T_CAPTION:
	case T_COL:
	case T_COLGROUP:
	case T_HTML:
		return true;
	case T_TBODY:
	case T_TD:
	case T_TFOOT:
	case T_TH:
	case T_THEAD:
	case T_TR:
		return with_rows;
	default:
		return false;
	}
}

bool
in_table(struct parser *p, struct token *t)
{
	if (t->kind == TOK_TEXT) {
		if (!part_of_table(current(p)))
			return fostered(p, t);
		if (!white(t->text))
			return fostered(p, t);
		tree_text(p, t->text);
		return false;
	}
	if (t->kind == TOK_START)
		return table_start(p, t);
	if (t->tag == T_TABLE) {
		if (in_scope(p, T_TABLE, SCOPE_TABLE)) {
			stack_pop_until(p, T_TABLE);
			set_mode(p);
		}
		return false;
	}
	if (t->tag == T_TEMPLATE) {
		end_template(p);
		return false;
	}
	return outer(t->tag, true) ? false : fostered(p, t);
}

bool
in_caption(struct parser *p, struct token *t)
{
	bool ends =
	    t->kind == TOK_START
		? outer(t->tag, true) && t->tag != T_BODY && t->tag != T_HTML
		: t->kind == TOK_END && t->tag == T_TABLE;

	if (t->kind == TOK_END && t->tag == T_CAPTION)
		ends = true;
	if (!ends) {
		if (t->kind == TOK_END && outer(t->tag, true))
			return false;
		return in_body(p, t);
	}
	if (!in_scope(p, T_CAPTION, SCOPE_TABLE))
		return false;
	stack_pop_until(p, T_CAPTION);
	format_clear(p);
	p->mode = in_table;
	return t->tag != T_CAPTION || t->kind == TOK_START;
}

bool
in_colgroup(struct parser *p, struct token *t)
{
	struct str s = t->text;

	if (t->kind == TOK_TEXT) {
		size_t n = 0;

		while (n < s.n && white((struct str){s.p + n, 1}))
			n++;
		tree_text(p, (struct str){s.p, n});
		t->text = str_from(s, n);
		if (t->text.n == 0)
			return false;
	} else if (t->kind == TOK_START && t->tag == T_COL) {
		tree_put(p, t);
		return false;
	} else if (t->tag == (t->kind == TOK_START ? T_HTML : T_COL)) {
		return false;
	} else if (t->tag == T_TEMPLATE) {
		if (t->kind == TOK_START)
			in_head(p, t);
		else
			end_template(p);
		return false;
	}
	if (!is(current(p), T_COLGROUP))
		return false;
	stack_pop(p);
	p->mode = in_table;
	return t->kind != TOK_END || t->tag != T_COLGROUP;
}

static bool
body_in_scope(const struct parser *p)
{
	return in_scope(p, T_TBODY, SCOPE_TABLE) ||
	       in_scope(p, T_THEAD, SCOPE_TABLE) ||
	       in_scope(p, T_TFOOT, SCOPE_TABLE);
}

static bool
section(enum html_tag t)
{
	return t == T_TBODY || t == T_THEAD || t == T_TFOOT;
}

static bool
leave_body(struct parser *p)
{
	if (!body_in_scope(p))
		return false;
	to_body(p);
	stack_pop(p);
	p->mode = in_table;
	return true;
}

bool
in_table_body(struct parser *p, struct token *t)
{
	if (t->kind == TOK_START) {
		if (t->tag == T_TR || t->tag == T_TD || t->tag == T_TH) {
			to_body(p);
			p->mode = in_row;
			if (t->tag == T_TR)
				(void)tree_open(p, t);
			else
				(void)tree_open_tag(p, T_TR);
			return t->tag != T_TR;
		}
		if (t->tag == T_CAPTION || t->tag == T_COL ||
		    t->tag == T_COLGROUP || section(t->tag))
			return leave_body(p);
	} else if (t->kind == TOK_END) {
		if (section(t->tag)) {
			if (in_scope(p, t->tag, SCOPE_TABLE))
				(void)leave_body(p);
			return false;
		}
		if (t->tag == T_TABLE)
			return leave_body(p);
		if (outer(t->tag, true))
			return false;
	}
	return in_table(p, t);
}

static bool
leave_row(struct parser *p)
{
	if (!in_scope(p, T_TR, SCOPE_TABLE))
		return false;
	to_row(p);
	stack_pop(p);
	p->mode = in_table_body;
	return true;
}

bool
in_row(struct parser *p, struct token *t)
{
	if (t->kind == TOK_START) {
		if (t->tag == T_TD || t->tag == T_TH) {
			to_row(p);
			(void)tree_open(p, t);
			p->mode = in_cell;
			format_marker(p);
			return false;
		}
		if (t->tag == T_CAPTION || t->tag == T_COL ||
		    t->tag == T_COLGROUP || section(t->tag) || t->tag == T_TR)
			return leave_row(p);
	} else if (t->kind == TOK_END) {
		if (t->tag == T_TR) {
			(void)leave_row(p);
			return false;
		}
		if (t->tag == T_TABLE)
			return leave_row(p);
		if (section(t->tag))
			return in_scope(p, t->tag, SCOPE_TABLE) && leave_row(p);
		if (outer(t->tag, true))
			return false;
	}
	return in_table(p, t);
}

static bool
leave_cell(struct parser *p)
{
	if (!in_scope(p, T_TD, SCOPE_TABLE) && !in_scope(p, T_TH, SCOPE_TABLE))
		return false;
	while (p->n_open > 1 && !is(current(p), T_TD) && !is(current(p), T_TH))
		stack_pop(p);
	stack_pop(p);
	format_clear(p);
	p->mode = in_row;
	return true;
}

bool
in_cell(struct parser *p, struct token *t)
{
	if (t->kind == TOK_START && outer(t->tag, true) && t->tag != T_BODY &&
	    t->tag != T_HTML)
		return leave_cell(p);
	if (t->kind == TOK_END) {
		if (t->tag == T_TD || t->tag == T_TH) {
			if (!in_scope(p, t->tag, SCOPE_TABLE))
				return false;
			stack_pop_until(p, t->tag);
			format_clear(p);
			p->mode = in_row;
			return false;
		}
		if (outer(t->tag, false))
			return false;
		if (t->tag == T_TABLE || section(t->tag) || t->tag == T_TR)
			return in_scope(p, t->tag, SCOPE_TABLE) &&
			       leave_cell(p);
	}
	return in_body(p, t);
}

bool
in_template(struct parser *p, struct token *t)
{
	mode_fn *next = in_body;

	if (t->kind == TOK_TEXT)
		return in_body(p, t);
	if (t->kind == TOK_END) {
		if (t->tag == T_TEMPLATE)
			end_template(p);
		return false;
	}
	switch ((int)t->tag) {
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
		return false;
	case T_CAPTION:
	case T_COLGROUP:
	case T_TBODY:
	case T_TFOOT:
	case T_THEAD:
		next = in_table;
		break;
	case T_COL:
		next = in_colgroup;
		break;
	case T_TR:
		next = in_table_body;
		break;
	case T_TD:
	case T_TH:
		next = in_row;
		break;
	default:
		break;
	}
	if (p->n_templates > 0)
		p->templates[p->n_templates - 1] = next;
	p->mode = next;
	return true;
}
