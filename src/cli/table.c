#include "cli/table.h"

#include <assert.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

struct row {
	struct row *next;
	struct str cells[TABLE_COLUMNS_MAX];
};

struct table {
	struct arena *arena;
	const struct column *columns;
	size_t width[TABLE_COLUMNS_MAX];
	struct row *first, *last;
};

/* Bytes that begin a character. */
static size_t
width_of(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static struct str
joined(struct arena *a, const struct json *list)
{
	struct str text = STR_EMPTY;

	for (const struct json *s = list->child; s; s = s->next)
		text = arena_fmt(a, "%.*s%s%.*s", STR_ARG(text),
		    text.n ? "," : "", STR_ARG(s->text));
	return text;
}

static struct str
cell_of(struct arena *a, const struct column *c, const struct json *item)
{
	const struct json *v = c->cell ? NULL : json_at(item, str_of(c->at));
	struct str text = STR_EMPTY;

	if (c->cell)
		text = c->cell(item);
	else if (json_is(v, JSON_STRING))
		text = v->text;
	else if (json_is(v, JSON_NUMBER))
		text = v->raw;
	else if (json_is_bool(v))
		text = v->type == JSON_TRUE ? STR("yes") : STR("no");
	else if (json_is(v, JSON_ARRAY))
		text = joined(a, v);
	return text.n ? text : STR("-");
}

void
table_add(struct table *t, const struct json *item)
{
	struct row *row = arena_alloc(t->arena, sizeof(*row));

	for (size_t i = 0; t->columns[i].head; i++) {
		const struct column *c = &t->columns[i];
		size_t w;

		assert(i < TABLE_COLUMNS_MAX);
		row->cells[i] =
		    item ? cell_of(t->arena, c, item) : str_of(c->head);
		w = width_of(row->cells[i]);
		if (w > t->width[i])
			t->width[i] = w;
	}
	*(t->last ? &t->last->next : &t->first) = row;
	t->last = row;
}

struct table *
table_new(struct arena *a, const struct column *columns)
{
	struct table *t = arena_alloc(a, sizeof(*t));

	t->arena = a;
	t->columns = columns;
	table_add(t, NULL);
	return t;
}

void
table_print(const struct table *t, FILE *to)
{
	for (const struct row *r = t->first; r; r = r->next) {
		for (size_t i = 0; t->columns[i].head; i++) {
			struct str cell = r->cells[i];
			bool last = !t->columns[i + 1].head;
			int pad =
			    last ? 0 : (int)(t->width[i] - width_of(cell)) + 2;

			(void)fprintf(to, "%.*s%*s", STR_ARG(cell), pad, "");
		}
		(void)fputc('\n', to);
	}
}
