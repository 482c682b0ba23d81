#include "audit/audit.h"

#include <assert.h>

#include "audit/audit_priv.h"
#include "audit/limits.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"
#include "http/url.h"
#include "sql.h"

static const char *const NAMES[] = {
#define AUDIT(name) #name,
#include "audit/categories.tbl"
#undef AUDIT
};

const char *
audit_name(enum audit_category c)
{
	assert(c >= 0 && c < AUDIT_COUNT);
	return NAMES[c];
}

bool
audit_category_of(struct str name, enum audit_category *ret)
{
	for (size_t i = 0; i < COUNT_OF(NAMES); i++)
		if (str_eq(name, str_of(NAMES[i]))) {
			*ret = (enum audit_category)i;
			return true;
		}
	return false;
}

static struct str
bytes(const unsigned char hash[DIGEST_LEN])
{
	return (struct str){(const char *)hash, DIGEST_LEN};
}

/* An object that is written member by member. */
struct obj {
	struct buf *b;
	bool some;
};

static void
name(struct obj *o, const char *key)
{
	buf_fmt(o->b, "%s\"%s\":", o->some ? "," : "", key);
	o->some = true;
}

/*
 * A text from anywhere: what is no UTF-8 becomes ?, what is too long is cut
 * between two characters.
 */
static void
text(struct obj *o, const char *key, struct str s)
{
	struct str rest = s;
	size_t most = AUDIT_TEXT_MAX, bad;
	struct buf clean = BUF(AUDIT_TEXT_MAX);

	if (s.n == 0)
		return;
	name(o, key);
	if (rest.n > most) {
		while (((unsigned char)rest.p[most] & 0xc0) == 0x80 && most > 0)
			most--;
		rest.n = most;
	}
	if (str_utf8_bad(rest) == rest.n) {
		buf_json(o->b, rest);
		return;
	}
	while ((bad = str_utf8_bad(rest)) < rest.n) {
		buf_add(&clean, (struct str){rest.p, bad});
		buf_addc(&clean, '?');
		rest = str_from(rest, bad + 1);
	}
	buf_add(&clean, rest);
	buf_json(o->b, buf_str(&clean));
	o->b->failed = o->b->failed || clean.failed;
	buf_done(&clean);
}

/* Without what may be a secret. */
static void
url(struct obj *o, const char *key, struct str s)
{
	char masked[AUDIT_TEXT_MAX + 2 * sizeof(URL_MASK)];

	if (s.n > AUDIT_TEXT_MAX)
		s.n = AUDIT_TEXT_MAX;
	text(o, key, url_masked(s, masked, sizeof(masked)));
}

static void
whole(struct obj *o, const char *key, int64_t v)
{
	name(o, key);
	buf_int(o->b, v);
}

static void
actor(struct obj *o, const struct audit_row *r)
{
	static const struct {
		struct str prefix;
		const char *type;
	} kinds[] = {{STR("user:"), "USER"}, {STR("key:"), "KEY"}};
	struct obj in = {.b = o->b};
	struct str who = r->actor;
	const char *type = who.n ? "LOCAL" : "SYSTEM";

	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (str_starts(who, kinds[i].prefix)) {
			type = kinds[i].type;
			who = str_from(who, kinds[i].prefix.n);
			break;
		}
	name(o, "actor");
	buf_addc(o->b, '{');
	text(&in, "type", str_of(type));
	text(&in, "name", who);
	text(&in, "triggeredBy", r->triggered_by);
	buf_addc(o->b, '}');
}

static void
target(struct obj *o, const struct audit_row *r)
{
	struct obj in = {.b = o->b};

	if (!r->target_type.n && !r->object_id.n && !r->object_path.n)
		return;
	name(o, "target");
	buf_addc(o->b, '{');
	text(&in, "type", r->target_type);
	text(&in, "objectId", r->object_id);
	text(&in, "objectName", r->object_name);
	text(&in, "objectPath", r->object_path);
	buf_addc(o->b, '}');
}

