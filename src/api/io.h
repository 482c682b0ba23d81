/*
 * io.h - what a handler reads, by tables, and how it answers with a list.
 *
 * A handler tells the members of its body and the parameters of its query by
 * tables of contract/member.h, whose rows also describe them to whoever reads
 * about the API; nothing else of a handler looks at JSON or at the query.
 *
 *   static const struct member BODY[] = {
 *       {"name", MEMBER_TEXT, offsetof(struct it, name), 1, 100, .must = true},
 *       {.name = NULL},
 *   };
 *
 * PAGES. A list takes `limit` and `after` (API_PAGE) and answers
 * {"data":[…],"next":cursor or null}: api_list(), the items by put.h with NULL
 * for their name, api_list_end().
 */
#pragma once

#include "contract/member.h"
#include "http/server/limits.h"
#include "http/server/req.h"

/*
 * The body is an object with these members and no others. Absent ones leave
 * their field as it is; null brings that of `initial`, or with NULL is the same
 * as absent. Texts are the request's arena's; JSON and OBJECT are the document.
 */
int api_body(struct req *r, const struct member *table, const void *initial,
    void *ret, struct err *e) MUST_CHECK;
/* The same; no body at all is an object without members. */
int api_body_maybe(struct req *r, const struct member *table,
    const void *initial, void *ret, struct err *e) MUST_CHECK;

/* The headers of the request, in `a`; their bytes are the request's. */
struct str_pair *api_headers(
    const struct req *r, struct arena *a, size_t *ret_n);

/*
 * The query has these parameters and no others, none twice. Absent ones leave
 * their field as it is, numbers apart, which become the row's `absent`.
 */
int api_query(struct req *r, const struct member *table, void *ret,
    struct err *e) MUST_CHECK;
/* It has none at all. */
int api_query_none(struct req *r, struct err *e) MUST_CHECK;

struct api_page {
	int64_t limit;
	struct str after; /* .p NULL: from the beginning */
};
/* Rows of a query whose struct has a `struct api_page page`. */
#define API_PAGE(type) API_PAGE_AT(offsetof(type, page))
#define API_PAGE_AT(at)                                                        \
	{"limit", MEMBER_INT, (at) + offsetof(struct api_page, limit), 1,      \
	    PAGE_MAX, .absent = PAGE_DEFAULT, .about = "how many at most"},    \
	{                                                                      \
		"after", MEMBER_STRING,                                        \
		    (at) + offsetof(struct api_page, after), 0,                \
		    API_CURSOR_MAX, .about = "the next of the page before"     \
	}
#define API_CURSOR_MAX 1024
extern const struct member API_NONE[];      /* no members at all */
extern const struct member API_PAGE_ONLY[]; /* of a struct api_page */
int api_no_cursor(struct err *e);           /* `after` is none of ours */

/*
 * A list of which the caller may not see every row: rows are read in batches of
 * limit + 1, until the page is full or PAGE_SCAN of them were looked at.
 *
 *   TRY(api_scan(r, QUERY, &q, &q.scan, e));
 *   while (api_scan_on(&q.scan))
 *       for each row of the next batch, as long as api_scan_row(&q.scan, r)
 *           is it to be shown? q.scan.shown++
 *   api_list_end_uuid(r, api_scan_more(&q.scan), id of the last row);
 */
struct api_scan {
	struct api_page page; /* the query's */
	int64_t shown, looked, batch;
	bool full;
};
/* api_query() and api_list(). */
int api_scan(struct req *r, const struct member *table, void *query,
    struct api_scan *ret, struct err *e) MUST_CHECK;
bool api_scan_on(struct api_scan *s);
bool api_scan_row(struct api_scan *s, const struct req *r);
bool api_scan_more(const struct api_scan *s);

void api_list(struct req *r);
/* .p NULL: it was the last page. */
void api_list_end(struct req *r, struct str next);
void api_list_end_uuid(struct req *r, bool more, struct uuid last);
