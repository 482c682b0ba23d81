/*
 * req.h - one HTTP request, as the rooms above see it.
 *
 * A route names a handler and where it runs. The server (server.c) reads the
 * request, finds the route, asks who is calling, and calls the handler:
 *
 *   ON_HTTP   on the http thread, at once, with db NULL. It must not block. It
 *             may return REQ_WAIT after arranging that somebody calls
 *             req_wake(); then r->then is called on the http thread.
 *   ON_READ   on a read thread with a read connection.
 *   ON_WRITE  on the commit thread inside a transaction, which is committed
 *             before anything is answered; the handler may run twice, each
 *             time with an empty r->out.
 *   ON_CHECK  as ON_READ, on the one thread that has a jq.
 *
 * A handler answers by writing r->out and r->status and returning OK, or by
 * returning an error, which becomes the one JSON error shape (reply.c).
 *
 * REQ_WAIT from a read or commit thread means: go on with r->then on the http
 * thread, at once. There it may arrange a wake and return REQ_WAIT itself, so
 * nobody can wake a request that a handler is still working on.
 *
 * LIFE. The request and its arena live until the answer was sent or the client
 * went away. While it waits the connection is suspended, so nothing frees it:
 * exactly one req_wake() must follow each REQ_WAIT, also at shutdown. A client
 * that left meanwhile is noticed after the wake, and then r->then is not
 * called; r->done, when set, is called once at the end of every request.
 */
#pragma once

#include "http/method.h"
#include "loop/mailbox.h"
#include "loop/pool.h"

struct conn;
struct db;
struct req;

/*
 * What routes for the same kind of caller have in common. The groups are the
 * program's own; no group is one of which all is NULL and false. It is decided
 * by the route that was found, never by how its path was spelled.
 */
struct http_error; /* reply.h */
struct route_group {
	/* Writes an error and returns its status. NULL: as reply.h has it. */
	int (*error)(struct buf *b, const struct http_error *x);
	const char
	    *schema;      /* how OpenAPI calls what that writes; NULL: Error */
	bool by_browsers; /* which would open a dialogue for a password */
	bool by_apps;     /* whose passwords count here and nowhere else */
};

enum run_on { ON_HTTP, ON_READ, ON_WRITE, ON_CHECK };

#define SCOPE_OPEN 0 /* a route's scope when anybody may call */
#define REQ_WAIT   1 /* what a handler returns besides OK and errors */

typedef int (*handler_fn)(struct req *r, struct db *db, struct err *e);

struct route {
	enum method method;
	const char *path; /* "/v1/events/{eventId}"; a {name} is one segment,
			     a {name...} at the end all that follow */
	unsigned scope;   /* who may call: the program's, for its hooks */
	enum run_on on;
	handler_fn run;
	const char *body;    /* media types it takes, "" for none: 415 */
	const char *summary; /* for OpenAPI and people */
	const struct route_group *group; /* NULL: none */
	unsigned limit;    /* how calls are counted: the program's */
	const char *alias; /* a prefix under which it is found too, or NULL */
	bool pushed; /* open to anybody, with bodies as large as others': what
			a provider sends us, judged by its signature */
};

enum principal_kind { WHO_NOBODY, WHO_USER, WHO_KEY, WHO_LOCAL };

/* Who is calling. LOCAL is the unix socket: the data folder's owner. */
struct principal {
	enum principal_kind kind;
	int64_t id;
	int64_t user; /* the person (account/users.h); 0: a program */
	struct uuid user_uid;
	unsigned scopes;
	char name[64];
	const struct uuid *tenants; /* limited to these; NULL: to none */
	size_t n_tenants;
	struct str tenant_names; /* theirs, with commas: people's words */
	int64_t rate_per_second; /* of a key: for account/limiter.h; 0: none */
	int64_t expires_us;      /* of a key or session: its end; 0: none */
	bool by_cookie; /* known by a cookie alone: http/server/origin.h */
	bool renewed;   /* the session's end was put off by this request */
};

#define REQ_PARAMS_MAX  4
#define REQ_HEADERS_MAX 16
#define REQ_TRACE_MAX   64

struct req {
	const struct route *route;
	struct arena *arena;
	struct str path;
	struct str params[REQ_PARAMS_MAX]; /* decoded, in the path's order */
	const struct str_pair *query;      /* decoded */
	size_t n_query;
	struct str body;
	char trace_id[REQ_TRACE_MAX + 1]; /* X-Request-Id in and out */
	struct principal who;
	char peer[64]; /* the caller's address (peer.h), or "unix" */

	/* the answer */
	struct str errors;        /* beside r->err: all of them, as JSON */
	int status;               /* 200 when the handler leaves it 0 */
	struct buf out;           /* the body; limit set by the server */
	const char *content_type; /* application/json when NULL */
	struct {
		const char *name, *value;
	} headers[REQ_HEADERS_MAX];
	size_t n_headers;

	/* for whoever works on it while it waits */
	void *app;                                 /* server_hooks.arg */
	handler_fn work;                           /* what runs elsewhere */
	int (*then)(struct req *r, struct err *e); /* OK, error or REQ_WAIT */
	int (*next)(struct req *r, struct err *e); /* the app's: api_then() */
	void (*done)(struct req *r); /* once, on the http thread, at the end */
	void *ctx;                   /* the handler's */
	struct pool_job job;         /* ON_READ */
	int rc;                      /* the handler's result */
	struct err err;
	struct conn *conn; /* the server's; NULL in tests without one */
};

/* Empty when absent. Valid as long as the request. */
struct str req_header(const struct req *r, const char *name);
/* Each header, as it came, values trimmed; `each` returns false to end. */
void req_each_header(const struct req *r,
    bool (*each)(void *arg, struct str name, struct str value), void *arg);
bool req_query(const struct req *r, const char *name, struct str *ret);
/* Both are borrowed and must live as long as the request (its arena does). */
/* A name that is there already is replaced; a cookie, when it is the same. */
void req_add_header(struct req *r, const char *name, const char *value);

/* From any thread: the request goes on with r->then on its http thread. */
void req_wake(struct req *r);

/*
 * A handle that outlives its request, for whoever can't know in time that it
 * is over (a tail that learns by mail that a reader left). waker_wake() may be
 * called from any thread at any time, also after the end of the request or of
 * the server: then it does nothing. Wakes before the next sleep count as one.
 */
struct waker;
struct waker *req_waker(struct req *r); /* http thread; waker_free() it */
void waker_wake(struct waker *w);
void waker_free(struct waker *w); /* any thread; NULL is fine */

/*
 * Answers with a stream instead of r->out. `pull` runs on the http thread when
 * the client can take more: it appends to *b and returns STREAM_MORE (it must
 * have appended), STREAM_WAIT (somebody will wake it) or STREAM_END. `done`
 * becomes r->done: it runs once, when the stream is over for whatever reason,
 * and nobody may req_wake() after it; a waker may be used at any time. A wake
 * for no reason is possible (the client left, the server drains), and while
 * the server drains STREAM_WAIT is taken for STREAM_END.
 */
enum stream_next { STREAM_MORE, STREAM_WAIT, STREAM_END };
void req_stream(struct req *r, const char *content_type,
    enum stream_next (*pull)(struct req *r, struct buf *b),
    void (*done)(struct req *r));
