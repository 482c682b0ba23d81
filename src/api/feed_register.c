#include "api/feed_register.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "http/url.h"
#include "reader/fetcher.h"
#include "reader/subs.h"

/*
 * Adding a feed, and moving a subscription to another address. The fetcher's
 * thread does the work (reader/fetcher.h); the request waits for it, then a
 * read thread shows the feed.
 */

struct adding {
	struct registration reg;
	struct req *r;
};

static int
show(struct req *r, struct db *db, struct err *e)
{
	const struct adding *a = r->ctx;

	buf_clear(&r->out);
	return feeds_show(db, r->who.user, a->reg.feed_uid, &r->out, e);
}

/* The fetcher is through; on the http thread. */
static int
added(struct req *r, struct err *e)
{
	struct adding *a = r->ctx;

	if (a->reg.err.code != OK) {
		*e = a->reg.err;
		return e->code;
	}
	r->then = api_said;
	r->status = a->reg.instead ? 200 : 201;
	return api_read(r, show, e);
}

static void
done(struct registration *reg)
{
	req_wake(MAIL_OF(reg, struct adding, reg)->r);
}

/* {"<name>": "…"} and nothing else. */
static int
read_url(struct req *r, const char *name, struct str *ret, struct err *e)
{
	const char *const names[] = {name, NULL};
	char at[32];
	struct json *j = NULL;
	const struct json *url;
	int rc = json_parse(r->arena, r->body, &j, e);

	if (rc == OK && !json_is(j, JSON_OBJECT))
		rc = err_set(e, ERR_INVALID, "the body must be an object");
	if (rc == OK)
		rc = json_known(j, "", names, e);
	if (rc < 0)
		return rc;
	(void)snprintf(at, sizeof(at), "/%s", name);
	url = json_get(j, name);
	if (!json_is(url, JSON_STRING))
		return json_wrong(
		    e, at, "must be the address of a feed or page");
	if (str_trim(url->text).n == 0 || url->text.n > URL_MAX)
		return json_wrong(e, at, "must have 1 to %d bytes", URL_MAX);
	*ret = url->text;
	return OK;
}

int
feed_register(struct req *r, struct registration *reg, struct err *e)
{
	struct api *api = r->app;

	reg->user = r->who.user;
	if (!api->fetcher)
		return err_set(e, ERR_AWAY, "this server adds no feeds");
	return fetcher_register(api->fetcher, reg, e) < 0 ? (int)e->code
							  : REQ_WAIT;
}

static int
start(struct req *r, struct adding *a, struct err *e)
{
	a->r = r;
	a->reg.done = done;
	r->ctx = a;
	r->then = added;
	return feed_register(r, &a->reg, e);
}

int
api_feeds_post(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = arena_alloc(r->arena, sizeof(*a));
	int rc;

	(void)db;
	if (!a)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = read_url(r, "url", &a->reg.url, e);
	return rc < 0 ? rc : start(r, a, e);
}

/* The feed that is to be another; on a read thread. */
static int
find(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = r->ctx;
	struct uuid uid;

	if (!uuid_parse(r->params[0], &uid))
		return err_set(e, ERR_ABSENT, "there is no such feed");
	return subscription_feed(db, r->who.user, uid, &a->reg.instead, e);
}

static int
go_on(struct req *r, struct err *e)
{
	if (r->rc < 0) {
		*e = r->err;
		return r->rc;
	}
	return start(r, r->ctx, e);
}

int
api_feeds_patch(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = arena_alloc(r->arena, sizeof(*a));
	int rc;

	(void)db;
	if (!a)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = read_url(r, "feed_url", &a->reg.url, e);
	if (rc < 0)
		return rc;
	r->ctx = a;
	r->then = go_on;
	return api_read(r, find, e);
}
