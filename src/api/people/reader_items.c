/* reader.h: articles. */
#include "api/api.h"
#include "api/apps/app.h"
#include "api/io.h"
#include "api/people/reader.h"
#include "reader/category.h"
#include "reader/feeds.h"
#include "reader/limits.h"
#include "reader/lists.h"
#include "reader/subscription.h"
#include "seal/digest.h"

int
reader_id(
    const struct req *r, const char *what, struct uuid *ret, struct err *e)
{
	return uuid_parse(r->params[0], ret)
		   ? OK
		   : err_set(
			 e, ERR_ABSENT, "there is no such %s of yours", what);
}

int
reader_query(
    struct req *r, const struct member *table, void *ret, struct err *e)
{
	int rc = api_query(r, table, ret, e);

	/* People's routes name the field also when there is no such. */
	for (size_t i = 0; rc == ERR_INVALID && !e->at[0] && i < r->n_query;
	     i++)
		if (!member_find(table, r->query[i].name))
			json_point(e->at, r->query[i].name);
	return rc;
}

int
reader_query_none(struct req *r, struct err *e)
{
	return reader_query(r, API_NONE, NULL, e);
}

/* Lists ------------------------------------------------------------------------- */

/* What a query asks for; a list of one feed has the first three. */
enum items_order { NEWEST_FIRST, OLDEST_FIRST };
struct items_query {
	enum items_order order;
	struct str cursor;
	struct list_query q;
	struct uuid category, feed;
};

static const char *const FILTERS[] = {"all", "unread", "starred", NULL};
static const char *const ORDERS[] = {"newest", "oldest", NULL};

#define ITEMS_PAGE                                                             \
	{"cursor", MEMBER_STRING, offsetof(struct items_query, cursor), 0,     \
	    API_CURSOR_MAX, .about = "the next_cursor of the page before"},    \
	    {"filter", MEMBER_CHOICE, offsetof(struct items_query, q.filter),  \
		.words = FILTERS},                                             \
	{                                                                      \
		"order", MEMBER_CHOICE, offsetof(struct items_query, order),   \
		    .words = ORDERS, .about = "which come first"               \
	}

static int
show_list(struct req *r, struct db *db, struct items_query *a, struct err *e)
{
	enum item_order order = list_order(&a->q);
	struct err why;

	a->q.has_place = a->cursor.n > 0;
	a->q.oldest_first = a->order == OLDEST_FIRST;
	if (a->q.has_place &&
	    item_cursor_parse(a->cursor, order, &a->q.place, &why) < 0)
		return err_at(e, ERR_INVALID, "/cursor", "%s", why.text);
	return list_show(db, &a->q, r->arena, &r->out, e);
}

const struct member FEED_ITEMS_QUERY[] = {ITEMS_PAGE, {.name = NULL}};

int
api_feeds_items(struct req *r, struct db *db, struct err *e)
{
	struct items_query a = {.q.user = r->who.user};
	struct uuid uid;

	TRY(reader_id(r, "feed", &uid, e));
	TRY(subscription_feed(db, r->who.user, uid, &a.q.feed, e));
	TRY(reader_query(r, FEED_ITEMS_QUERY, &a, e));
	return show_list(r, db, &a, e);
}

/* A feed or category by its id: what is nobody's of theirs is a 404. */
static int
find_where(
    const struct req *r, struct db *db, struct items_query *a, struct err *e)
{
	struct str given;
	bool feed = req_query(r, "feed", &given),
	     category = req_query(r, "category", &given);

	if (feed && category)
		return err_at(e, ERR_INVALID, "/category",
		    "category does not go with feed");
	if (feed)
		return subscription_feed(
		    db, r->who.user, a->feed, &a->q.feed, e);
	return category ? category_find(
			      db, r->who.user, a->category, &a->q.category, e)
			: OK;
}

const struct member ITEMS_QUERY[] = {
    ITEMS_PAGE,
    {"category", MEMBER_UUID, offsetof(struct items_query, category)},
    {"feed", MEMBER_UUID, offsetof(struct items_query, feed)},
    {"search", MEMBER_STRING, offsetof(struct items_query, q.search), 0,
	READER_SEARCH_MAX},
    {"unique", MEMBER_BOOL, offsetof(struct items_query, q.unique),
	.about = "what several feeds have, once"},
    {.name = NULL},
};

