#include "cli/listing.h"

#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/limits.h"
#include "http/server/limits.h"

struct str
listing_text(const struct json *item, const char *name)
{
	const struct json *v = json_get(item, name);

	return json_is(v, JSON_STRING) ? v->text : STR_EMPTY;
}

int64_t
listing_int(const struct json *item, const char *name)
{
	int64_t n = 0;

	return json_int(json_get(item, name), &n) ? n : 0;
}

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
	struct buf b = BUF(CLI_ANSWER_MAX);
	int rc;

	assert(l->all); /* the server has not been asked for */
	buf_addz(&b, "{\"data\":[");
	rc = l->all(c->reach.db, c->arena, &b, e);
	buf_addz(&b, "],\"next\":null}");
	if (rc == OK && b.failed)
		rc = err_set(e, ERR_LIMIT, "the list is too long");
	if (rc == OK)
		rc = json_parse(
		    c->arena, arena_dup(c->arena, buf_str(&b)), ret, e);
	buf_done(&b);
	return rc;
}

int
listing_each(struct cli *c, const struct listing *l,
    void (*each)(void *arg, const struct json *item), void *arg, struct err *e)
{
	struct str after = STR_EMPTY;
	int rc = l->all ? reach_open(c, e) : reach_server(c, e);

	while (rc == OK) {
		struct json *page = NULL;
		const struct json *item;

		rc = c->reach.client ? ask_page(c, l->path, after, &page, e)
				     : read_all(c, l, &page, e);
		if (rc < 0)
			return rc;
		item = json_get(page, "data");
		for (item = item ? item->child : NULL; item; item = item->next)
			each(arg, item);
		after = listing_text(page, "next");
		if (after.n == 0)
			break;
	}
	return rc;
}

static void
show_row(void *arg, const struct json *item)
{
	table_add(arg, item);
}

static void
show_json(void *arg, const struct json *item)
{
	struct cli *c = arg;

	(void)fprintf(c->out, "%.*s\n", STR_ARG(item->raw));
}

int
listing_show(struct cli *c, const struct listing *l, struct err *e)
{
	struct table *t;
	int rc;

	if (args_flag(&c->args, "json"))
		return listing_each(c, l, show_json, c, e);
	t = table_new(c->arena, l->columns);
	rc = listing_each(c, l, show_row, t, e);
	if (rc == OK)
		table_print(t, c->out);
	return rc;
}
