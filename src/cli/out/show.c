#include "cli/out/show.h"

#include "cli/out/term.h"

#define INDENT 2

static bool
is_plain(const struct json *v)
{
	if (json_is(v, JSON_ARRAY))
		for (const struct json *x = v->child; x; x = x->next)
			if (x->type == JSON_ARRAY || x->type == JSON_OBJECT)
				return false;
	return !json_is(v, JSON_OBJECT);
}

static bool
is_empty(const struct json *v)
{
	return v->type == JSON_NULL ||
	       (v->type >= JSON_ARRAY && v->child == NULL);
}

struct str
show_value(struct arena *a, const struct json *v)
{
	struct str text = STR_EMPTY;

	if (json_is(v, JSON_STRING))
		text = v->text;
	else if (json_is(v, JSON_NUMBER) || json_is(v, JSON_OBJECT))
		text = v->raw;
	else if (json_is_bool(v))
		text = v->type == JSON_TRUE ? STR("yes") : STR("no");
	else if (json_is(v, JSON_ARRAY))
		for (const struct json *x = v->child; x; x = x->next)
			text = arena_fmt(a, "%.*s%s%.*s", STR_ARG(text),
			    text.n ? "," : "", STR_ARG(show_value(a, x)));
	return text.n ? term_clean(a, text, false) : STR("-");
}

static void show_members(struct cli *c, const struct json *j, int depth);

static void
show_inside(struct cli *c, const struct json *j, int depth)
{
	if (j->type == JSON_OBJECT) {
		show_members(c, j, depth);
		return;
	}
	for (const struct json *x = j->child; x; x = x->next) {
		if (is_plain(x)) {
			(void)fprintf(c->out, "%*s%.*s\n", depth * INDENT, "",
			    STR_ARG(show_value(c->arena, x)));
			continue;
		}
		show_inside(c, x, depth);
		if (x->next)
			(void)fputc('\n', c->out);
	}
}

static void
show_members(struct cli *c, const struct json *j, int depth)
{
	size_t width = 0;

	for (const struct json *m = j->child; m; m = m->next)
		if (is_plain(m) && !is_empty(m) && m->key.n > width)
			width = m->key.n;
	for (const struct json *m = j->child; m; m = m->next) {
		struct str key = term_clean(c->arena, m->key, false);
		struct str value;
		int pad = key.n < width ? (int)(width - key.n) : 0;

		if (is_empty(m))
			continue;
		(void)fprintf(c->out, "%*s", depth * INDENT, "");
		term_tint(c, TINT_HEAD);
		(void)fprintf(c->out, "%.*s", STR_ARG(key));
		term_tint(c, TINT_NONE);
		if (!is_plain(m)) {
			(void)fputc('\n', c->out);
			show_inside(c, m, depth + 1);
			continue;
		}
		value = show_value(c->arena, m);
		(void)fprintf(c->out, "%*s  ", pad, "");
		term_tint(c, term_tint_of(value));
		(void)fprintf(c->out, "%.*s", STR_ARG(value));
		term_tint(c, TINT_NONE);
		(void)fputc('\n', c->out);
	}
}

void
show_doc(struct cli *c, const struct json *j)
{
	show_inside(c, j, 0);
}