int
api_items_list(struct req *r, struct db *db, struct err *e)
{
	struct items_query a = {.q.user = r->who.user};

	TRY(reader_query(r, ITEMS_QUERY, &a, e));
	TRY(find_where(r, db, &a, e));
	return show_list(r, db, &a, e);
}

int
api_items_get(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;

	TRY(reader_id(r, "article", &uid, e));
	TRY(reader_query_none(r, e));
	return list_item(db, r->who.user, uid, &r->out, e);
}

/* State -------------------------------------------------------------------------- */

/* Absent ones are not set. */
static int
read_bool(const struct json *j, const char *at, bool *ret_set, bool *ret,
    struct err *e)
{
	if (j && !json_is_bool(j))
		return json_wrong(e, at, "must be true or false");
	*ret_set = j != NULL;
	*ret = json_is(j, JSON_TRUE);
	return OK;
}

struct state_body {
	const struct json *is_read, *is_starred;
	struct member_uuids ids; /* of many */
	struct list_state to;
};

#define STATES                                                                 \
	{"is_read", MEMBER_JSON, offsetof(struct state_body, is_read),         \
	    .schema = "Yes"},                                                  \
	{                                                                      \
		"is_starred", MEMBER_JSON,                                     \
		    offsetof(struct state_body, is_starred), .schema = "Yes"   \
	}

static int
read_state(struct req *r, const struct member *table, struct state_body **ret,
    struct err *e)
{
	static const struct json NONE = {.type = JSON_NULL};
	static const struct state_body NULLS = {
	    .is_read = &NONE, .is_starred = &NONE}; /* no booleans */
	struct state_body *b = arena_alloc(r->arena, sizeof(*b));
	struct list_state *s = &b->to;

	r->ctx = *ret = b;
	s->user = r->who.user;
	s->user_uid = r->who.user_uid;
	TRY(api_body_maybe(r, table, &NULLS, b, e));
	TRY(read_bool(b->is_read, "/is_read", &s->set_read, &s->is_read, e));
	return read_bool(
	    b->is_starred, "/is_starred", &s->set_starred, &s->is_starred, e);
}

const struct member ITEM_STATE_BODY[] = {STATES, {.name = NULL}};

int
api_items_state(struct req *r, struct db *db, struct err *e)
{
	struct state_body *b = r->ctx;
	struct uuid uid;

	if (db)
		return list_state(db, &b->to, clock_now_us(), &r->out, e);
	TRY(reader_id(r, "article", &uid, e));
	TRY(read_state(r, ITEM_STATE_BODY, &b, e));
	b->to.uid = uid;
	return api_write(r, api_items_state, e);
}

const struct member ITEM_STATES_BODY[] = {
    STATES,
    {"ids", MEMBER_UUIDS, offsetof(struct state_body, ids), 1,
	READER_STATES_MAX, .must = true, .about = "of articles"},
    {.name = NULL},
};

int
api_items_states(struct req *r, struct db *db, struct err *e)
{
	struct state_body *b = r->ctx;

	if (db)
		return list_states(
		    db, &b->to, b->ids.v, b->ids.n, clock_now_us(), &r->out, e);
	TRY(read_state(r, ITEM_STATES_BODY, &b, e));
	if (!b->to.set_read && !b->to.set_starred)
		return json_wrong(e, "/is_read", "or is_starred must be given");
	return api_write(r, api_items_states, e);
}

/* All read ------------------------------------------------------------------------ */

struct read_body {
	struct str as_of, category_id; /* .p NULL: none */
};

/* On a read thread: the feed or category of theirs that it is about. */
static int
find_feed(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;

	return subscription_feed(
	    db, r->who.user, *(const struct uuid *)a->ctx, &a->what.feed, e);
}

static int
find_category(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;

	return category_find(db, r->who.user, *(const struct uuid *)a->ctx,
	    &a->what.category, e);
}

