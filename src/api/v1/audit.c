/*
 * The audit over HTTP.
 *
 * The list is newest first, from `from` on and before `to`. With `Accept:
 * text/csv` it is RFC 4180 with a line of names; the next page's cursor is
 * then in the header X-Next-Cursor. A cell that a spreadsheet would take for
 * a formula gets a ' in front.
 *
 * One call of verify looks at AUDIT_WALK_MAX rows and answers how far it came;
 * n, hash and rows of the answer are what the next call goes on with, so that
 * a chain of any length costs no long call.
 *
 * WHY ADMIN. Rows tell of all users and tenants.
 */
#include "audit/audit.h"

#include "api/api.h"
#include "api/handlers.h"
#include "api/io.h"
#include "audit/limits.h"
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
const struct member AUDIT_QUERY[] = {
    {"from", MEMBER_TIME, QUERY_AT(q.from_us)},
    {"to", MEMBER_TIME, QUERY_AT(q.to_us)},
    {"category", MEMBER_STRING, QUERY_AT(category), 0, API_CURSOR_MAX},
    {"limit", MEMBER_INT, QUERY_AT(page.limit), 1, PAGE_MAX},
    {"after", MEMBER_STRING, QUERY_AT(page.after), 0, API_CURSOR_MAX},
    {.name = NULL},
};

/* at-n */
static int
read_cursor(struct str s, struct audit_at *ret, struct err *e)
{
	struct str at = str_cut(&s, '-');

	if (!str_int(at, &ret->at_us) || !str_int(s, &ret->n) ||
	    ret->at_us < 0 || ret->n < 1)
		return api_no_cursor(e);
	return OK;
}

static int
read_query(struct req *r, bool csv, struct audit_query *q,
    enum audit_category *one, struct err *e)
{
	struct query x = {.page = {.limit = 0}};

	TRY(api_query(r, AUDIT_QUERY, &x, e));
	if (x.page.after.p)
		TRY(read_cursor(x.page.after, &x.q.after, e));
	*q = x.q;
	if (x.category.p) {
		if (!audit_category_of(x.category, one))
			return err_set(e, ERR_INVALID,
			    "category is none of the audit's, such as KEY_CREATED or WEBHOOK_DELIVERY_FAILURE");
		q->one = one;
	}
	q->limit = x.page.limit ? (size_t)x.page.limit
		   : csv        ? PAGE_MAX
				: PAGE_DEFAULT;
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

static void
show_csv(struct buf *b, const struct json *j)
{
	for (size_t i = 0; i < COUNT_OF(COLUMNS); i++) {
		const struct json *v = json_at(j, str_of(COLUMNS[i].pointer));

		if (i)
			buf_addc(b, ',');
		if (v)
			cell(b, json_is(v, JSON_STRING) ? v->text : v->raw);
	}
}

struct page {
	struct buf *out;
	struct arena *scratch;
	size_t n;
	bool csv;
};

/* Rows are shown as they are. One that somebody broke must not break a page:
 * verify names it. */
static int
show_row(void *ctx, struct str row, struct err *)
{
	struct page *p = ctx;
	struct buf *b = p->out;
	struct json *j = NULL;
	struct err broken;

	if (p->n > 0 && b->n + row.n > PAGE_BYTES)
		return AUDIT_ENOUGH;
	p->n++;
	arena_reset(p->scratch);
	if (json_parse(p->scratch, row, &j, &broken) < 0)
		j = NULL;
	if (p->csv) {
		if (j)
			show_csv(b, j);
		else
			cell(b, row);
		buf_addz(b, "\r\n");
	} else if (j) {
		put_raw(b, NULL, row);
	} else {
		put_open(b, NULL, '{');
		put_text(b, "broken", (struct str){row.p, str_utf8_bad(row)});
		put_close(b, '}');
	}
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
	struct arena *scratch CLEANUP(arena_freep) =
	    arena_new(4 * AUDIT_ROW_MAX);
	struct audit_query q = {0};
	enum audit_category one = AUDIT_COUNT;
	struct page p = {&r->out, scratch, .csv = wants_csv(r)};
	struct audit_at next;
	struct str cursor = {.p = NULL};

	TRY(read_query(r, p.csv, &q, &one, e));
	req_add_header(r, "Vary", "Accept");
	if (p.csv) {
		for (size_t i = 0; i < COUNT_OF(COLUMNS); i++)
			buf_fmt(&r->out, "%s%s", i ? "," : "", COLUMNS[i].name);
		buf_addz(&r->out, "\r\n");
	} else {
		api_list(r);
	}
	TRY(audit_list(db, &q, show_row, &p, &next, e));
	if (next.n)
		cursor = arena_fmt(r->arena, "%lld-%lld", (long long)next.at_us,
		    (long long)next.n);
	if (p.csv) {
		r->content_type = "text/csv; charset=utf-8; header=present";
		if (cursor.p)
			req_add_header(r, "X-Next-Cursor", cursor.p);
	} else {
		api_list_end(r, cursor);
	}
	return OK;
}

struct verify {
	struct audit_walk w;
	struct str hash;
};

const struct member AUDIT_VERIFY_QUERY[] = {
    {"after", MEMBER_INT, offsetof(struct verify, w.n), 0, INT64_MAX},
    {"rows", MEMBER_INT, offsetof(struct verify, w.rows), 0, INT64_MAX},
    {"hash", MEMBER_STRING, offsetof(struct verify, hash), 0, API_CURSOR_MAX,
	.about = "of the answer before this"},
    {.name = NULL},
};

int
api_audit_verify(struct req *r, struct db *db, struct err *e)
{
	struct verify q = {.hash = {.p = NULL}};
	struct audit_walk *w = &q.w;

	TRY(api_query(r, AUDIT_VERIFY_QUERY, &q, e));
	w->begun = q.hash.p != NULL;
	if (w->begun &&
	    (q.hash.n != 2 * (size_t)DIGEST_LEN || !str_unhex(q.hash, w->hash)))
		return err_set(e, ERR_INVALID,
		    "hash must be the one that the answer before this had");
	TRY(audit_walk(db, w, e));
	audit_walk_json(w, &r->out);
	return OK;
}
