#include "api/v1/audit.h"

#include "api/api.h"
#include "audit/audit.h"
#include "audit/limits.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "http/server/limits.h"

/* The columns of the CSV: a name, and where it is in a row. */
static const struct {
	const char *name, *pointer;
} COLUMNS[] = {
    {"id", "/id"},
    {"timestamp", "/timestamp"},
    {"category", "/category"},
    {"repositoryId", "/repositoryId"},
    {"actorType", "/actor/type"},
    {"actor", "/actor/name"},
    {"triggeredBy", "/actor/triggeredBy"},
    {"targetType", "/target/type"},
    {"objectId", "/target/objectId"},
    {"objectName", "/target/objectName"},
    {"objectPath", "/target/objectPath"},
    {"webhookId", "/webhook/webhookId"},
    {"url", "/webhook/url"},
    {"eventType", "/webhook/eventType"},
    {"deliveryId", "/webhook/deliveryId"},
    {"success", "/result/success"},
    {"statusCode", "/result/statusCode"},
    {"responseTime", "/result/responseTime"},
    {"attemptCount", "/result/attemptCount"},
    {"error", "/result/error"},
    {"details", "/details"},
};

static int
read_time(const struct req *r, const char *name, int64_t *ret_us, struct err *e)
{
	struct str s;

	if (req_query(r, name, &s) && !time_parse(s, ret_us, NULL))
		return err_set(e, ERR_INVALID,
		    "%s must be a time as in RFC 3339, 2030-01-31T12:00:00Z",
		    name);
	return OK;
}

/* at-n, as next_cursor() writes it. */
static int
read_cursor(const struct req *r, struct audit_at *ret, struct err *e)
{
	struct str s, at;

	if (!req_query(r, "after", &s))
		return OK;
	at = str_cut(&s, '-');
	if (!str_int(at, &ret->at_us) || !str_int(s, &ret->n) ||
	    ret->at_us < 0 || ret->n < 1)
		return err_set(
		    e, ERR_INVALID, "after is no cursor of this list");
	return OK;
}

static struct str
next_cursor(struct arena *a, struct audit_at next)
{
	return arena_fmt(
	    a, "%lld-%lld", (long long)next.at_us, (long long)next.n);
}

static int
read_query(struct req *r, bool csv, struct audit_query *q,
    enum audit_category *one, struct err *e)
{
	static const char *const names[] = {
	    "from", "to", "category", "limit", "after", NULL};
	int64_t limit = 0;
	struct str s;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = req_query_int(r, "limit", 1, PAGE_MAX,
		    csv ? PAGE_MAX : PAGE_DEFAULT, &limit, e);
	if (rc == OK)
		rc = read_time(r, "from", &q->from_us, e);
	if (rc == OK)
		rc = read_time(r, "to", &q->to_us, e);
	if (rc == OK)
		rc = read_cursor(r, &q->after, e);
	if (rc == OK && req_query(r, "category", &s)) {
		if (!audit_category_of(s, one))
			rc = err_set(e, ERR_INVALID,
			    "category is none of the audit's, such as KEY_CREATED or WEBHOOK_DELIVERY_FAILURE");
		q->one = one;
	}
	q->limit = (size_t)limit;
	return rc;
}

struct page {
	struct req *r;
	struct arena *scratch;
	size_t n;
};

/* Rows are shown as they are; one that somebody broke must not break a page. */
static int
show_json(void *ctx, struct str row, struct err *e)
{
	struct page *p = ctx;
	struct json *j = NULL;
	int rc;

	if (p->n > 0 && p->r->out.n + row.n > PAGE_BYTES)
		return AUDIT_ENOUGH;
	arena_reset(p->scratch);
	rc = json_parse(p->scratch, row, &j, e);
	if (rc == ERR_NOMEM)
		return rc;
	if (p->n++)
		buf_addc(&p->r->out, ',');
	if (rc == OK) {
		buf_add(&p->r->out, row);
	} else {
		buf_addz(&p->r->out, "{\"broken\":");
		buf_json(&p->r->out, (struct str){row.p, str_utf8_bad(row)});
		buf_addc(&p->r->out, '}');
	}
	return OK;
}

/* RFC 4180, and nothing that a spreadsheet would work out. */
static void
cell(struct buf *b, struct str s)
{
	bool formula = s.n > 0 && str_has(STR("=+-@\t\r"), s.p[0]);
	bool quoted = formula;

	for (size_t i = 0; i < s.n && !quoted; i++)
		quoted = str_has(STR("\",\r\n"), s.p[i]);
	if (!quoted) {
		buf_add(b, s);
		return;
	}
	buf_addz(b, formula ? "\"'" : "\"");
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			buf_addc(b, '"');
		buf_addc(b, s.p[i]);
	}
	buf_addc(b, '"');
}

