#include "api/apps/app.h"

#include "api/api.h"
#include "reader/feed_login.h"
#include "seal/base64.h"

/* ---- what the request says ---- */

int
app_id(const struct req *r, size_t param, int64_t *ret, struct err *e)
{
	if (!str_int(r->params[param], ret) || *ret <= 0)
		return err_set(e, ERR_ABSENT, "there is none with this id");
	return OK;
}

int
app_text(struct req *r, const char *text)
{
	r->content_type = "text/plain; charset=utf-8";
	buf_addz(&r->out, text);
	return OK;
}

int
app_numbers(const struct form *f, const struct app_number *table, void *to,
    struct err *e)
{
	for (; table->name; table++) {
		int64_t *at = (int64_t *)(void *)((char *)to + table->at);
		int64_t most = table->seconds ? INT64_MAX / US_PER_S
			       : table->most  ? table->most
					      : INT64_MAX;
		int64_t v = 0;

		TRY(form_int(
		    f, table->name, 0, most, table->seconds ? 0 : *at, &v, e));
		if (!table->seconds)
			*at = v;
		else if (v > 0)
			*at = v * US_PER_S;
	}
	return OK;
}

int
app_bool(const struct form *f, const char *name, int *ret, struct err *e)
{
	static const char *const WORDS[][6] = {
	    {"0", "f", "F", "FALSE", "false", "False"},
	    {"1", "t", "T", "TRUE", "true", "True"}};
	struct str v = form_get(f, name);

	if (!form_has(f, name))
		return OK;
	for (int is = 0; is < 2; is++)
		for (size_t i = 0; i < COUNT_OF(WORDS[is]); i++)
			if (str_eq(v, str_of(WORDS[is][i]))) {
				*ret = is;
				return OK;
			}
	return err_set(e, ERR_INVALID, "%s must be true or false", name);
}

/* ---- files beside an article ---- */

const struct json *
app_files(struct arena *a, const struct sync_item *it)
{
	struct json *list = NULL;
	struct err e;

	if (it->enclosures.n == 0 ||
	    json_parse(a, it->enclosures, &list, &e) < 0)
		return NULL;
	return list->child;
}

struct app_file
app_file(const struct json *x)
{
	return (struct app_file){.url = json_text(x, "url"),
	    .type = json_text(x, "type"),
	    .length = json_number(x, "length")};
}

void
app_put_icon(struct buf *b, struct str mime, struct str data)
{
	put_name(b, "data");
	buf_fmt(b, "\"%.*s;base64,", STR_ARG(mime));
	base64_add(b, data);
	buf_addc(b, '"');
}

/* ---- adding a feed ---- */

static void
registered(struct registration *reg)
{
	req_wake(reg->arg);
}

/* The fetcher is through; on the http thread. */
static int
added(struct req *r, struct err *e)
{
	const struct app_feed *a = r->ctx;

	if (a->reg.err.code != OK && a->failed)
		return a->failed(r, &a->reg.err, e);
	*e = a->reg.err;
	if (e->code != OK)
		return e->code;
	if (a->reg.look)
		return a->finish(r, NULL, e);
	r->then = NULL;
	return api_write(r, a->finish, e);
}

int
app_feed_add(struct req *r, struct app_feed *a, struct err *e)
{
	const struct api *api = r->app;

	if (!api->fetcher)
		return err_set(e, ERR_AWAY, "this server adds no feeds");
	TRY(feed_login_split(r->arena, &a->reg.url, &a->reg.login, e));
	a->reg.user = r->who.user;
	a->reg.user_uid = r->who.user_uid;
	a->reg.done = registered;
	a->reg.arg = r;
	r->ctx = a;
	r->then = added;
	TRY(fetcher_register(api->fetcher, &a->reg, e));
	return REQ_WAIT;
}

void
app_due(const struct req *r)
{
	const struct api *api = r->app;

	fetcher_poke(api->fetcher);
}

/* ---- all read ---- */

/* On the commit thread. */
static int
read_some(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;

	a->step = TRY(list_read_step(db, &a->what, e));
	return OK;
}

static int
read_step(struct req *r, struct err *e)
{
	struct app_reading *a = r->ctx;

	a->marked += a->step;
	if (a->begun && a->step < READ_STEP)
		return a->finish ? api_read(r, a->finish, e) : OK;
	a->begun = true;
	api_then(r, read_step);
	return api_write(r, read_some, e);
}

struct app_reading *
app_reading(struct req *r, handler_fn find, handler_fn finish)
{
	struct app_reading *a = arena_alloc(r->arena, sizeof(*a));

	a->what = (struct list_read){.user = r->who.user,
	    .upto = INT64_MAX,
	    .before_us = INT64_MAX,
	    .now_us = clock_now_us()};
	a->find = find;
	a->finish = finish;
	return a;
}

int
app_read_all(struct req *r, struct app_reading *a, struct err *e)
{
	r->ctx = a;
	if (!a->find)
		return read_step(r, e);
	api_then(r, read_step);
	return api_read(r, a->find, e);
}
