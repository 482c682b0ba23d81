/*
 * listing.h - a list of the API, shown whole: as a table for people, or with
 * --json as one object a line.
 *
 * Columns are as wide as their widest cell, in characters. A cell is what the
 * column's pointer leads to: a text, a number, yes or no, the words of an array
 * with commas between; "-" when there is nothing.
 */
#pragma once

#include "cli/cli.h"

struct db;

#define LISTING_COLUMNS_MAX 10

struct column {
	const char *head; /* NULL ends */
	const char *at;   /* JSON pointer: "/lag/events" */
	struct str (*cell)(const struct json *item); /* instead */
};

struct listing {
	const char *path; /* of the API: asked page by page */
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