static void
webhook(struct obj *o, const struct audit_row *r)
{
	struct obj in = {.b = o->b};

	if (!r->webhook_id.n && !r->url.n && !r->delivery_id.n)
		return;
	name(o, "webhook");
	buf_addc(o->b, '{');
	text(&in, "webhookId", r->webhook_id);
	url(&in, "url", r->url);
	text(&in, "eventType", r->event_type);
	text(&in, "deliveryId", r->delivery_id);
	buf_addc(o->b, '}');
}

static void
result(struct obj *o, const struct audit_row *r)
{
	struct obj in = {.b = o->b};

	if (!r->has_result)
		return;
	name(o, "result");
	buf_addc(o->b, '{');
	name(&in, "success");
	buf_addz(o->b, r->success ? "true" : "false");
	if (r->status)
		whole(&in, "statusCode", r->status);
	whole(&in, "responseTime", r->ms);
	whole(&in, "attemptCount", r->attempts);
	text(&in, "error", r->error);
	buf_addc(o->b, '}');
}

static void
details(struct obj *o, const struct audit_row *r)
{
	struct obj in = {.b = o->b};
	bool fits = r->trigger.n + r->details.n <= AUDIT_DETAILS_MAX;
	size_t n = r->n_header_names;

	if (!r->payload_bytes && !n && !r->trigger.n && !r->details.n)
		return;
	name(o, "details");
	buf_addc(o->b, '{');
	if (r->payload_bytes)
		whole(&in, "payloadSize", r->payload_bytes);
	if (n) {
		name(&in, "requestHeaders");
		buf_addc(o->b, '[');
		for (size_t i = 0; i < n && i < AUDIT_HEADERS_MAX; i++) {
			if (i)
				buf_addc(o->b, ',');
			buf_json(o->b, r->header_names[i]);
		}
		buf_addc(o->b, ']');
	}
	if (fits && r->trigger.n) {
		name(&in, "triggerEvent");
		buf_add(o->b, r->trigger);
	}
	if (fits && r->details.n) {
		buf_addz(o->b, in.some ? "," : "");
		in.some = true;
		buf_add(o->b, r->details);
	}
	if (!fits) {
		name(&in, "truncated");
		buf_addz(o->b, "true");
	}
	buf_addc(o->b, '}');
}

static void
compose(const struct audit_row *r, struct buf *b)
{
	struct obj o = {.b = b};
	char id[UUID_LEN + 1], at[TIME_LEN + 1];

	uuid_format(uuid_v4(), id);
	time_format(r->at_us, at);
	buf_addc(b, '{');
	text(&o, "id", str_of(id));
	text(&o, "timestamp", str_of(at));
	text(&o, "category", str_of(audit_name(r->category)));
	text(&o, "repositoryId", r->repository);
	actor(&o, r);
	target(&o, r);
	webhook(&o, r);
	result(&o, r);
	details(&o, r);
	buf_addc(b, '}');
}

static void
number(struct buf *b, int64_t v)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		buf_addc(b, (char)((uint64_t)v >> shift & 0xff));
}

void
audit_chain(unsigned char hash[DIGEST_LEN], int64_t n, int64_t at,
    struct str category, struct str row)
{
	struct buf b = BUF(DIGEST_LEN + 64 + category.n + row.n);

	buf_add(&b, bytes(hash));
	number(&b, n);
	number(&b, at);
	buf_add(&b, category);
	buf_addc(&b, '\n');
	buf_add(&b, row);
	assert(!b.failed);
	digest_sha256(buf_str(&b), hash);
	buf_done(&b);
}

static int
read_head(int rc, struct rows *rows, struct audit_head *ret, struct err *e)
{
	struct sql_audit_head_get_row row;

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_audit_head_get_get(rows, &row);
		rc = OK;
		if (row.hash.n != DIGEST_LEN || row.cut_hash.n != DIGEST_LEN) {
			rc = err_set(e, ERR_STORE,
			    "the head of the audit can't be read");
		} else {
			ret->n = row.n;
			ret->cut_n = row.cut_n;
			memcpy(ret->hash, row.hash.p, DIGEST_LEN);
			memcpy(ret->cut_hash, row.cut_hash.p, DIGEST_LEN);
		}
	} else if (rc == 0) {
		rc = err_set(e, ERR_STORE, "the audit has no head");
	}
	rows_close(rows);
	return rc;
}

