#include "source/outbox.h"

#include "base/conf/conf.h"

#define NAME_MAX_LEN 63 /* PostgreSQL would cut a longer one */

static bool
is_name(struct str s)
{
	if (s.n == 0 || s.n > NAME_MAX_LEN || (s.p[0] >= '0' && s.p[0] <= '9'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return true;
}

/* NAME or SCHEMA.NAME, quoted. */
static int
outbox_table(struct outbox_opts *o, const char *name, struct err *e)
{
	struct str rest = str_of(name), first = str_cut(&rest, '.');
	bool two = strchr(name, '.') != NULL;

	if (!is_name(first) || (two && !is_name(rest)))
		return err_set(e, ERR_INVALID,
		    "%s.table must be NAME or SCHEMA.NAME of letters, digits and _, not \"%.80s\"",
		    o->name, name);
	if (two)
		(void)snprintf(o->table, sizeof(o->table), "\"%.*s\".\"%.*s\"",
		    STR_ARG(first), STR_ARG(rest));
	else
		(void)snprintf(
		    o->table, sizeof(o->table), "\"%.*s\"", STR_ARG(first));
	return OK;
}

/* `c` has the fields outbox_*, `all` the others. */
static int
outbox_read(const struct conf *all, const struct conf *c, const char *name,
    struct outbox_opts *ret, struct err *e)
{
	struct outbox_opts o = {
	    .url = c->outbox_url,
	    .bare = c->outbox_table,
	    .poll_ms = c->outbox_poll_ms,
	    .xid = strcmp(c->outbox_mode, "xid") == 0,
	    .batch = c->outbox_batch,
	    .body_max = all->webhook_max_payload_size,
	};

	(void)snprintf(
	    o.name, sizeof(o.name), "outbox%s%s", *name ? "." : "", name);
	TRY(outbox_table(&o, c->outbox_table, e));
	if (!o.url[0])
		return err_set(e, ERR_INVALID, "%s.url is not set", o.name);
	if (outbox_file(o.url) && o.xid)
		return err_set(e, ERR_INVALID,
		    "%s.mode = xid is for PostgreSQL; a SQLite outbox is read by polling",
		    o.name);
	*ret = o;
	return OK;
}

int
outbox_all(
    const struct conf *c, struct outbox_opts ret[OUTBOXES_MAX], struct err *e)
{
	int n = 0;

	if (c->outbox_url[0])
		TRY(outbox_read(c, c, "", &ret[n++], e));
	for (size_t i = 0; i < c->n_named; i++)
		if (strcmp(c->named[i].group, "outbox") == 0)
			TRY(outbox_read(c, c->named[i].own, c->named[i].name,
			    &ret[n++], e));
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (strcmp(ret[i].url, ret[j].url) == 0 &&
			    strcmp(ret[i].table, ret[j].table) == 0)
				return err_set(e, ERR_INVALID,
				    "%s and %s are the same table: one of them is enough",
				    ret[j].name, ret[i].name);
	return n;
}

const char *
outbox_label(const struct outbox_opts *o)
{
	const char *dot = strchr(o->name, '.');

	return dot ? dot + 1 : "";
}

const char *
outbox_file(const char *url)
{
	static const char SCHEME[] = "sqlite://";

	return strncmp(url, SCHEME, sizeof(SCHEME) - 1) == 0
		   ? url + sizeof(SCHEME) - 1
		   : NULL;
}

/* `from` of the text becomes `to`, wherever it stands. */
static void
add_replaced(struct buf *b, struct str text, const char *from, struct str to)
{
	while (text.n > 0) {
		bool here = str_starts(text, str_of(from));

		buf_add(b, here ? to : (struct str){text.p, 1});
		text = str_from(text, here ? strlen(from) : 1);
	}
}

int
outbox_schema(
    const char *schema, const char *table, struct buf *b, struct err *e)
{
	struct buf with CLEANUP(buf_done) = BUF(64 * KIB);
	struct outbox_opts o = {.name = "outbox"};
	struct str name = str_of(table), space = STR_EMPTY;
	char put[OUTBOX_TABLE_MAX];

	TRY(outbox_table(&o, table, e));
	if (str_has(name, '.'))
		space = str_cut(&name, '.');
	if (space.n > 0)
		buf_fmt(b, "SET search_path TO \"%.*s\";\n", STR_ARG(space));
	if (str_eq(name, STR("outbox_events"))) {
		buf_addz(b, schema);
		return OK;
	}
	(void)snprintf(put, sizeof(put), "%.*s_put", STR_ARG(name));
	add_replaced(&with, str_of(schema), "outbox_events", name);
	add_replaced(b, buf_str(&with), "outbox_put", str_of(put));
	return OK;
}
