#include "api/people/feed_register.h"

#include "account/scopes.h"
#include "api/io.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "http/url.h"
#include "reader/feeds.h"
#include "reader/fetch/fetcher.h"
#include "reader/subscription.h"

/*
 * Adding a feed, and moving a subscription to another address. The fetcher's
 * thread does the work (reader/fetch/fetcher.h); the request waits for it, then a
 * read thread shows the feed.
 */

struct adding {
	struct registration reg;
	struct req *r;
	const struct json *private; /* NULL: it does not say */
};

static int
show_added(struct req *r, struct db *db, struct err *e)
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
	return api_read(r, show_added, e);
}

static void
done(struct registration *reg)
{
	req_wake(MAIL_OF(reg, struct adding, reg)->r);
}

/* Its address may be of a feed or of a page that names one. */
#define ADDRESS(name)                                                          \
	{                                                                      \
		name, MEMBER_STRING, offsetof(struct adding, reg.url), 1,      \
		    URL_MAX                                                    \
	}
#define PRIVATE                                                                \
	{                                                                      \
		"private", MEMBER_JSON, offsetof(struct adding, private)       \
	}

static int
read_adding(struct req *r, const struct member *body, struct adding **ret,
    struct err *e)
{
	struct adding *a = arena_alloc(r->arena, sizeof(*a));
	int rc = api_body(r, body, NULL, a, e);

	if (rc < 0)
		return rc;
	if (a->private && !json_is_bool(a->private))
		return json_wrong(e, "/private", "must be true or false");
	if (a->reg.url.p && str_trim(a->reg.url).n == 0)
		return json_wrong(
		    e, body->name, "must have 1 to %d bytes", URL_MAX);
	a->reg.private = json_is(a->private, JSON_TRUE);
	r->ctx = *ret = a;
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
start_adding(struct req *r, struct err *e)
{
	struct adding *a = r->ctx;

	a->r = r;
	a->reg.done = done;
	r->then = added;
	return feed_register(r, &a->reg, e);
}

int
api_feeds_post(struct req *r, struct db *db, struct err *e)
{
	static const struct member BODY[] = {
	    ADDRESS("url"), PRIVATE, {.name = NULL}};
	struct adding *a;
	int rc = read_adding(r, BODY, &a, e);

	(void)db;
	if (rc == OK && !a->reg.url.p)
		rc = json_wrong(
		    e, "/url", "must be the address of a feed or page");
	return rc < 0 ? rc : start_adding(r, e);
}

/* The feed that is to be another; on a read thread. */
static int
find_instead(struct req *r, struct db *db, struct err *e)
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
	return start_adding(r, e);
}

/* On the commit thread. An admin marks what others read, too. */
static int
mark_feed(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = r->ctx;
	bool alone = !(r->who.scopes & SCOPE_ADMIN);
	int rc = find_instead(r, db, e);

	if (rc == OK)
		rc = feeds_mark(db, a->reg.instead, a->reg.private, alone,
		    clock_now_us(), e);
	if (rc < 0)
		return rc;
	(void)uuid_parse(r->params[0], &a->reg.feed_uid);
	return show_added(r, db, e);
}

int
api_feeds_patch(struct req *r, struct db *db, struct err *e)
{
	static const struct member BODY[] = {
	    ADDRESS("feed_url"), PRIVATE, {.name = NULL}};
	struct adding *a;
	int rc = read_adding(r, BODY, &a, e);

	(void)db;
	if (rc < 0)
		return rc;
	if (a->private && a->reg.url.p)
		return json_wrong(
		    e, "/private", "can't be given together with feed_url");
	if (a->private)
		return api_write(r, mark_feed, e);
	if (!a->reg.url.p)
		return json_wrong(
		    e, "/feed_url", "must be the address of a feed or page");
	r->then = go_on;
	return api_read(r, find_instead, e);
}
