#include "api/people/feed_register.h"

#include "account/scopes.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "http/url.h"
#include "reader/fetch/fetcher.h"
#include "reader/subs.h"

/*
 * Adding a feed, and moving a subscription to another address. The fetcher's
 * thread does the work (reader/fetch/fetcher.h); the request waits for it, then a
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

/* {"<name>": "…", "private": true} and nothing else. */
static int
read_body(struct req *r, const char *name, struct json **ret, struct err *e)
{
	const char *const names[] = {name, "private", NULL};
	struct json *j = NULL;
	const struct json *private;
	int rc = json_parse(r->arena, r->body, &j, e);

	if (rc == OK && !json_is(j, JSON_OBJECT))
		rc = err_set(e, ERR_INVALID, "the body must be an object");
	if (rc == OK)
		rc = json_known(j, "", names, e);
	if (rc < 0)
		return rc;
	private = json_get(j, "private");
	if (private && !json_is(private, JSON_TRUE) &&
	    !json_is(private, JSON_FALSE))
		return json_wrong(e, "/private", "must be true or false");
	*ret = j;
	return OK;
}

static int
read_url(const struct json *j, const char *name, struct str *ret, struct err *e)
{
	const struct json *url = json_get(j, name);
	char at[32];

	(void)snprintf(at, sizeof(at), "/%s", name);
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
	struct json *j = NULL;
	int rc;

	(void)db;
	if (!a)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = read_body(r, "url", &j, e);
	if (rc == OK)
		rc = read_url(j, "url", &a->reg.url, e);
	if (rc < 0)
		return rc;
	a->reg.private = json_is(json_get(j, "private"), JSON_TRUE);
	return start(r, a, e);
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

/* On the commit thread. An admin marks what others read, too. */
static int
mark(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = r->ctx;
	bool alone = !(r->who.scopes & SCOPE_ADMIN);
	int rc = find(r, db, e);

	if (rc == OK)
		rc = feeds_mark(db, a->reg.instead, a->reg.private, alone,
		    clock_now_us(), e);
	if (rc < 0)
		return rc;
	(void)uuid_parse(r->params[0], &a->reg.feed_uid);
	return show(r, db, e);
}

int
api_feeds_patch(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = arena_alloc(r->arena, sizeof(*a));
	struct json *j = NULL;
	const struct json *private;
	int rc;

	(void)db;
	if (!a)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	r->ctx = a;
	rc = read_body(r, "feed_url", &j, e);
	if (rc < 0)
		return rc;
	private = json_get(j, "private");
	a->reg.private = json_is(private, JSON_TRUE);
	if (private && json_get(j, "feed_url"))
		return json_wrong(
		    e, "/private", "can't be given together with feed_url");
	if (private)
		return api_write(r, mark, e);
	rc = read_url(j, "feed_url", &a->reg.url, e);
	if (rc < 0)
		return rc;
	r->then = go_on;
	return api_read(r, find, e);
}