static int
show_marked(struct req *r, struct db *db, struct err *e)
{
	const struct app_reading *a = r->ctx;

	(void)db, (void)e;
	put_open(&r->out, NULL, '{');
	put_int(&r->out, "marked", a->marked);
	put_close(&r->out, '}');
	return OK;
}

/* Of a feed, or with NULL of all or of the category that the body names. */
static int
mark_read(
    struct req *r, const struct member *body, struct uuid *feed, struct err *e)
{
	struct app_reading *a =
	    app_reading(r, feed ? find_feed : NULL, show_marked);
	struct item_place upto = {.id = INT64_MAX};
	struct read_body b = {{.p = NULL}, {.p = NULL}};
	struct uuid *of =
	    feed ? feed : arena_alloc(r->arena, sizeof(struct uuid));
	struct err why;

	TRY(api_body_maybe(r, body, NULL, &b, e));
	if (b.as_of.p &&
	    item_cursor_parse(b.as_of, ITEM_BY_ID, &upto, &why) < 0)
		return err_at(e, ERR_INVALID, "/as_of", "%s", why.text);
	if (b.category_id.p && !uuid_parse(b.category_id, of))
		return json_wrong(e, "/category_id", "must be an id");
	if (b.category_id.p)
		a->find = find_category;
	a->ctx = of;
	a->what.upto = upto.id;
	return app_read_all(r, a, e);
}

#define AS_OF                                                                  \
	{                                                                      \
		"as_of", MEMBER_STRING, offsetof(struct read_body, as_of), 0,  \
		    API_CURSOR_MAX, .about = "that of a page"                  \
	}

const struct member FEED_READ_BODY[] = {AS_OF, {.name = NULL}};

int
api_feeds_read(struct req *r, struct db *, struct err *e)
{
	struct uuid *feed = arena_alloc(r->arena, sizeof(*feed));

	TRY(reader_id(r, "feed", feed, e));
	return mark_read(r, FEED_READ_BODY, feed, e);
}

const struct member ITEMS_READ_BODY[] = {
    AS_OF,
    {"category_id", MEMBER_STRING, offsetof(struct read_body, category_id), 0,
	UUID_LEN},
    {.name = NULL},
};

int
api_items_read(struct req *r, struct db *, struct err *e)
{
	return mark_read(r, ITEMS_READ_BODY, NULL, e);
}

/* A feed's picture ---------------------------------------------------------------------- */

/* "image/png": nothing else is shown as what it says it is. */
static const char *
picture_type(struct arena *a, struct str mime)
{
	bool ok = str_starts(mime, STR("image/")) && mime.n < 64;

	for (size_t i = 0; ok && i < mime.n; i++) {
		char c = mime.p[i];

		ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		     c == '/' || c == '+' || c == '-' || c == '.';
	}
	return ok ? arena_z(a, mime) : "application/octet-stream";
}

int
api_feeds_favicon(struct req *r, struct db *db, struct err *e)
{
	unsigned char digest[DIGEST_SHORT_LEN];
	struct buf tag CLEANUP(buf_done) = BUF(64);
	const char *etag;
	struct str mime;
	struct uuid uid;

	TRY(reader_id(r, "feed", &uid, e));
	TRY(feeds_icon(db, r->who.user, uid, r->arena, &mime, &r->out, e));
	digest_short(buf_str(&r->out), digest);
	buf_addc(&tag, '"');
	buf_hex(&tag, (struct str){(const char *)digest, sizeof(digest)});
	buf_addc(&tag, '"');
	etag = arena_z(r->arena, buf_str(&tag));
	r->content_type = picture_type(r->arena, mime);
	req_add_header(r, "ETag", etag);
	req_add_header(r, "Cache-Control", "private, max-age=86400");
	/* An SVG is a document: it may run nothing and load nothing. */
	req_add_header(r, "Content-Security-Policy",
	    "default-src 'none'; style-src 'unsafe-inline'; sandbox");
	if (str_eq(req_header(r, "If-None-Match"), str_of(etag))) {
		buf_clear(&r->out);
		r->status = 304;
	}
	return OK;
}
