#include "cli/listing.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "cli/limits.h"
#include "http/server/limits.h"

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "the list is too long");
}

struct str
listing_text(const struct json *item, const char *name)
{
	const struct json *v = json_get(item, name);

	return json_is(v, JSON_STRING) ? v->text : STR_EMPTY;
}

static int
ask_page(struct cli *c, struct reach *x, const char *path, struct str after,
    struct str *ret, struct err *e)
{
	struct str whole = arena_fmt(c->arena, "%s%slimit=%d%s%.*s", path,
	    strchr(path, '?') ? "&" : "?", PAGE_MAX, after.n ? "&after=" : "",
	    STR_ARG(after));

	if (!whole.p)
		return no_room(e);
	return reach_ask(
	    x, c, "GET", arena_z(c->arena, whole), STR_EMPTY, ret, e);
}

static int
read_all(struct cli *c, struct reach *x, const struct listing *l,
    struct str *ret, struct err *e)
{
	struct buf b = BUF(CLI_ANSWER_MAX);
	int rc;

	buf_addz(&b, "{\"data\":[");
	rc = l->all(x->db, c->arena, &b, e);
	buf_addz(&b, "],\"next\":null}");
	*ret = arena_dup(c->arena, buf_str(&b));
	if (rc == OK && (b.failed || !ret->p))
		rc = no_room(e);
	buf_done(&b);
	return rc;
}

int
listing_each(struct cli *c, struct reach *x, const struct listing *l,
    bool (*each)(void *arg, const struct json *item), void *arg, struct err *e)
{
	struct str after = STR_EMPTY, text = STR_EMPTY;
	struct json *page = NULL;
	int rc;

	do {
		const struct json *item;

		rc = x->client ? ask_page(c, x, l->path, after, &text, e)
			       : read_all(c, x, l, &text, e);
		if (rc == OK)
			rc = json_parse(c->arena, text, &page, e);
		if (rc < 0)
			return rc;
		item = json_get(page, "data");
		for (item = item ? item->child : NULL; item; item = item->next)
			if (!each(arg, item))
				return no_room(e);
		after = listing_text(page, "next");
	} while (after.n);
	return OK;
}

struct showing {
	struct cli *c;
	const struct listing *l;
	struct table *table; /* NULL: as JSON */
};

static bool
show_item(void *arg, const struct json *item)
{
	const struct showing *s = arg;

	if (s->table)
		return s->l->row(s->table, s->c->arena, item);
	(void)fprintf(s->c->out, "%.*s\n", STR_ARG(item->raw));
	return true;
}

static int
show(struct cli *c, struct reach *x, const struct listing *l, struct err *e)
{
	bool as_json = args_flag(&c->args, "json");
	struct showing s = {.c = c, .l = l};
	int rc;

	if (!as_json)
		s.table = table_new(c->arena, l->heads, l->columns);
	if (!as_json && !s.table)
		return no_room(e);
	rc = listing_each(c, x, l, show_item, &s, e);
	if (rc == OK && s.table)
		table_print(s.table, c->out);
	return rc;
}

int
listing_show(struct cli *c, const struct listing *l)
{
	struct reach x;
	struct err e;
	int rc = reach_open(c, &x, &e);

	if (rc == OK)
		rc = show(c, &x, l, &e);
	reach_close(&x);
	return rc < 0 ? cli_fail(c, &e) : EXIT_OK;
}
