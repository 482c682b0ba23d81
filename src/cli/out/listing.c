#include "cli/out/listing.h"

#include "cli/limits.h"
#include "cli/out/show.h"
#include "cli/out/term.h"
#include "http/percent.h"
#include "http/server/limits.h"

/* Where a walk over a list is. */
struct walk {
	struct cli *cli;
	const struct listing *of;
	struct arena *arena; /* of the page */
	struct buf after;    /* the cursor; empty at first */
	int64_t left;        /* items still wanted */
	bool ended;
};

static int
ask_page(struct walk *w, struct json **ret, struct err *e)
{
	struct buf path CLEANUP(buf_done) = BUF(64 * KIB);
	const char *from = w->of->path;

	buf_fmt(&path, "%s%climit=%lld", from, strchr(from, '?') ? '&' : '?',
	    (long long)(w->left < PAGE_MAX ? w->left : PAGE_MAX));
	if (w->after.n > 0) {
		buf_addz(&path, "&after=");
		percent_add(&path, buf_str(&w->after));
	}
	if (path.failed)
		return err_set(e, ERR_LIMIT, "the filter is too long");
	return reach_json(
	    w->cli, w->arena, "GET", buf_str(&path), STR_EMPTY, ret, e);
}

static int
read_all(struct walk *w, struct json **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(CLI_ANSWER_MAX);

	assert(w->of->all); /* the server has not been asked for */
	buf_addz(&b, "{\"data\":[");
	TRY(w->of->all(w->cli->reach.db, w->arena, &b, e));
	buf_addz(&b, "],\"next\":null}");
	if (b.failed)
		return err_set(e, ERR_LIMIT, "the list is too long");
	return json_parse(w->arena, arena_dup(w->arena, buf_str(&b)), ret, e);
}

/* The first item of the next page; NULL: it has none. */
static int
next_page(struct walk *w, struct json **ret, struct err *e)
{
	struct json *page = NULL, *item;
	struct str next;

	TRY(w->cli->reach.client ? ask_page(w, &page, e)
				 : read_all(w, &page, e));
	item =
	    json_is(page, JSON_ARRAY) ? page->child : json_first(page, "data");
	next = json_text(page, "next");
	/* The log has a place to go on from at its end, too. */
	w->ended = next.n == 0 || (!item && str_eq(next, buf_str(&w->after)));
	buf_clear(&w->after);
	buf_add(&w->after, next);
	*ret = item;
	for (; item && w->left > 0; item = item->next)
		if (--w->left == 0)
			item->next = NULL;
	w->ended = w->ended || w->left == 0;
	return OK;
}

int
listing_read(
    struct cli *c, const struct listing *l, struct json **ret, struct err *e)
{
	struct walk w = {.cli = c,
	    .of = l,
	    .arena = c->arena,
	    .after = BUF(4 * KIB),
	    .left = INT64_MAX};
	struct json *first = NULL, **end = &first;
	int rc = l->all ? reach_open(c, e) : reach_server(c, e);

	while (rc == OK && !w.ended) {
		rc = next_page(&w, end, e);
		while (*end)
			end = &(*end)->next;
	}
	buf_done(&w.after);
	if (rc == OK)
		*ret = first;
	return rc;
}

/* Of no item: the column's head. */
static struct str
cell_of(struct arena *a, const struct column *c, const struct json *item)
{
	struct str at = str_of(c->at), text;
	const struct json *v = NULL;

	if (!item)
		return str_of(c->head);
	if (c->cell) {
		text = c->cell(item);
		return text.n ? term_clean(a, text, false) : STR("-");
	}
	while (at.n > 0 && (!v || v->type == JSON_NULL))
		v = json_at(item, str_cut(&at, '|'));
	return show_value(a, v);
}

static void
print_row(struct walk *w, const size_t *width, const struct json *item)
{
	const struct column *columns = w->of->columns;
	struct cli *c = w->cli;

	for (size_t i = 0; columns[i].head; i++) {
		struct str cell = cell_of(w->arena, &columns[i], item);
		bool last = !columns[i + 1].head;
		int pad = last ? 0 : (int)(width[i] - term_width(cell)) + 2;

		term_tint(c, item ? term_tint_of(cell) : TINT_HEAD);
		(void)fprintf(c->out, "%.*s", STR_ARG(cell));
		term_tint(c, TINT_NONE);
		(void)fprintf(c->out, "%*s", pad, "");
	}
	(void)fputc('\n', c->out);
}

static void
print_page(struct walk *w, size_t *width, bool first, const struct json *item)
{
	const struct column *columns = w->of->columns;

	for (size_t i = 0; columns[i].head; i++) {
		assert(i < LISTING_COLUMNS_MAX);
		if (first)
			width[i] = term_width(str_of(columns[i].head));
		for (const struct json *j = item; j; j = j->next) {
			size_t n =
			    term_width(cell_of(w->arena, &columns[i], j));

			width[i] = n > width[i] ? n : width[i];
		}
	}
	if (first)
		print_row(w, width, NULL);
	for (; item; item = item->next)
		print_row(w, width, item);
}

void
listing_print(
    struct cli *c, const struct column *columns, const struct json *first)
{
	struct listing l = {.columns = columns};
	struct walk w = {.cli = c, .of = &l, .arena = c->arena};
	size_t width[LISTING_COLUMNS_MAX] = {0};

	print_page(&w, width, true, first);
}

int
listing_show(struct cli *c, const struct listing *l, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(CLI_ARENA_MAX);
	struct walk w = {.cli = c,
	    .of = l,
	    .arena = a,
	    .after = BUF(4 * KIB),
	    .left = args_int(&c->args, "limit", INT64_MAX)};
	size_t width[LISTING_COLUMNS_MAX] = {0};
	bool json = args_flag(&c->args, "json"), first = true;
	int rc = l->all ? reach_open(c, e) : reach_server(c, e);

	while (rc == OK && !w.ended && !ferror(c->out)) {
		struct json *item = NULL;

		arena_reset(a);
		rc = next_page(&w, &item, e);
		if (rc == OK && !json)
			print_page(&w, width, first, item);
		for (; json && item; item = item->next)
			(void)fprintf(c->out, "%.*s\n", STR_ARG(item->raw));
		first = false;
	}
	buf_done(&w.after);
	return rc;
}
