/*
 * server.h - libmicrohttpd behind the words of req.h.
 *
 * n epoll threads read requests and never block; who may call what stands in
 * the route table; where a handler runs is arranged by the hooks, so that this
 * room knows neither store nor accounts.
 *
 * WHO DOES WHAT. The door thread accepts and hands connections to the http
 * threads of libmicrohttpd; it also looks at all of them a few times a second
 * and cuts those whose request is not complete in time (door.h). Everything
 * else of a connection happens on its one http thread (conn_request.c).
 *
 * LIFE. server_start() → requests → server_drain() (no new connections; what
 * was accepted is answered; waiting streams and long polls end) → server_stop().
 * server_stop() waits for requests that sleep: whoever owes them a req_wake()
 * must still be running, or have paid.
 *
 * INVARIANTS
 *   1. A request that was handed to a handler is answered, unless its client
 *      left first.
 *   2. No more than BODY_TOTAL_MAX bytes of request bodies are held at once,
 *      counted as they come, and no caller keeps others from theirs (conn_body.c).
 *   3. A request is complete within request_timeout_s of its first byte, or
 *      its connection is closed, however fast the bytes drip.
 */
#pragma once

#include "http/server/req.h"

struct listening;
struct nets;
struct server;

struct server_hooks {
	void *arg;
	/* When the headers are there, before anything is judged; may add
	 * headers, which errors have too. NULL: nothing. */
	void (*begin)(void *arg, struct req *r);
	/*
	 * Says who calls, from the headers, before the body is read, and
	 * whether he may (r->route->scope). OK with r->who set; ERR_UNKNOWN
	 * (401), ERR_DENIED (403), ERR_BUSY (429), other errors; or REQ_WAIT:
	 * it is called again after req_wake(r).
	 */
	int (*who)(void *arg, struct req *r, struct err *e);
	/* The same for a route that is open to anybody, where nobody is asked
	 * who he is: OK or an error. NULL: nothing. */
	int (*open)(void *arg, struct req *r, struct err *e);
	/* The same for a path or a method that no route has: r->route is NULL.
	 * OK has it answered with 404 or 405. NULL: nothing. */
	int (*stray)(void *arg, struct req *r, struct err *e);
	/* Hands r to the thread of r->route->on, which runs r->route->run,
	 * sets r->rc and r->err and calls req_wake. False: too busy, 503. */
	bool (*work)(void *arg, struct req *r);
	/* After each answer, on the http thread: for metrics and log. */
	void (*answered)(
	    void *arg, const struct req *r, int status, int64_t took_us);
	/* True once the program wants to end: streams and polls wrap up. */
	bool (*stopping)(void *arg);
};

struct server_opts {
	const char *listen; /* HOST:PORT, [::1]:PORT, :PORT; NULL: none */
	const struct listening *sockets; /* instead: listen.h; they are its
					    own from the start on */
	const char *unix_path; /* socket in the data folder; NULL: none */
	int threads;
	size_t body_max;       /* bytes: 413 past it */
	int idle_timeout_s;    /* between requests */
	int request_timeout_s; /* from the first byte to the last of a request */
	int connections_max;
	const struct nets *trusted;     /* proxies: peer.h; NULL: none */
	const char *tls_cert, *tls_key; /* PEM files; both or none */
	const struct route *routes;
	size_t n_routes;
	struct server_hooks hooks;
};

int server_start(
    const struct server_opts *o, struct server **ret, struct err *e) MUST_CHECK;
int server_port(const struct server *s); /* the real one when 0 was asked */
/* True when all was answered within timeout_ms. */
bool server_drain(struct server *s, int timeout_ms);
void server_stop(struct server *s); /* NULL is fine */
