/* reader.h: articles. */
#include "api/api.h"
#include "api/people/reader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "doc/terms.h"
#include "reader/limits.h"
#include "reader/lists.h"
#include "reader/subs.h"
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

static bool
odd(const struct req *r, const char *const *names, size_t i)
{
	struct str name = r->query[i].name;

	for (size_t k = 0; k < i; k++)
		if (str_eq(name, r->query[k].name))
			return true;
	for (; *names; names++)
		if (str_eq(name, str_of(*names)))
			return false;
	return true;
}

int
reader_query(const struct req *r, const char *const *names, struct err *e)
{
	int rc = req_query_only(r, names, e);

	/* People's routes name the field: the first that is unknown, or twice. */
	for (size_t i = 0; rc == ERR_INVALID && i < r->n_query; i++)
		if (odd(r, names, i)) {
			json_point(e->at, r->query[i].name);
			break;
		}
	return rc;
}

int
reader_body(
    struct req *r, const char *const *names, struct json **ret, struct err *e)
{
	int rc =
	    json_parse(r->arena, r->body.n > 0 ? r->body : STR("{}"), ret, e);

	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		rc = err_at(e, ERR_INVALID, "/", "it must be a JSON object");
	return rc == OK ? json_known(*ret, "", names, e) : rc;
}

int
reader_done(struct req *r, int status, int rc, struct err *e)
{
	if (rc == OK && r->out.failed)
		rc = err_set(e, ERR_NOMEM, "the answer is too large");
	r->status = status;
	return rc;
}

/* Lists ------------------------------------------------------------------------- */

static int
read_filter(const struct req *r, enum list_filter *ret, struct err *e)
{
	struct str s;

	if (!req_query(r, "filter", &s) || list_filter_find(s, ret))
		return OK;
	return err_at(
	    e, ERR_INVALID, "/filter", "filter must be all, unread or starred");
}

static int
read_cursor(const struct req *r, enum item_order order, struct list_query *q,
    struct err *e)
{
	struct err why;
	struct str s;

	q->has_place = req_query(r, "cursor", &s) && s.n > 0;
	if (!q->has_place || item_cursor_parse(s, order, &q->place, &why) == OK)
		return OK;
	return err_at(e, ERR_INVALID, "/cursor", "%s", why.text);
}

static int
read_flag(const struct req *r, const char *name, bool *ret, struct err *e)
{
	char at[32];
	struct str s;

	if (!req_query(r, name, &s))
		return OK;
	*ret = str_eq(s, STR("true"));
	if (*ret || str_eq(s, STR("false")))
		return OK;
	(void)snprintf(at, sizeof(at), "/%s", name);
	return err_at(e, ERR_INVALID, at, "%s must be true or false", name);
}

int
api_feeds_items(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"cursor", "filter", NULL};
	struct list_query q = {.user = r->who.user};
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = subscription_feed(db, q.user, uid, &q.feed, e);
	if (rc == OK)
		rc = reader_query(r, NAMES, e);
	if (rc == OK)
		rc = read_filter(r, &q.filter, e);
	if (rc == OK)
		rc = read_cursor(r, ITEM_BY_DATE, &q, e);
	if (rc == OK)
		rc = list_show(db, &q, &r->out, e);
	return reader_done(r, 200, rc, e);
}

/* A feed or category by its id: what is nobody's of theirs is a 404. */
static int
read_where(
    const struct req *r, struct db *db, struct list_query *q, struct err *e)
{
	struct str s;
	struct uuid uid;
	int rc = OK;

	if (req_query(r, "feed", &s)) {
		if (!uuid_parse(s, &uid))
			return err_at(
			    e, ERR_INVALID, "/feed", "feed must be an id");
		rc = subscription_feed(db, q->user, uid, &q->feed, e);
	}
	if (rc == OK && req_query(r, "category", &s)) {
		if (q->feed)
			return err_at(e, ERR_INVALID, "/category",
			    "category does not go with feed");
		if (!uuid_parse(s, &uid))
			return err_at(e, ERR_INVALID, "/category",
			    "category must be an id");
		rc = category_find(db, q->user, uid, &q->category, e);
	}
	return rc;
}

static int
read_search(struct req *r, struct db *db, struct list_query *q, struct err *e)
{
	struct buf b = BUF(16 * KIB);
	struct str s;
	int rc;

	if (!req_query(r, "search", &s))
		return OK;
	if (s.n > READER_SEARCH_MAX)
		return err_at(e, ERR_INVALID, "/search",
		    "search must have at most %d bytes", READER_SEARCH_MAX);
	rc = terms_query(db_engine(db), s, &b, e);
	if (rc == OK) {
		q->search = arena_dup(r->arena, buf_str(&b));
		if (!q->search.p)
			rc = err_set(e, ERR_NOMEM, "no memory for a search");
	}
	buf_done(&b);
	return rc;
}

int
api_items_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {
	    "cursor", "filter", "category", "feed", "search", "unique", NULL};
	struct list_query q = {.user = r->who.user};
	int rc = reader_query(r, NAMES, e);

	if (rc == OK)
		rc = read_filter(r, &q.filter, e);
	if (rc == OK)
		rc = read_flag(r, "unique", &q.unique, e);
	if (rc == OK)
		rc = read_search(r, db, &q, e);
	if (rc == OK)
		rc = read_cursor(
		    r, q.search.p ? ITEM_BY_ID : ITEM_BY_DATE, &q, e);
	if (rc == OK)
		rc = read_where(r, db, &q, e);
	if (rc == OK)
		rc = list_show(db, &q, &r->out, e);
	return reader_done(r, 200, rc, e);
}

