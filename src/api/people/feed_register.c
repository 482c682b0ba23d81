#include "account/scopes.h"
#include "api/api.h"
#include "api/apps/app.h"
#include "api/io.h"
#include "api/people/person.h"
#include "feed/discover.h"
#include "http/server/reply.h"
#include "http/url.h"
#include "reader/category.h"
#include "reader/feed_login.h"
#include "reader/feeds.h"
#include "reader/subscription.h"

/* Adding a feed, and moving a subscription to another address. */

/* feed comes first: it is r->ctx for app.c, all of it for us. */
struct adding {
	struct app_feed feed;
	const struct json *private; /* NULL: it does not say */
	struct uuid category;       /* all zero: the same */
	const struct json *username, *password;
	struct feed_login_edit login; /* what they say */
	bool own;                     /* the feed that is changed */
};

static bool
has_category(const struct adding *a)
{
	return !uuid_eq(a->category, (struct uuid){{0}});
}

/* On the commit thread: it goes where it is to be. */
static int
put_into_category(struct req *r, struct db *db, struct err *e)
{
	const struct adding *a = r->ctx;
	struct subscription_patch p = {.set_category = true,
	    .has_category = true,
	    .category = a->category};
	struct sync_feed f;

	if (!has_category(a))
		return OK;
	TRY(sync_feed(APP_SYNC(r, db), a->feed.reg.feed, &f, e));
	return subscription_patch(
	    db, r->who.user, f.sub, &p, clock_now_us(), e);
}

/* On the commit thread: the feed is there. */
static int
show_added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;

	r->status = a->reg.instead ? 200 : 201;
	TRY(put_into_category(r, db, e));
	return feeds_show(db, r->who.user, a->reg.feed_uid, &r->out, e);
}

/* An error that leads to the feed that one has already. */
static int
not_added(struct req *r, const struct err *why, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct http_error x = {.e = *why, .feed = &a->reg.feed_uid};

	*e = *why;
	if (!why->word || strcmp(why->word, "ALREADY_SUBSCRIBED") != 0)
		return e->code;
	r->status = person_error(&r->out, &x);
	return OK;
}

/* Its address may be of a feed or of a page that names one. */
#define ADDRESS(name)                                                          \
	{                                                                      \
		name, MEMBER_STRING, offsetof(struct adding, feed.reg.url), 1, \
		    URL_MAX                                                    \
	}
#define PRIVATE                                                                \
	{                                                                      \
		"private", MEMBER_JSON, offsetof(struct adding, private),      \
		    .schema = "Yes"                                            \
	}

#define LOGIN                                                                  \
	{"username", MEMBER_JSON, offsetof(struct adding, username),           \
	    .schema = "TextOrNull"},                                           \
	{                                                                      \
		"password", MEMBER_JSON, offsetof(struct adding, password),    \
		    .schema = "TextOrNull"                                     \
	}

/* null is the same as empty: it takes them away. */
static int
read_word(const struct json *v, const char *at, struct str *ret, struct err *e)
{
	*ret = (struct str){.p = NULL};
	if (!v)
		return OK;
	if (!json_is(v, JSON_NULL) && !json_is(v, JSON_STRING))
		return json_wrong(e, at, "must be a string or null");
	*ret = json_is(v, JSON_NULL) || v->text.n == 0 ? STR("") : v->text;
	return OK;
}

static int
read_adding(struct req *r, const struct member *body, struct adding **ret,
    struct err *e)
{
	struct adding *a = arena_alloc(r->arena, sizeof(*a));
	static const struct json NONE = {.type = JSON_NULL};
	static const struct adding NULLS = {
	    .username = &NONE, .password = &NONE};
	struct registration *reg = &a->feed.reg;

	TRY(api_body(r, body, &NULLS, a, e));
	TRY(read_word(a->username, "/username", &a->login.name, e));
	TRY(read_word(a->password, "/password", &a->login.password, e));
	if (a->private && !json_is_bool(a->private))
		return json_wrong(e, "/private", "must be true or false");
	if (reg->url.p && str_trim(reg->url).n == 0)
		return json_wrong(
		    e, body->name, "must have 1 to %d bytes", URL_MAX);
	reg->private = json_is(a->private, JSON_TRUE);
	a->feed.finish = show_added;
	a->feed.failed = not_added;
	r->ctx = &a->feed;
	*ret = a;
	return OK;
}

