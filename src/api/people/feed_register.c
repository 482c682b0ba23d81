#include "account/scopes.h"
#include "api/api.h"
#include "api/apps/app.h"
#include "api/io.h"
#include "http/url.h"
#include "reader/feeds.h"
#include "reader/subscription.h"

/* Adding a feed, and moving a subscription to another address. */

struct adding {
	struct app_feed feed;
	const struct json *private; /* NULL: it does not say */
};

/* On the commit thread: the feed is there. */
static int
show_added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;

	r->status = a->reg.instead ? 200 : 201;
	return feeds_show(db, r->who.user, a->reg.feed_uid, &r->out, e);
}

/* Its address may be of a feed or of a page that names one. */
#define ADDRESS(name)                                                          \
	{                                                                      \
		name, MEMBER_STRING, offsetof(struct adding, feed.reg.url), 1, \
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
	struct registration *reg = &a->feed.reg;

	TRY(api_body(r, body, NULL, a, e));
	if (a->private && !json_is_bool(a->private))
		return json_wrong(e, "/private", "must be true or false");
	if (reg->url.p && str_trim(reg->url).n == 0)
		return json_wrong(
		    e, body->name, "must have 1 to %d bytes", URL_MAX);
	reg->private = json_is(a->private, JSON_TRUE);
	a->feed.finish = show_added;
	r->ctx = &a->feed;
	*ret = a;
	return OK;
}

int
api_feeds_post(struct req *r, struct db *, struct err *e)
{
	static const struct member BODY[] = {
	    ADDRESS("url"), PRIVATE, {.name = NULL}};
	struct adding *a;

	TRY(read_adding(r, BODY, &a, e));
	if (!a->feed.reg.url.p)
		return json_wrong(
		    e, "/url", "must be the address of a feed or page");
	return app_feed_add(r, &a->feed, e);
}

/* The feed that is to be another; on a read thread. */
static int
find_instead(struct req *r, struct db *db, struct err *e)
{
	struct app_feed *a = r->ctx;

	if (!uuid_parse(r->params[0], &a->reg.feed_uid))
		return err_set(e, ERR_ABSENT, "there is no such feed");
	return subscription_feed(
	    db, r->who.user, a->reg.feed_uid, &a->reg.instead, e);
}

static int
go_on(struct req *r, struct err *e)
{
	return app_feed_add(r, r->ctx, e);
}

/* On the commit thread. An admin marks what others read, too. */
static int
mark_feed(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	bool alone = !(r->who.scopes & SCOPE_ADMIN);

	TRY(find_instead(r, db, e));
	TRY(feeds_mark(
	    db, a->reg.instead, a->reg.private, alone, clock_now_us(), e));
	return show_added(r, db, e);
}

int
api_feeds_patch(struct req *r, struct db *, struct err *e)
{
	static const struct member BODY[] = {
	    ADDRESS("feed_url"), PRIVATE, {.name = NULL}};
	struct adding *a;

	TRY(read_adding(r, BODY, &a, e));
	if (a->private && a->feed.reg.url.p)
		return json_wrong(
		    e, "/private", "can't be given together with feed_url");
	if (a->private)
		return api_write(r, mark_feed, e);
	if (!a->feed.reg.url.p)
		return json_wrong(
		    e, "/feed_url", "must be the address of a feed or page");
	api_then(r, go_on);
	return api_read(r, find_instead, e);
}