int
audit_head_get(struct db *db, struct audit_head *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_audit_head_get(db, &rows, e);

	return read_head(rc, rows, ret, e);
}

int
audit_head_lock(struct db *db, struct audit_head *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_audit_head_lock(db, &rows, e);

	return read_head(rc, rows, ret, e);
}

/* A row as it is stored: its text, and the chain's hash behind it. */
struct made {
	struct buf text;
	unsigned char hash[DIGEST_LEN];
};

static int
make(const struct audit_row *r, struct audit_head *h, struct made *m,
    struct sql_audit_add_args *ret, struct err *e)
{
	struct str category = str_of(audit_name(r->category));

	m->text = BUF(AUDIT_ROW_MAX);
	compose(r, &m->text);
	if (m->text.failed)
		return err_set(e, ERR_LIMIT, "a row of the audit is too long");
	audit_chain(h->hash, ++h->n, r->at_us, category, buf_str(&m->text));
	memcpy(m->hash, h->hash, DIGEST_LEN);
	*ret = (struct sql_audit_add_args){.n = h->n,
	    .at = r->at_us,
	    .category = category,
	    .row = buf_str(&m->text),
	    .hash = bytes(m->hash)};
	return OK;
}

int
audit_put_many(
    struct db *db, const struct audit_row *rows, size_t n, struct err *e)
{
	struct made *made = mem_array(n, sizeof(*made));
	struct sql_audit_add_args *v = mem_array(n, sizeof(*v));
	struct audit_head h;
	int64_t rc = n > 0 ? audit_head_lock(db, &h, e) : OK;

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = make(&rows[i], &h, &made[i], &v[i], e);
	if (rc == OK)
		rc = sql_audit_add(db, v, n, e);
	if (rc >= 0 && n > 0)
		rc = sql_audit_head_put(db, e, .n = h.n, .hash = bytes(h.hash));
	for (size_t i = 0; i < n; i++)
		buf_done(&made[i].text);
	free(made);
	free(v);
	return rc < 0 ? (int)rc : OK;
}

int
audit_put(struct db *db, const struct audit_row *row, struct err *e)
{
	return audit_put_many(db, row, 1, e);
}

int
audit_list(struct db *db, const struct audit_query *q,
    int (*each)(void *ctx, struct str row, struct err *e), void *ctx,
    struct audit_at *ret_next, struct err *e)
{
	struct sql_audit_page_row row;
	struct audit_at at = q->after, next = {0, 0};
	struct rows *rows = NULL;
	size_t shown = 0;
	int rc;

	if (!at.n && !at.at_us)
		at = (struct audit_at){q->to_us ? q->to_us : INT64_MAX, 0};
	rc = q->one ? sql_audit_page_category(db, &rows, e,
			  .category = str_of(audit_name(*q->one)),
			  .from_at = q->from_us, .at = at.at_us, .n = at.n,
			  .most = (int64_t)q->limit + 1)
		    : sql_audit_page(db, &rows, e, .from_at = q->from_us,
			  .at = at.at_us, .n = at.n,
			  .most = (int64_t)q->limit + 1);
	while (rc == OK && (rc = rows_next(rows, e)) > 0) {
		sql_audit_page_get(rows, &row);
		rc = shown++ == q->limit ? AUDIT_ENOUGH : each(ctx, row.row, e);
		if (rc == AUDIT_ENOUGH) {
			next = at;
			rc = OK;
			break;
		}
		at = (struct audit_at){row.at, row.n};
	}
	rows_close(rows);
	if (rc == OK)
		*ret_next = next;
	return rc;
}
