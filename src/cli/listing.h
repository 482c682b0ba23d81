/*
 * listing.h - a list of the API, shown whole: as a table for people, or with
 * --json as one object a line.
 */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/reach.h"
#include "cli/table.h"

struct buf;
struct json;

struct listing {
	const char *path; /* of the API: asked page by page */
	/* Without a server: all of it, JSON objects with commas between. */
	int (*all)(
	    struct db *db, struct arena *a, struct buf *b, struct err *e);
	const char *const *heads;
	size_t columns;
	/* False when there is no memory. */
	bool (*row)(struct table *t, struct arena *a, const struct json *item);
};

/* The whole verb; an exit status. */
int listing_show(struct cli *c, const struct listing *l);
/* Each item of the list, of whoever was reached. `each` returns false when
 * there is no memory. */
int listing_each(struct cli *c, struct reach *x, const struct listing *l,
    bool (*each)(void *arg, const struct json *item), void *arg,
    struct err *e) MUST_CHECK;

/* The lists of accounts and of API keys. */
extern const struct listing LISTING_USERS, LISTING_KEYS;

/* A text member of an object, or empty. */
struct str listing_text(const struct json *item, const char *name);

#endif
