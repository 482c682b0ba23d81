#include "cli/table.h"

#include <assert.h>

#include "base/arena.h"
#include "base/str.h"

struct row {
	struct row *next;
	struct str cells[TABLE_COLUMNS_MAX];
};

struct table {
	struct arena *arena;
	size_t columns, at; /* at: cells of the last row that are there */
	size_t width[TABLE_COLUMNS_MAX];
	struct row *first, *last;
};

/* Bytes that begin a character. */
static size_t
width(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

struct table *
table_new(struct arena *a, const char *const *heads, size_t columns)
{
	struct table *t = arena_alloc(a, sizeof(*t));

	assert(columns >= 1 && columns <= TABLE_COLUMNS_MAX);
	if (!t)
		return NULL;
	t->arena = a;
	t->columns = t->at = columns;
	for (size_t i = 0; i < columns; i++)
		if (!table_add(t, str_of(heads[i])))
			return NULL;
	return t;
}

bool
table_add(struct table *t, struct str cell)
{
	size_t w = width(cell);

	if (t->at == t->columns) {
		struct row *row = arena_alloc(t->arena, sizeof(*row));

		if (!row)
			return false;
		*(t->last ? &t->last->next : &t->first) = row;
		t->last = row;
		t->at = 0;
	}
	if (w > t->width[t->at])
		t->width[t->at] = w;
	t->last->cells[t->at++] = cell;
	return true;
}

void
table_print(const struct table *t, FILE *to)
{
	for (const struct row *r = t->first; r; r = r->next) {
		for (size_t i = 0; i < t->columns; i++) {
			struct str cell = r->cells[i];
			bool last = i + 1 == t->columns;
			int pad =
			    last ? 0 : (int)(t->width[i] - width(cell)) + 2;

			(void)fprintf(to, "%.*s%*s", STR_ARG(cell), pad, "");
		}
		(void)fputc('\n', to);
	}
}
