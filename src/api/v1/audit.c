#include "api/v1/audit.h"

#include "api/api.h"
#include "api/io.h"
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

struct query {
	struct api_page page;
	struct audit_query q;
	struct str category;
};

#define QUERY_AT(field) offsetof(struct query, field)
static const struct member QUERY[] = {
    {"from", MEMBER_TIME, QUERY_AT(q.from_us)},
    {"to", MEMBER_TIME, QUERY_AT(q.to_us)},
    {"category", MEMBER_STRING, QUERY_AT(category), 0, API_CURSOR_MAX},
    {"limit", MEMBER_INT, QUERY_AT(page.limit), 1, PAGE_MAX},
    {"after", MEMBER_STRING, QUERY_AT(page.after), 0, API_CURSOR_MAX},
    {.name = NULL},
};

/* at-n, as next_cursor() writes it. */
static int
read_cursor(struct str s, struct audit_at *ret, struct err *e)
{
	struct str at = str_cut(&s, '-');

	if (!str_int(at, &ret->at_us) || !str_int(s, &ret->n) ||
	    ret->at_us < 0 || ret->n < 1)
		return api_no_cursor(e);
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
	struct query x = {.page = {.limit = 0}};
	int rc = api_query(r, QUERY, &x, e);

	if (rc == OK && x.page.after.p)
		rc = read_cursor(x.page.after, &x.q.after, e);
	*q = x.q;
	if (rc == OK && x.category.p) {
		if (!audit_category_of(x.category, one))
			rc = err_set(e, ERR_INVALID,
			    "category is none of the audit's, such as KEY_CREATED or WEBHOOK_DELIVERY_FAILURE");
		q->one = one;
	}
	q->limit = x.page.limit ? (size_t)x.page.limit
		   : csv        ? PAGE_MAX
				: PAGE_DEFAULT;
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
	p->n++;
	if (rc == OK) {
		put_raw(&p->r->out, NULL, row);
		return OK;
	}
	put_open(&p->r->out, NULL, '{');
	put_text(&p->r->out, "broken", (struct str){row.p, str_utf8_bad(row)});
	put_close(&p->r->out, '}');
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
		return OK;
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
	if (next.n)
		req_add_header(
		    r, "X-Next-Cursor", next_cursor(r->arena, next).p);
	return OK;
}

static int
list_json(
    struct page *p, struct db *db, const struct audit_query *q, struct err *e)
{
	struct req *r = p->r;
	struct audit_at next;
	int rc;

	api_list(r);
	rc = audit_list(db, q, show_json, p, &next, e);
	if (rc < 0)
		return rc;
	api_list_end(
	    r, next.n ? next_cursor(r->arena, next) : (struct str){.p = NULL});
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
	struct verify {
		struct audit_walk w;
		struct str hash;
	} q = {.hash = {.p = NULL}};
	static const struct member VERIFY[] = {
	    {"after", MEMBER_INT, offsetof(struct verify, w.n), 0, INT64_MAX},
	    {"rows", MEMBER_INT, offsetof(struct verify, w.rows), 0, INT64_MAX},
	    {"hash", MEMBER_STRING, offsetof(struct verify, hash), 0,
		API_CURSOR_MAX, .about = "of the answer before this"},
	    {.name = NULL},
	};
	struct audit_walk *w = &q.w;
	int rc = api_query(r, VERIFY, &q, e);

	if (rc < 0)
		return rc;
	w->begun = q.hash.p != NULL;
	if (w->begun && !read_hash(q.hash, w->hash))
		return err_set(e, ERR_INVALID,
		    "hash must be the one that the answer before this had");
	rc = audit_walk(db, w, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	audit_walk_json(w, &r->out);
	return OK;
}
