/*
 * listing.h - a list of the API, shown whole: as a table for people, or with
 * --json as one object a line.
 */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/cli.h"
#include "cli/table.h"

struct buf;
struct db;
struct json;

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
/* Each item of the list. */
int listing_each(struct cli *c, const struct listing *l,
    void (*each)(void *arg, const struct json *item), void *arg,
    struct err *e) MUST_CHECK;

/* The lists of accounts and of API keys. */
extern const struct listing LISTING_USERS, LISTING_KEYS;

/* A member of an object: a text, or empty; a number, or 0. */
struct str listing_text(const struct json *item, const char *name);
int64_t listing_int(const struct json *item, const char *name);

#endif