static int
show_csv(void *ctx, struct str row, struct err *e)
{
	struct page *p = ctx;
	struct json *j = NULL;
	int rc;

	if (p->n > 0 && p->r->out.n + row.n > PAGE_BYTES)
		return AUDIT_ENOUGH;
	p->n++;
	arena_reset(p->scratch);
	rc = json_parse(p->scratch, row, &j, e);
	/* One that somebody broke is shown as it is: verify names it. */
	if (rc < 0) {
		cell(&p->r->out, row);
		buf_addz(&p->r->out, "\r\n");
		return rc == ERR_NOMEM ? rc : OK;
	}
	for (size_t i = 0; i < COUNT_OF(COLUMNS); i++) {
		const struct json *v = json_at(j, str_of(COLUMNS[i].pointer));

		if (i)
			buf_addc(&p->r->out, ',');
		if (v)
			cell(&p->r->out,
			    json_is(v, JSON_STRING) ? v->text : v->raw);
	}
	buf_addz(&p->r->out, "\r\n");
	return OK;
}

static int
list_csv(
    struct page *p, struct db *db, const struct audit_query *q, struct err *e)
{
	struct req *r = p->r;
	struct audit_at next;
	int rc;

	for (size_t i = 0; i < COUNT_OF(COLUMNS); i++)
		buf_fmt(&r->out, "%s%s", i ? "," : "", COLUMNS[i].name);
	buf_addz(&r->out, "\r\n");
	rc = audit_list(db, q, show_csv, p, &next, e);
	if (rc < 0)
		return rc;
	r->content_type = "text/csv; charset=utf-8; header=present";
	if (next.n) {
		struct str cursor = next_cursor(r->arena, next);

		if (!cursor.p)
			return err_set(e, ERR_NOMEM, "no memory for a page");
		req_add_header(r, "X-Next-Cursor", arena_z(r->arena, cursor));
	}
	return OK;
}

static int
list_json(
    struct page *p, struct db *db, const struct audit_query *q, struct err *e)
{
	struct req *r = p->r;
	struct audit_at next;
	int rc;

	buf_addz(&r->out, "{\"data\":[");
	rc = audit_list(db, q, show_json, p, &next, e);
	if (rc < 0)
		return rc;
	buf_addz(&r->out, "],\"next\":");
	if (next.n)
		buf_json(&r->out, next_cursor(r->arena, next));
	else
		buf_addz(&r->out, "null");
	buf_addc(&r->out, '}');
	return OK;
}

/* Asked for by name, before JSON or without it. */
static bool
wants_csv(const struct req *r)
{
	struct str accept = req_header(r, "Accept");

	while (accept.n > 0) {
		struct str one = str_cut(&accept, ',');
		struct str type = str_trim(str_cut(&one, ';'));

		if (str_eq_nocase(type, STR("text/csv")))
			return true;
		if (str_eq_nocase(type, STR("application/json")))
			return false;
	}
	return false;
}

int
api_audit_list(struct req *r, struct db *db, struct err *e)
{
	struct audit_query q = {0};
	enum audit_category one = AUDIT_COUNT;
	struct page p = {.r = r};
	bool csv = wants_csv(r);
	int rc = read_query(r, csv, &q, &one, e);

	if (rc < 0)
		return rc;
	p.scratch = arena_new(4 * AUDIT_ROW_MAX);
	if (!p.scratch)
		return err_set(e, ERR_NOMEM, "no memory for a page");
	buf_clear(&r->out);
	req_add_header(r, "Vary", "Accept");
	rc = csv ? list_csv(&p, db, &q, e) : list_json(&p, db, &q, e);
	arena_free(p.scratch);
	return rc;
}

static bool
read_hash(struct str s, unsigned char ret[DIGEST_LEN])
{
	static const char digits[] = "0123456789abcdef";

	if (s.n != 2 * (size_t)DIGEST_LEN)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		const char *d = s.p[i] ? strchr(digits, s.p[i]) : NULL;

		if (!d)
			return false;
		ret[i / 2] =
		    (unsigned char)(ret[i / 2] << 4 | (int)(d - digits));
	}
	return true;
}

int
api_audit_verify(struct req *r, struct db *db, struct err *e)
{
	static const char *const names[] = {"after", "hash", "rows", NULL};
	struct audit_walk w = {0};
	struct str hash;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = req_query_int(r, "after", 0, INT64_MAX, 0, &w.n, e);
	if (rc == OK)
		rc = req_query_int(r, "rows", 0, INT64_MAX, 0, &w.rows, e);
	if (rc < 0)
		return rc;
	w.begun = req_query(r, "hash", &hash);
	if (w.begun && !read_hash(hash, w.hash))
		return err_set(e, ERR_INVALID,
		    "hash must be the one that the answer before this had");
	rc = audit_walk(db, &w, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	audit_walk_json(&w, &r->out);
	return OK;
}
