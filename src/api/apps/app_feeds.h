/*
 * app_feeds.h - a feed that an app adds, whatever protocol it speaks.
 *
 * As POST /api/feeds does: the fetcher looks at the address, finds the feed and
 * its articles, and then a function of the protocol's runs on the commit thread
 * to put it into its place and to answer.
 */
#ifndef API_APPS_APP_FEEDS_H
#define API_APPS_APP_FEEDS_H

#include "http/server/req.h"
#include "reader/fetch/fetcher.h"

struct app_feed {
	struct registration reg; /* url before, feed behind it */
	struct req *r;
	int64_t category;  /* 0: none */
	handler_fn finish; /* with r->ctx the struct app_feed */
};

/* On the http thread. a->reg.url, category and finish are set. */
int app_feed_add(struct req *r, struct app_feed *a, struct err *e) MUST_CHECK;

/* api_write(), and then the fetcher looks what is due. */
int app_write_due(struct req *r, handler_fn fn, struct err *e) MUST_CHECK;

#endif
