#include "cli/listing.h"

#include "cli/limits.h"
#include "http/server/limits.h"

static int
ask_page(struct cli *c, const char *path, struct str after, struct json **ret,
    struct err *e)
{
	return reach_json(c, c->arena, "GET",
	    arena_fmt(c->arena, "%s%slimit=%d%s%.*s", path,
		strchr(path, '?') ? "&" : "?", PAGE_MAX,
		after.n ? "&after=" : "", STR_ARG(after)),
	    STR_EMPTY, ret, e);
}

static int
read_all(
    struct cli *c, const struct listing *l, struct json **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(CLI_ANSWER_MAX);

	assert(l->all); /* the server has not been asked for */
	buf_addz(&b, "{\"data\":[");
	TRY(l->all(c->reach.db, c->arena, &b, e));
	buf_addz(&b, "],\"next\":null}");
	if (b.failed)
		return err_set(e, ERR_LIMIT, "the list is too long");
	return json_parse(c->arena, arena_dup(c->arena, buf_str(&b)), ret, e);
}

int
listing_read(
    struct cli *c, const struct listing *l, struct json **ret, struct err *e)
{
	struct str after = STR_EMPTY;
	struct json *first = NULL, **end = &first;

	TRY(l->all ? reach_open(c, e) : reach_server(c, e));
	do {
		struct json *page = NULL;

		TRY(c->reach.client ? ask_page(c, l->path, after, &page, e)
				    : read_all(c, l, &page, e));
		*end = json_first(page, "data");
		while (*end)
			end = &(*end)->next;
		after = json_text(page, "next");
	} while (after.n > 0);
	*ret = first;
	return OK;
}

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

/* Of no item: the column's head. */
static struct str
cell_of(struct arena *a, const struct column *c, const struct json *item)
{
	const struct json *v = c->cell ? NULL : json_at(item, str_of(c->at));
	struct str text = STR_EMPTY;

	if (!item)
		text = str_of(c->head);
	else if (c->cell)
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

static void
print_row(struct cli *c, const struct column *columns, const size_t *width,
    const struct json *item)
{
	for (size_t i = 0; columns[i].head; i++) {
		struct str cell = cell_of(c->arena, &columns[i], item);
		bool last = !columns[i + 1].head;
		int pad = last ? 0 : (int)(width[i] - width_of(cell)) + 2;

		(void)fprintf(c->out, "%.*s%*s", STR_ARG(cell), pad, "");
	}
	(void)fputc('\n', c->out);
}

void
listing_print(
    struct cli *c, const struct column *columns, const struct json *first)
{
	size_t width[LISTING_COLUMNS_MAX] = {0};

	for (size_t i = 0; columns[i].head; i++) {
		assert(i < LISTING_COLUMNS_MAX);
		width[i] = width_of(str_of(columns[i].head));
		for (const struct json *j = first; j; j = j->next) {
			size_t w = width_of(cell_of(c->arena, &columns[i], j));

			width[i] = w > width[i] ? w : width[i];
		}
	}
	print_row(c, columns, width, NULL);
	for (; first; first = first->next)
		print_row(c, columns, width, first);
}

int
listing_show(struct cli *c, const struct listing *l, struct err *e)
{
	struct json *first = NULL;

	TRY(listing_read(c, l, &first, e));
	if (!args_flag(&c->args, "json"))
		listing_print(c, l->columns, first);
	else
		for (; first; first = first->next)
			(void)fprintf(c->out, "%.*s\n", STR_ARG(first->raw));
	return OK;
}
