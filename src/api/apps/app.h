/*
 * app.h - for apps that sync: their passwords, OPML, and three protocols.
 *
 *   /api/users/me/tokens   app passwords (account/tokens.h)   api/people/me.c
 *   /api/opml              a list of subscriptions, in and out opml.c
 *   /miniflux/v1/…         the Miniflux REST API              miniflux*.c
 *   /reader/api/0/…        the Google Reader API              greader*.c
 *   /fever/?api            Fever, also at /api/fever.php      fever.c
 *
 * The three are spelling around reader/sync.h. They answer as apps expect of
 * the originals, also where the rest of this API would be stricter: parameters
 * that we don't know are left alone, since apps send what newer servers have.
 * Google Reader's routes, and no others, are also at /api/greader.php/…, for
 * apps that know FreshRSS (routes.tbl: ALIAS).
 *
 * Here is what the three share: who asks, which numbers the request has, how a
 * feed is added, how all is marked as read, which files an article has.
 *
 * A FEED is added as POST /api/feeds does: the fetcher looks at the address,
 * finds the feed and its articles, and then a function of the protocol's runs on
 * the commit thread to put it into its place and to answer.
 *
 * ALL READ goes in steps of the commit thread, until one finds none. A hundred
 * thousand articles in one statement hold it for a second, and everybody who
 * publishes waits behind it. A step has READ_STEP of them. Whoever is killed in
 * between has some that are read, and has not been answered.
 */
#pragma once

#include "api/handlers.h"
#include "http/server/query.h"
#include "reader/fetch/fetcher.h"
#include "reader/lists.h"
#include "reader/sync.h"

/* Who asks, as reader/sync.h wants it. */
#define APP_SYNC(r, db) (&(struct sync){db, (r)->who.user, (r)->arena})

/* The param as an id; ERR_ABSENT when it is none. */
int app_id(
    const struct req *r, size_t param, int64_t *ret, struct err *e) MUST_CHECK;
/* Answers these words, as text. */
int app_text(struct req *r, const char *text);

/* A number of the request: where it goes, and what it may be. */
struct app_number {
	const char *name; /* NULL ends a table */
	size_t at;        /* of an int64_t */
	int64_t most;     /* 0: any */
	bool seconds;     /* since 1970, kept as us; 0 leaves what was there */
};
/* Absent ones leave their field as it is. */
int app_numbers(const struct form *f, const struct app_number *table, void *to,
    struct err *e) MUST_CHECK;

/* As Go reads a bool: 1, t, T, TRUE, true, True, and so on for false. Absent
 * leaves *ret. ERR_INVALID */
int app_bool(
    const struct form *f, const char *name, int *ret, struct err *e) MUST_CHECK;

/* A file beside an article: each of the list, which may be NULL. */
struct app_file {
	struct str url, type; /* type empty: it is not known */
	int64_t length;       /* 0: the same */
};
const struct json *app_files(struct arena *a, const struct sync_item *it);
struct app_file app_file(const struct json *x);

/* "data":"image/png;base64,…" */
void app_put_icon(struct buf *b, struct str mime, struct str data);

struct app_feed {
	struct registration reg; /* url before, feed behind it */
	int64_t category;        /* 0: none */
	handler_fn finish;       /* on the commit thread, with it as r->ctx */
	int (*failed)(struct req *r, const struct err *why, struct err *e);
};
/* On the http thread. a->reg.url and finish are set; failed NULL: the error is
 * the answer. With reg.look nothing is added, and finish runs there. */
int app_feed_add(struct req *r, struct app_feed *a, struct err *e) MUST_CHECK;

/* Something is due: the fetcher looks behind this commit. */
void app_due(const struct req *r);

struct app_reading {
	struct list_read what; /* all, until it says less */
	handler_fn find;       /* fills `what`; NULL: it is filled */
	handler_fn finish;     /* answers, on a read thread; NULL: no need */
	const void *ctx;       /* the protocol's own */
	int64_t marked;        /* in all */
	int64_t step;          /* app.c's: the last one's */
	bool begun;
};
/* Both on the http thread; `find` and `finish` have it as r->ctx. */
struct app_reading *app_reading(
    struct req *r, handler_fn find, handler_fn finish);
int app_read_all(
    struct req *r, struct app_reading *a, struct err *e) MUST_CHECK;
