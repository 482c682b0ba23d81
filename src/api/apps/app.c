#include "api/apps/app.h"

#include "api/api.h"
#include "api/people/feed_register.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
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
	buf_clear(&r->out);
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
		int rc = form_int(
		    f, table->name, 0, most, table->seconds ? 0 : *at, &v, e);

		if (rc < 0)
			return rc;
		if (!table->seconds)
			*at = v;
		else if (v > 0)
			*at = v * US_PER_S;
	}
	return OK;
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

bool
app_file_next(const struct json **at, struct app_file *ret)
{
	for (; *at; *at = (*at)->next) {
		const struct json *url = json_get(*at, "url"),
				  *type = json_get(*at, "type");

		if (!json_is(url, JSON_STRING))
			continue;
		*ret = (struct app_file){.url = url->text,
		    .type =
			json_is(type, JSON_STRING) ? type->text : STR_EMPTY};
		(void)json_int(json_get(*at, "length"), &ret->length);
		*at = (*at)->next;
		return true;
	}
	return false;
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
	req_wake(MAIL_OF(reg, struct app_feed, reg)->r);
}

/* The fetcher is through; on the http thread. */
static int
added(struct req *r, struct err *e)
{
	struct app_feed *a = r->ctx;

	if (a->reg.err.code != OK && a->failed)
		return a->failed(r, &a->reg.err, e);
	if (a->reg.err.code != OK) {
		*e = a->reg.err;
		return e->code;
	}
	if (a->reg.look)
		return a->finish(r, NULL, e);
	r->then = api_said;
	return api_write(r, a->finish, e);
}

int
app_feed_add(struct req *r, struct app_feed *a, struct err *e)
{
	a->r = r;
	a->reg.done = registered;
	r->ctx = a;
	r->then = added;
	return feed_register(r, &a->reg, e);
}

static int
written(struct req *r, struct err *e)
{
	struct api *api = r->app;

	if (r->rc >= 0)
		fetcher_poke(api->fetcher);
	return api_said(r, e);
}

int
app_write_due(struct req *r, handler_fn fn, struct err *e)
{
	r->then = written;
	return api_write(r, fn, e);
}

/* ---- all read ---- */

static int step_looked(struct req *r, struct err *e);

/* On a read thread. */
static int
step_look(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	struct sync who = app_sync(r, db);
	int rc = a->find && !a->found ? a->find(r, db, e) : OK;

	if (rc < 0)
		return rc;
	a->found = true;
	rc = sync_reading_next(&who, &a->what, e);
	return rc == OK && a->what.ids.n == 0 ? a->finish(r, db, e) : rc;
}

/* On the commit thread. */
static int
step_write(struct req *r, struct db *db, struct err *e)
{
	const struct app_reading *a = r->ctx;
	struct sync who = app_sync(r, db);

	return sync_set_read(&who, &a->what.ids, true, clock_now_us(), e);
}

static int
step_written(struct req *r, struct err *e)
{
	if (r->rc < 0)
		return api_said(r, e);
	r->then = step_looked;
	return api_read(r, step_look, e);
}

static int
step_looked(struct req *r, struct err *e)
{
	const struct app_reading *a = r->ctx;

	if (r->rc < 0 || a->what.ids.n == 0)
		return api_said(r, e);
	r->then = step_written;
	return api_write(r, step_write, e);
}

int
app_read_all(struct req *r, struct app_reading *a, struct err *e)
{
	r->ctx = a;
	r->then = step_looked;
	return api_read(r, step_look, e);
}
