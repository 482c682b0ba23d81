#include "audit/audit.h"

#include "audit/limits.h"
#include "http/url.h"
#include "sql.h"
#include "store/limits.h"

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

/*
 * A text from anywhere: what is no UTF-8 becomes ?, what is too long is cut
 * between two characters. An empty one is left out.
 */
static void
text(struct buf *b, const char *name, struct str s)
{
	struct buf clean CLEANUP(buf_done) = BUF(AUDIT_TEXT_MAX);

	if (s.n == 0)
		return;
	if (s.n > AUDIT_TEXT_MAX) {
		s.n = AUDIT_TEXT_MAX;
		while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
			s.n--;
	}
	buf_add(&clean, s);
	str_clean_utf8(clean.p, clean.n);
	put_text(b, name, buf_str(&clean));
}

/* Without what may be a secret. */
static void
url(struct buf *b, const char *name, struct str s)
{
	char masked[AUDIT_TEXT_MAX + 2 * sizeof(URL_MASK)];

	if (s.n > AUDIT_TEXT_MAX)
		s.n = AUDIT_TEXT_MAX;
	text(b, name, url_masked(s, masked, sizeof(masked)));
}

static void
actor(struct buf *b, const struct audit_row *r)
{
	static const struct {
		struct str prefix;
		const char *type;
	} kinds[] = {{STR("user:"), "USER"}, {STR("key:"), "KEY"}};
	struct str who = r->actor;
	const char *type = who.n ? "LOCAL" : "SYSTEM";

	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (str_starts(who, kinds[i].prefix)) {
			type = kinds[i].type;
			who = str_from(who, kinds[i].prefix.n);
			break;
		}
	put_open(b, "actor", '{');
	put_z(b, "type", type);
	text(b, "name", who);
	text(b, "triggeredBy", r->triggered_by);
	put_close(b, '}');
}

static void
target(struct buf *b, const struct audit_row *r)
{
	if (!r->target_type.n && !r->object_id.n && !r->object_path.n)
		return;
	put_open(b, "target", '{');
	text(b, "type", r->target_type);
	text(b, "objectId", r->object_id);
	text(b, "objectName", r->object_name);
	text(b, "objectPath", r->object_path);
	put_close(b, '}');
}

static void
webhook(struct buf *b, const struct audit_row *r)
{
	if (!r->webhook_id.n && !r->url.n && !r->delivery_id.n)
		return;
	put_open(b, "webhook", '{');
	text(b, "webhookId", r->webhook_id);
	url(b, "url", r->url);
	text(b, "eventType", r->event_type);
	text(b, "deliveryId", r->delivery_id);
	put_close(b, '}');
}

static void
result(struct buf *b, const struct audit_row *r)
{
	if (!r->has_result)
		return;
	put_open(b, "result", '{');
	put_bool(b, "success", r->success);
	if (r->status)
		put_int(b, "statusCode", r->status);
	put_int(b, "responseTime", r->ms);
	put_int(b, "attemptCount", r->attempts);
	text(b, "error", r->error);
	put_close(b, '}');
}

static void
details(struct buf *b, const struct audit_row *r)
{
	bool fits = r->trigger.n + r->details.n <= AUDIT_DETAILS_MAX;
	size_t n = r->n_header_names;

	if (!r->payload_bytes && !n && !r->trigger.n && !r->details.n)
		return;
	put_open(b, "details", '{');
	if (r->payload_bytes)
		put_int(b, "payloadSize", r->payload_bytes);
	if (n)
		put_texts(b, "requestHeaders", r->header_names,
		    n < AUDIT_HEADERS_MAX ? n : AUDIT_HEADERS_MAX);
	if (fits && r->trigger.n)
		put_raw(b, "triggerEvent", r->trigger);
	if (fits && r->details.n)
		put_raw(b, NULL, r->details);
	if (!fits)
		put_bool(b, "truncated", true);
	put_close(b, '}');
}

