/*
 * api.h - the whole of the program as a handler sees it.
 *
 * routes.tbl is the API on one screen; each resource has a file. struct api is
 * built once by `hikyaku serve`, reaches a handler as r->app, and never
 * changes while requests are served.
 *
 * A handler that runs on the http thread goes elsewhere by api_read(),
 * api_write(), api_append() or api_ask(): the request waits, the work is done
 * there, and r->then goes on with its result in r->rc and r->err. Without one
 * that is the answer; api_then() is for a next step that wants a success. What
 * runs by api_read() and api_write() begins with an empty r->out. A handler may
 * give itself to them: on the http thread it has no db.
 */
#pragma once

#include <stdatomic.h>

#include "account/session.h"
#include "deliver/engine/delivery_id.h"
#include "http/server/origin.h"
#include "http/server/server.h"
#include "http/server/share.h"

struct alerts;
struct append;
struct append_job;
struct auth;
struct backup;
struct caller;
struct checker;
struct conf;
struct deliver;
struct deliver_ask;
struct envelope_opts;
struct event_defaults;
struct errands;
struct fetcher;
struct guard;
struct keyring;
struct limiter;
struct mask;
struct oidc;
struct pool;
struct resealer;
struct store;
struct tail;
struct types_live;

struct api {
	const struct conf *conf;
	struct store *store;
	struct append *append;
	struct tail *tail;
	struct pool *read;
	struct pool *check;      /* one thread: sub.h */
	struct checker *checker; /* that thread's, which sets it at its start */
	struct pool *hooks;      /* one thread: sources.h */
	struct auth *auth;
	struct oidc *oidc;        /* NULL: no login provider is set */
	struct caller *caller;    /* NULL in some tests */
	struct limiter *limiter;  /* keys, by the second */
	struct limiter *people;   /* by the minute; */
	struct limiter *networks; /* those of nobody we know */
	const struct mask *mask;
	struct keyring *keyring;   /* seals secrets */
	struct resealer *resealer; /* after a rotation */
	struct alerts *alerts;     /* NULL: nobody looks */
	struct backup *backup;     /* copies the store */
	bool held;                 /* ops/restored.h: nothing is delivered */
	struct deliver *deliver;   /* NULL: this server does not deliver */
	struct errands *errands;   /* NULL: no other node has the store */
	struct fetcher *fetcher;   /* adds feeds; NULL in some tests */
	const char *fault;         /* for tests: doc/caged.h; or NULL */
	const struct guard *guard;
	struct delivery_id_key id_key;
	struct session_key session; /* of cookies */
	struct origins origins;     /* whose pages may use them */
	bool secure;                /* cookies go over TLS only */
	bool strict;                /* event.schema.mode */
	bool exact;                 /* event.envelope */
	struct types_live *types;   /* of the store; NULL in some tests */
	const char *instance;       /* of this node, in producers */
	_Atomic bool stopping;
	_Atomic int streams;    /* and long polls */
	struct share followers; /* the same by caller, and by network */
	struct share tries;     /* test sends, by caller */
};

/* How calls of a route are counted: a column of routes.tbl. */
enum api_limit {
	LIMIT_NONE,   /* not at all */
	LIMIT_KEY,    /* by the key's own rate; people are not counted */
	LIMIT_EVENTS, /* the same, in events, by the handler that reads them */
	LIMIT_PERSON, /* a key as above; by person or network and minute */
	LIMIT_FEED,   /* the same, and feeds that one person adds */
};

/*
 * For handlers that learn from the body who it is, or how many feeds are added:
 * counts the call, or so many feeds, of r->who. ERR_BUSY past the limit.
 */
int api_count_call(struct req *r, struct err *e) MUST_CHECK;
int api_count_feeds(struct req *r, int64_t n, struct err *e) MUST_CHECK;

/* Whom routes are for: how their errors look, and which passwords count there.
 * Routes for programs are in no group. */
extern const struct route_group FOR_TASKS;    /* its words for our own faults */
extern const struct route_group FOR_PEOPLE;   /* browsers: people/person.h */
extern const struct route_group FOR_MINIFLUX; /* apps; errors as Miniflux' */
extern const struct route_group FOR_APPS;     /* apps of other protocols */
extern const struct route_group FOR_BOTH;     /* browsers, and apps */

extern const struct route API_ROUTES[];
extern const size_t API_ROUTE_COUNT;

struct server_hooks api_hooks(struct api *api);

/* The read pool's threads have a read connection each, as their context. */
void *api_reader_enter(void *store);
void api_reader_leave(void *db);

/* REQ_WAIT, or ERR_AWAY when too much waits already. */
int api_read(struct req *r, handler_fn fn, struct err *e) MUST_CHECK;
int api_write(struct req *r, handler_fn fn, struct err *e) MUST_CHECK;
/* A job of the caller's making; its ctx and done are set here: fn gets r. */
int api_append(struct req *r, struct append_job *job, struct err *e) MUST_CHECK;
/* The engine, as soon as it knows all that was committed; another node's when it
 * is that which delivers (hand.h). */
int api_ask(struct req *r, struct deliver_ask *q, struct err *e) MUST_CHECK;
/* From a handler with a db, before: what other nodes have committed counts too. */
int api_behind(const struct req *r, struct db *db, struct deliver_ask *q,
    struct err *e) MUST_CHECK;
/* The same; `then` goes on also when it failed, or nobody could be asked. */
int api_ask_anyway(struct req *r, struct deliver_ask *q,
    int (*then)(struct req *r, struct err *e), struct err *e) MUST_CHECK;
int api_too_busy(struct err *e); /* says so, and when to come again */
/* The default r->then: what the other thread said is the answer. */
int api_said(struct req *r, struct err *e);
/* Goes on with `next` after a success; a failure is the answer. */
void api_then(struct req *r, int (*next)(struct req *r, struct err *e));
/* The same from a read or commit thread that had one: REQ_WAIT. */
int api_next(struct req *r, int (*next)(struct req *r, struct err *e));
/* From any thread: that was the result, and the request goes on. */
void api_wake(struct req *r, const struct err *result);

/* What was written goes; the answer is the object that is opened here. */
struct buf *api_object(struct req *r);
int api_gone(struct req *r); /* … or nothing: 204 */

/* 403: the cookie came, but not from a page of ours (http/server/origin.h). */
int api_cross_origin(struct err *e);

/* Who is calling, as rows tell it: "user:anna", "key:shop", "local". */
struct str api_actor(const struct req *r);

/* How what somebody publishes is read; the defaults are the caller's. */
struct envelope_opts api_envelope(const struct api *api, int64_t now_us,
    const struct event_defaults *defaults);
/* What an event of this caller has that does not say it: its key's tenant, and
 * `service` (empty: its name). The request's arena's. */
struct event_defaults api_defaults(
    const struct req *r, struct arena *a, struct str service);

/* True when the caller may see and touch this tenant. */
bool api_tenant_ok(const struct principal *who, struct uuid tenant);

/* Followers hold a connection each: ERR_BUSY past HTTP_STREAMS_MAX, and past
 * the share of a caller and of a network. Who was counted is uncounted at the
 * end of the request. */
int api_count_stream(struct req *r, struct err *e) MUST_CHECK;
void api_uncount_stream(struct req *r);