int
api_items_get(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {NULL};
	struct uuid uid;
	int rc = reader_id(r, "article", &uid, e);

	if (rc == OK)
		rc = reader_query(r, NAMES, e);
	if (rc == OK)
		rc = item_show(db, r->who.user, uid, &r->out, e);
	return reader_done(r, 200, rc, e);
}

/* State -------------------------------------------------------------------------- */

struct state_op {
	struct uuid uid;
	struct state_change change;
};

static int
read_bool(const struct json *doc, const char *name, bool *ret_set, bool *ret,
    struct err *e)
{
	const struct json *j = json_get(doc, name);
	char at[JSON_POINTER_MAX + 1] = "";

	if (!j)
		return OK;
	json_point(at, str_of(name));
	if (!json_is_bool(j))
		return json_wrong(e, at, "must be true or false");
	*ret_set = true;
	*ret = json_is(j, JSON_TRUE);
	return OK;
}

static int
write_state(struct req *r, struct db *db, struct err *e)
{
	const struct state_op *op = r->ctx;

	buf_clear(&r->out);
	return reader_done(r, 200,
	    state_change(db, r->who.user, r->who.user_uid, op->uid, &op->change,
		clock_now_us(), &r->out, e),
	    e);
}

int
api_items_state(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"is_read", "is_starred", NULL};
	struct state_op *op = arena_alloc(r->arena, sizeof(*op));
	struct json *doc = NULL;
	int rc = op ? reader_id(r, "article", &op->uid, e)
		    : err_set(e, ERR_NOMEM, "no memory for a request");

	(void)db;
	if (rc == OK)
		rc = reader_body(r, NAMES, &doc, e);
	if (rc == OK)
		rc = read_bool(doc, "is_read", &op->change.set_read,
		    &op->change.is_read, e);
	if (rc == OK)
		rc = read_bool(doc, "is_starred", &op->change.set_starred,
		    &op->change.is_starred, e);
	if (rc < 0)
		return rc;
	r->ctx = op;
	return api_write(r, write_state, e);
}

/* All read: in steps, so that nobody waits behind a thousand feeds -------------------- */

struct read_op {
	struct read_query q;
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
	return rc == OK ? read_step(db, &op->q, &op->step, &op->more, e) : rc;
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
	buf_fmt(&r->out, "{\"marked\":%lld}", (long long)op->marked);
	return reader_done(r, 200, OK, e);
}

static int
read_as_of(const struct json *doc, int64_t *ret, struct err *e)
{
	const struct json *j = json_get(doc, "as_of");
	struct item_place p;
	struct err why;

	if (!j)
		return OK;
	if (!json_is(j, JSON_STRING))
		return json_wrong(e, "/as_of", "must be that of a page");
	if (item_cursor_parse(j->text, ITEM_BY_ID, &p, &why) < 0)
		return err_at(e, ERR_INVALID, "/as_of", "%s", why.text);
	*ret = p.id;
	return OK;
}

static int
mark_read(struct req *r, struct read_op *op, struct json *doc, struct err *e)
{
	int rc;

	op->q.user = r->who.user;
	op->q.upto = INT64_MAX;
	op->q.now_us = clock_now_us();
	rc = read_as_of(doc, &op->q.upto, e);
	if (rc < 0)
		return rc;
	r->ctx = op;
	r->then = read_then;
	return api_write(r, write_read, e);
}

int
api_feeds_read(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"as_of", NULL};
	struct read_op *op = arena_alloc(r->arena, sizeof(*op));
	struct json *doc = NULL;
	int rc = op ? reader_id(r, "feed", &op->feed, e)
		    : err_set(e, ERR_NOMEM, "no memory for a request");

	(void)db;
	if (rc == OK)
		rc = reader_body(r, NAMES, &doc, e);
	if (rc < 0)
		return rc;
	op->has_feed = true;
	return mark_read(r, op, doc, e);
}

int
api_items_read(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"as_of", "category_id", NULL};
	struct read_op *op = arena_alloc(r->arena, sizeof(*op));
	const struct json *j;
	struct json *doc = NULL;
	int rc = op ? reader_body(r, NAMES, &doc, e)
		    : err_set(e, ERR_NOMEM, "no memory for a request");

	(void)db;
	if (rc < 0)
		return rc;
	j = json_get(doc, "category_id");
	if (j &&
	    (!json_is(j, JSON_STRING) || !uuid_parse(j->text, &op->category)))
		return json_wrong(e, "/category_id", "must be an id");
	op->has_category = j != NULL;
	return mark_read(r, op, doc, e);
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
	if (!etag || !r->content_type)
		return err_set(e, ERR_NOMEM, "no memory for a picture");
	req_add_header(r, "ETag", etag);
	req_add_header(r, "Cache-Control", "private, max-age=86400");
	/* An SVG is a document: it may run nothing and load nothing. */
	req_add_header(r, "Content-Security-Policy",
	    "default-src 'none'; style-src 'unsafe-inline'; sandbox");
	if (str_eq(req_header(r, "If-None-Match"), str_of(etag))) {
		buf_clear(&r->out);
		return reader_done(r, 304, OK, e);
	}
	return reader_done(r, 200, OK, e);
}
