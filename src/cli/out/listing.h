/*
 * listing.h - a list of the API, page by page: as a table for people, or with
 * --json as one object a line; --limit says how much of it.
 *
 * Columns are as wide as their widest cell, so that they line up; of a list of
 * several pages each page as wide as those before it. A cell is what the
 * column's pointer leads to, as show.h shows it.
 */
#pragma once

#include "cli/cli.h"

struct db;

#define LISTING_COLUMNS_MAX 12

struct column {
	const char *head; /* NULL ends */
	const char *at;   /* JSON pointer: "/lag/events"; a|b: or that */
	struct str (*cell)(const struct json *item); /* instead */
};

struct listing {
	const char *path; /* of the API, with a query if need be */
	/* Without a server: all of it, JSON objects with commas between. NULL:
	 * a server must run. */
	int (*all)(
	    struct db *db, struct arena *a, struct buf *b, struct err *e);
	const struct column *columns;
};

/* The whole verb. */
int listing_show(
    struct cli *c, const struct listing *l, struct err *e) MUST_CHECK;
/* Its first item, or NULL; each has the next in `next`. */
int listing_read(struct cli *c, const struct listing *l, struct json **ret,
    struct err *e) MUST_CHECK;

/* Items as a table. */
void listing_print(
    struct cli *c, const struct column *columns, const struct json *first);

/* The lists of accounts and of API keys. */
extern const struct listing LISTING_USERS, LISTING_KEYS;
