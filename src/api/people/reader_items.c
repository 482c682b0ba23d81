/* reader.h: articles. */
#include "api/api.h"
#include "api/io.h"
#include "api/people/reader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "doc/terms.h"
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
	static const struct member NONE[] = {{.name = NULL}};

	return reader_query(r, NONE, NULL, e);
}

/* Lists ------------------------------------------------------------------------- */

/* What a query asks for; a list of one feed has the first two. */
struct items_query {
	struct str cursor;
	enum list_filter filter;
	struct uuid category, feed;
	struct str search;
	bool unique;
};

static const char *const FILTERS[] = {"all", "unread", "starred", NULL};

#define ITEMS_PAGE                                                             \
	{"cursor", MEMBER_STRING, offsetof(struct items_query, cursor), 0,     \
	    API_CURSOR_MAX, .about = "the next_cursor of the page before"},    \
	{                                                                      \
		"filter", MEMBER_CHOICE, offsetof(struct items_query, filter), \
		    .words = FILTERS                                           \
	}

static int
show_list(struct req *r, struct db *db, const struct items_query *a,
    struct list_query *q, struct err *e)
{
	enum item_order order = q->search.p ? ITEM_BY_ID : ITEM_BY_DATE;
	struct err why;

	q->filter = a->filter;
	q->unique = a->unique;
	q->has_place = a->cursor.n > 0;
	if (q->has_place &&
	    item_cursor_parse(a->cursor, order, &q->place, &why) < 0)
		return err_at(e, ERR_INVALID, "/cursor", "%s", why.text);
	return list_show(db, q, &r->out, e);
}

int
api_feeds_items(struct req *r, struct db *db, struct err *e)
{
	static const struct member QUERY[] = {ITEMS_PAGE, {.name = NULL}};
	struct list_query q = {.user = r->who.user};
	struct items_query a = {.filter = LIST_ALL};
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = subscription_feed(db, q.user, uid, &q.feed, e);
	if (rc == OK)
		rc = reader_query(r, QUERY, &a, e);
	return rc < 0 ? rc : show_list(r, db, &a, &q, e);
}

/* A feed or category by its id: what is nobody's of theirs is a 404. */
static int
find_where(const struct req *r, struct db *db, const struct items_query *a,
    struct list_query *q, struct err *e)
{
	struct str given;
	bool feed = req_query(r, "feed", &given),
	     category = req_query(r, "category", &given);

	if (feed && category)
		return err_at(e, ERR_INVALID, "/category",
		    "category does not go with feed");
	if (feed)
		return subscription_feed(db, q->user, a->feed, &q->feed, e);
	return category
		   ? category_find(db, q->user, a->category, &q->category, e)
		   : OK;
}

static int
read_search(struct req *r, struct db *db, struct str words,
    struct list_query *q, struct err *e)
{
	struct buf b = BUF(16 * KIB);
	int rc;

	if (!words.p)
		return OK;
	rc = terms_query(db_engine(db), words, &b, e);
	if (rc == OK)
		q->search = arena_dup(r->arena, buf_str(&b));
	buf_done(&b);
	return rc;
}

int
api_items_list(struct req *r, struct db *db, struct err *e)
{
	static const struct member QUERY[] = {
	    ITEMS_PAGE,
	    {"category", MEMBER_UUID, offsetof(struct items_query, category)},
	    {"feed", MEMBER_UUID, offsetof(struct items_query, feed)},
	    {"search", MEMBER_STRING, offsetof(struct items_query, search), 0,
		READER_SEARCH_MAX},
	    {"unique", MEMBER_BOOL, offsetof(struct items_query, unique),
		.about = "what several feeds have, once"},
	    {.name = NULL},
	};
	struct list_query q = {.user = r->who.user};
	struct items_query a = {.filter = LIST_ALL};
	int rc = reader_query(r, QUERY, &a, e);

	if (rc == OK)
		rc = read_search(r, db, a.search, &q, e);
	if (rc == OK)
		rc = find_where(r, db, &a, &q, e);
	return rc < 0 ? rc : show_list(r, db, &a, &q, e);
}

int
api_items_get(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int rc = reader_id(r, "article", &uid, e);

	if (rc == OK)
		rc = reader_query_none(r, e);
	return rc < 0 ? rc : list_item(db, r->who.user, uid, &r->out, e);
}

/* State -------------------------------------------------------------------------- */

static int
write_state(struct req *r, struct db *db, struct err *e)
{
	buf_clear(&r->out);
	return list_state(db, r->ctx, clock_now_us(), &r->out, e);
}

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