static void
compose(const struct audit_row *r, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_v4());
	put_time(b, "timestamp", r->at_us);
	put_z(b, "category", audit_name(r->category));
	text(b, "repositoryId", r->repository);
	actor(b, r);
	target(b, r);
	webhook(b, r);
	result(b, r);
	details(b, r);
	put_close(b, '}');
}

static void
chain_int(struct buf *b, int64_t v)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		buf_addc(b, (char)((uint64_t)v >> shift & 0xff));
}

/* `hash` is that of the row before, and becomes this one's. */
static void
chain(unsigned char hash[DIGEST_LEN], int64_t n, int64_t at,
    struct str category, struct str row)
{
	struct buf b CLEANUP(buf_done) =
	    BUF(DIGEST_LEN + 64 + category.n + row.n);

	buf_add(&b, bytes(hash));
	chain_int(&b, n);
	chain_int(&b, at);
	buf_add(&b, category);
	buf_addc(&b, '\n');
	buf_add(&b, row);
	assert(!b.failed);
	digest_sha256(buf_str(&b), hash);
}

struct audit_head {
	int64_t n, cut_n;
	unsigned char hash[DIGEST_LEN], cut_hash[DIGEST_LEN];
};

/* lock: inside a write transaction, for whose end others wait. */
static int
get_head(struct db *db, bool lock, struct audit_head *ret, struct err *e)
{
	struct sql_audit_head_get_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(lock ? sql_audit_head_lock(db, &rows, e)
		 : sql_audit_head_get(db, &rows, e));
	if (TRY(sql_audit_head_get_next(rows, &row, e)) == 0)
		return err_set(e, ERR_STORE, "the audit has no head");
	if (row.hash.n != DIGEST_LEN || row.cut_hash.n != DIGEST_LEN)
		return err_set(
		    e, ERR_STORE, "the head of the audit can't be read");
	ret->n = row.n;
	ret->cut_n = row.cut_n;
	memcpy(ret->hash, row.hash.p, DIGEST_LEN);
	memcpy(ret->cut_hash, row.cut_hash.p, DIGEST_LEN);
	return OK;
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
	chain(h->hash, ++h->n, r->at_us, category, buf_str(&m->text));
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
	int64_t rc = n > 0 ? get_head(db, true, &h, e) : OK;

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
	struct audit_at at = q->after;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int64_t most = (int64_t)q->limit + 1;

	if (!at.n && !at.at_us)
		at.at_us = q->to_us ? q->to_us : INT64_MAX;
	TRY(q->one ? sql_audit_page_category(db, &rows, e,
			 .category = str_of(audit_name(*q->one)),
			 .from_at = q->from_us, .at = at.at_us, .n = at.n,
			 .most = most)
		   : sql_audit_page(db, &rows, e, .from_at = q->from_us,
			 .at = at.at_us, .n = at.n, .most = most));
	for (size_t shown = 0; TRY(sql_audit_page_next(rows, &row, e)) > 0;
	     shown++) {
		if (shown == q->limit ||
		    TRY(each(ctx, row.row, e)) == AUDIT_ENOUGH) {
			*ret_next = at;
			return OK;
		}
		at = (struct audit_at){row.at, row.n};
	}
	*ret_next = (struct audit_at){0, 0};
	return OK;
}

/* The walk along the chain ------------------------------------------------- */

static void
broken(struct audit_walk *w, int64_t n, const char *why)
{
	w->broken = true;
	w->broken_n = n;
	(void)snprintf(w->why, sizeof(w->why), "%s", why);
}

/* Begins at the cut, also when retention moved it past us. */
static int
find_start(
    struct db *db, struct audit_walk *w, struct audit_head *h, struct err *e)
{
	TRY(get_head(db, false, h, e));
	w->head = h->n;
	if (!w->begun || h->cut_n > w->n) {
		w->begun = true;
		w->n = h->cut_n;
		memcpy(w->hash, h->cut_hash, DIGEST_LEN);
	}
	return OK;
}