/* With the login that the body names. */
static int
add_it(struct req *r, struct adding *a, struct err *e)
{
	if (feed_login_says(&a->login))
		TRY(feed_login_make(r->arena, a->feed.reg.login, &a->login,
		    &a->feed.reg.login, e));
	return app_feed_add(r, &a->feed, e);
}

static int
go_on(struct req *r, struct err *e)
{
	return add_it(r, r->ctx, e);
}

/* On a read thread, before anything is fetched: is it one of theirs? */
static int
look_at_category(struct req *r, struct db *db, struct err *e)
{
	const struct adding *a = r->ctx;
	int64_t id;
	int rc = category_find(db, r->who.user, a->category, &id, e);

	return rc == ERR_ABSENT
		   ? json_wrong(e, "/category_id", "is no category of yours")
		   : rc;
}

const struct member FEED_BODY[] = {ADDRESS("url"), PRIVATE,
    {"category_id", MEMBER_UUID, offsetof(struct adding, category)}, LOGIN,
    {.name = NULL}};

int
api_feeds_post(struct req *r, struct db *, struct err *e)
{
	struct adding *a;

	TRY(read_adding(r, FEED_BODY, &a, e));
	if (!a->feed.reg.url.p)
		return json_wrong(
		    e, "/url", "must be the address of a feed or page");
	if (!has_category(a))
		return add_it(r, a, e);
	api_then(r, go_on);
	return api_read(r, look_at_category, e);
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

/* On the commit thread: of a feed that is their own. */
static int
change_login(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	const struct adding *a = r->ctx;

	TRY(find_instead(r, db, e));
	TRY(feed_login_change(
	    &(struct feed_login_of){db, api->keyring, r->who.user,
		a->feed.reg.instead, clock_now_us()},
	    &a->login, e));
	app_due(r);
	return show_added(r, db, e);
}

/* Of one that is everybody's: it becomes another, their own. */
static int
go_on_login(struct req *r, struct err *e)
{
	struct adding *a = r->ctx;
	bool some = a->login.name.n > 0 || a->login.password.n > 0;

	if (a->own)
		return api_write(r, change_login, e);
	return some ? add_it(r, a, e) : api_read(r, show_added, e);
}

static int
find_login(struct req *r, struct db *db, struct err *e)
{
	struct adding *a = r->ctx;
	struct sync_feed f;

	TRY(find_instead(r, db, e));
	TRY(sync_feed(APP_SYNC(r, db), a->feed.reg.instead, &f, e));
	a->own = f.own;
	a->feed.reg.url = f.url;
	return OK;
}
const struct member FEED_PATCH_BODY[] = {
    ADDRESS("feed_url"), PRIVATE, LOGIN, {.name = NULL}};

int
api_feeds_patch(struct req *r, struct db *, struct err *e)
{
	struct adding *a;
	bool login;

	TRY(read_adding(r, FEED_PATCH_BODY, &a, e));
	login = feed_login_says(&a->login);
	if (a->private && (a->feed.reg.url.p || login))
		return json_wrong(e, "/private", "must be given alone");
	if (a->private)
		return api_write(r, mark_feed, e);
	if (!a->feed.reg.url.p && login) {
		api_then(r, go_on_login);
		return api_read(r, find_login, e);
	}
	if (!a->feed.reg.url.p)
		return json_wrong(
		    e, "/feed_url", "must be the address of a feed or page");
	api_then(r, go_on);
	return api_read(r, find_instead, e);
}

/* What there is to choose from ------------------------------------------------- */

static int
show_found(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct buf *b = &r->out;

	(void)db, (void)e;
	put_open(b, NULL, '{');
	put_open(b, "feeds", '[');
	for (size_t i = 0; i < a->reg.n_found; i++) {
		const struct discover_feed *f = &a->reg.found[i];

		put_open(b, NULL, '{');
		put_text(b, "url", f->url);
		put_text(b, "title", f->title.n > 0 ? f->title : f->url);
		put_z(b, "type", discover_kind_name(f->kind));
		put_close(b, '}');
	}
	put_close(b, ']');
	put_close(b, '}');
	return OK;
}

const struct member DISCOVER_BODY[] = {ADDRESS("url"), LOGIN, {.name = NULL}};

int
api_feeds_discover(struct req *r, struct db *, struct err *e)
{
	struct adding *a;

	TRY(read_adding(r, DISCOVER_BODY, &a, e));
	if (!a->feed.reg.url.p)
		return json_wrong(
		    e, "/url", "must be the address of a feed or page");
	a->feed.reg.look = r->arena;
	a->feed.finish = show_found;
	return add_it(r, a, e);
}