int
api_items_state(struct req *r, struct db *db, struct err *e)
{
	struct body {
		const struct json *is_read, *is_starred;
	} body = {NULL, NULL};
	static const struct json NONE = {.type = JSON_NULL};
	static const struct body NULLS = {&NONE, &NONE}; /* no booleans */
	static const struct member BODY[] = {
	    {"is_read", MEMBER_JSON, offsetof(struct body, is_read)},
	    {"is_starred", MEMBER_JSON, offsetof(struct body, is_starred)},
	    {.name = NULL},
	};
	struct list_state *s = arena_alloc(r->arena, sizeof(*s));
	int rc = reader_id(r, "article", &s->uid, e);

	(void)db;
	s->user = r->who.user;
	s->user_uid = r->who.user_uid;
	if (rc == OK)
		rc = api_body_maybe(r, BODY, &NULLS, &body, e);
	if (rc == OK)
		rc = read_bool(
		    body.is_read, "/is_read", &s->set_read, &s->is_read, e);
	if (rc == OK)
		rc = read_bool(body.is_starred, "/is_starred", &s->set_starred,
		    &s->is_starred, e);
	if (rc < 0)
		return rc;
	r->ctx = s;
	return api_write(r, write_state, e);
}

/* All read: in steps, so that nobody waits behind a thousand feeds -------------------- */

struct read_op {
	struct list_read q;
	struct str as_of, category_id; /* .p NULL: none */
	bool has_feed, has_category;
	struct uuid feed, category;
	int64_t step, marked; /* of this step, of all */
	bool more;
};

static int
write_read(struct req *r, struct db *db, struct err *e)
{
	struct read_op *op = r->ctx;
	int rc = OK;

	if (op->has_feed)
		rc = subscription_feed(
		    db, r->who.user, op->feed, &op->q.feed, e);
	if (rc == OK && op->has_category)
		rc = category_find(
		    db, r->who.user, op->category, &op->q.category, e);
	return rc < 0 ? rc
		      : list_read_step(db, &op->q, &op->step, &op->more, e);
}

static int
read_then(struct req *r, struct err *e)
{
	struct read_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	op->marked += op->step;
	if (op->more) {
		r->then = read_then;
		return api_write(r, write_read, e);
	}
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_int(&r->out, "marked", op->marked);
	put_close(&r->out, '}');
	return OK;
}

static int
mark_read(
    struct req *r, struct read_op *op, const struct member *body, struct err *e)
{
	struct item_place upto = {.id = INT64_MAX};
	struct err why;
	int rc = api_body_maybe(r, body, NULL, op, e);

	if (rc < 0)
		return rc;
	if (op->as_of.p &&
	    item_cursor_parse(op->as_of, ITEM_BY_ID, &upto, &why) < 0)
		return err_at(e, ERR_INVALID, "/as_of", "%s", why.text);
	op->has_category = op->category_id.p != NULL;
	if (op->has_category && !uuid_parse(op->category_id, &op->category))
		return json_wrong(e, "/category_id", "must be an id");
	op->q.user = r->who.user;
	op->q.upto = upto.id;
	op->q.now_us = clock_now_us();
	r->ctx = op;
	r->then = read_then;
	return api_write(r, write_read, e);
}

#define AS_OF                                                                  \
	{                                                                      \
		"as_of", MEMBER_STRING, offsetof(struct read_op, as_of), 0,    \
		    API_CURSOR_MAX, .about = "that of a page"                  \
	}

int
api_feeds_read(struct req *r, struct db *db, struct err *e)
{
	static const struct member BODY[] = {AS_OF, {.name = NULL}};
	struct read_op *op = arena_alloc(r->arena, sizeof(*op));
	int rc = reader_id(r, "feed", &op->feed, e);

	(void)db;
	op->has_feed = true;
	return rc < 0 ? rc : mark_read(r, op, BODY, e);
}

int
api_items_read(struct req *r, struct db *db, struct err *e)
{
	static const struct member BODY[] = {
	    AS_OF,
	    {"category_id", MEMBER_STRING,
		offsetof(struct read_op, category_id), 0, UUID_LEN},
	    {.name = NULL},
	};
	struct read_op *op = arena_alloc(r->arena, sizeof(*op));

	(void)db;
	return mark_read(r, op, BODY, e);
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
	struct buf tag = BUF(64);
	const char *etag;
	struct str mime;
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = feeds_icon(
		    db, r->who.user, uid, r->arena, &mime, &r->out, e);
	if (rc < 0)
		return rc;
	digest_short(buf_str(&r->out), digest);
	buf_addc(&tag, '"');
	buf_hex(&tag, (struct str){(const char *)digest, sizeof(digest)});
	buf_addc(&tag, '"');
	etag = arena_z(r->arena, buf_str(&tag));
	buf_done(&tag);
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