/* True: it is good, and the walk is behind it. */
static bool
look_at(struct audit_walk *w, const struct sql_audit_walk_row *row)
{
	unsigned char hash[DIGEST_LEN];

	memcpy(hash, w->hash, DIGEST_LEN);
	chain(hash, row->n, row->at, row->category, row->row);
	if (row->hash.n != DIGEST_LEN ||
	    memcmp(hash, row->hash.p, DIGEST_LEN) != 0) {
		broken(w, row->n,
		    "it or the row before it is not what was written");
		return false;
	}
	memcpy(w->hash, hash, DIGEST_LEN);
	w->n = row->n;
	w->rows++;
	return true;
}

/* A gap is one, unless retention has just made it. */
static int
gap(struct db *db, struct audit_walk *w, struct err *e)
{
	struct audit_head h;

	TRY(get_head(db, false, &h, e));
	if (h.cut_n <= w->n)
		broken(w, w->n + 1, "it is missing");
	return OK;
}

/* Rows up to `upto`, as long as they are good. 1: there is a gap. */
static int
walk_on(struct db *db, struct audit_walk *w, int64_t upto, struct err *e)
{
	struct sql_audit_walk_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	bool any = false;

	TRY(sql_audit_walk(
	    db, &rows, e, .after = w->n, .upto = upto, .most = AUDIT_WALK_MAX));
	while (TRY(sql_audit_walk_next(rows, &row, e)) > 0) {
		if (row.n != w->n + 1)
			return 1;
		if (!look_at(w, &row))
			return OK;
		any = true;
	}
	return !any;
}

int
audit_walk(struct db *db, struct audit_walk *w, struct err *e)
{
	struct audit_head h;

	TRY(find_start(db, w, &h, e));
	if (w->n < h.n)
		return TRY(walk_on(db, w, h.n, e)) > 0 ? gap(db, w, e) : OK;
	w->done = true;
	if (w->n > h.n || memcmp(w->hash, h.hash, DIGEST_LEN) != 0)
		broken(w, h.n, "it is not what the head says");
	return OK;
}

void
audit_walk_json(const struct audit_walk *w, struct buf *b)
{
	put_open(b, NULL, '{');
	put_int(b, "n", w->n);
	put_name(b, "hash");
	buf_addc(b, '"');
	buf_hex(b, bytes(w->hash));
	buf_addc(b, '"');
	put_int(b, "rows", w->rows);
	put_int(b, "head", w->head);
	put_bool(b, "done", w->done);
	if (w->broken) {
		put_open(b, "broken", '{');
		put_int(b, "n", w->broken_n);
		put_z(b, "why", w->why);
		put_close(b, '}');
	} else {
		put_null(b, "broken");
	}
	put_close(b, '}');
}

int
audit_old(struct db *db, int64_t cut_us, bool *ret, struct err *e)
{
	struct sql_audit_oldest_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_audit_oldest(db, &rows, e, .most = 1));
	*ret = TRY(sql_audit_oldest_next(rows, &row, e)) > 0 && row.at < cut_us;
	return OK;
}

/* The oldest rows before cut_us: how many, and the last of them in h. */
static int
find_old(struct db *db, int64_t cut_us, struct audit_head *h, struct err *e)
{
	struct sql_audit_oldest_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int n = 0;

	TRY(sql_audit_oldest(db, &rows, e, .most = RETAIN_STEP));
	for (; TRY(sql_audit_oldest_next(rows, &row, e)) > 0; n++) {
		if (row.at >= cut_us || row.hash.n != DIGEST_LEN)
			break;
		h->cut_n = row.n;
		memcpy(h->cut_hash, row.hash.p, DIGEST_LEN);
	}
	return n;
}

int
audit_retain(struct db *db, int64_t cut_us, int64_t *ret_removed, struct err *e)
{
	struct audit_head h;
	int n;

	TRY(get_head(db, true, &h, e));
	n = TRY(find_old(db, cut_us, &h, e));
	if (n > 0 && (sql_audit_remove(db, e, .upto = h.cut_n) < 0 ||
			 sql_audit_cut_put(db, e, .n = h.cut_n,
			     .hash = bytes(h.cut_hash)) < 0))
		return e->code;
	*ret_removed = n;
	return OK;
}
