/*
 * client.h - HTTP to others: many requests at once, from one thread.
 *
 * All that this program asks of other servers goes through here and so through
 * the guard. A send walks:
 *
 *   client_start   the URL is parsed and judged (guard.h); headers are checked
 *   resolve        the name becomes addresses, each of which is judged
 *   pin            libcurl gets exactly these addresses, never the name alone
 *   connect        the address of the socket is judged once more, as the last
 *                  line of defence, whatever libcurl made of the URL
 *   answer         status, some head, some body
 *   done()
 *
 * Connections are kept and shared by all sends to the same host, port and
 * scheme; over TLS HTTP/2 is used where it is offered. Redirects are answers
 * (follow.h follows them), cookies are dropped, ~/.netrc and proxy variables
 * are not read. Certificates are always checked. Nothing is decompressed, but
 * for sends with `decode`: those offer gzip and br, libcurl hands over what it
 * unpacked piece by piece, and keep_max and body_max count that. An answer
 * that unpacks to more is cut there, however small it came.
 *
 * A PROXY is the operator's: it may be anywhere, and its own address is not
 * judged. Never take it from whoever names the URL. Through it we ask for the
 * address that was judged, by CONNECT, for http too, so that the proxy does no
 * second look-up; with proxy_resolves it is asked for the name, and then only
 * the host lists and the addresses that stand in a URL are judged here.
 *
 * LOOKING. client_look() judges a URL as far as the resolver knows its name,
 * and calls nobody: for who saves one. A send judges it again.
 *
 * WHY EPOLL. Told to epoll, a turn costs what it has to do, however many
 * receivers hang. Measured by tests/bench/client.c, in CPU time a request
 * over kept connections: 20 us either way with 16 or 64 in flight; beside 500
 * that hang 22 us, against 40 with curl_multi_poll(). A name that must be
 * resolved and pinned adds 2 us.
 *
 * LIFE. A client belongs to one thread; client_wake() alone may be called by
 * others. A send and all that it borrows belong to the client from
 * client_start() until done(), which is called exactly once, from
 * client_wait() or client_free(), never from client_start() or
 * client_cancel(). Inside done() the same send may be started again, and
 * others started or cancelled. The answer is gone when done() returns.
 *
 * INVARIANTS
 *   1. No socket is connected to an address that the guard did not pass for
 *      the same use and scheme, but for proxies.
 *   2. A send ends within total_ms of its start.
 *   3. Of an answer at most CLIENT_HEAD_MAX and body_max bytes are read, and
 *      head_max and keep_max bytes kept. With `decode` a body counts as it is
 *      unpacked, in pieces of 16 KiB.
 */
#pragma once

#include "http/client/guard.h"
#include "http/client/resolve.h"
#include "http/method.h"
#include "loop/mailbox.h"

struct client;
struct client_answer;
struct client_xfer;
struct conf;

struct client_header {
	struct str name, value;
};

struct client_send {
	enum method method;
	struct str url;
	/* Goes behind the URL's own query, encoded already: for a long list,
	 * which the bound of a URL (URL_MAX) has no room for. */
	struct str query;
	/* Not Host, Content-Length or another that frames the message. */
	const struct client_header *headers;
	size_t n_headers;
	struct str body;
	enum guard_use use;
	int connect_ms, total_ms;
	size_t keep_max; /* bytes of the answer's body to keep */
	size_t head_max; /* of its head to keep; 0: CLIENT_HEAD_KEEP */
	bool decode;     /* take gzip and br; the answer's body is unpacked */
	/* Over a connection of its own. When a kept one turns out to be closed
	 * libcurl sends again by itself, at once and up to five times. */
	bool fresh;
	const char *user_agent; /* NULL: none */
	const char *proxy;      /* "http://host:port", NULL: none */
	/* PEM texts. The authorities, when given, replace the system's. */
	const char *tls_cert_pem, *tls_key_pem, *tls_ca_pem;
	void (*done)(struct client_send *s, const struct client_answer *a);

	/* the client's own */
	struct client_xfer *xfer;
};

enum client_result {
	CLIENT_ANSWERED,  /* a whole answer, or one whose body was cut */
	CLIENT_TIMEOUT,   /* to connect, or in all */
	CLIENT_DNS,       /* the name has no address, or not in time */
	CLIENT_CONNECT,   /* nobody takes the connection */
	CLIENT_TLS,       /* handshake or certificate */
	CLIENT_REFUSED,   /* by us: the guard, or what the send asks for */
	CLIENT_BROKEN,    /* no HTTP, or closed early */
	CLIENT_TOO_LARGE, /* the answer's head is past CLIENT_HEAD_MAX */
	CLIENT_CANCELLED,
};

struct client_answer {
	enum client_result result;
	int status;      /* 0 when no status line came; may be set with any */
	struct str head; /* status line and headers, the first of them */
	struct str body; /* what was kept */
	bool body_cut;   /* there was more */
	int64_t retry_after_ms; /* -1: the answer has no Retry-After */
	int64_t took_us;        /* since client_start() */
	int64_t wire_bytes;     /* of the body, as it came */
	const char *error;      /* for people; "" when answered */
};

struct client_opts {
	const struct guard *guard; /* outlives the client */
	int64_t dns_timeout_ms;
	long connections_max, connections_each; /* in all, and to one host */
	size_t body_max; /* of an answer's body read; then it is cut off */
	bool proxy_resolves;
	const char *dns_servers; /* "127.0.0.1:53,…"; NULL: the system's */
	const char *ca_file;     /* PEM; NULL: the system's. Outlives it */
};

/* What all clients take from the settings; the bounds are each caller's own. */
struct client_opts client_opts_of(const struct conf *c, const struct guard *g);
int client_new(
    const struct client_opts *o, struct client **ret, struct err *e) MUST_CHECK;
/* What still runs ends as CLIENT_CANCELLED; nothing may be started by that. */
void client_free(struct client *c); /* NULL is fine */

void client_start(struct client *c, struct client_send *s);
/* Only for a send that was started and is not done. */
void client_cancel(struct client *c, struct client_send *s);
/*
 * Runs what there is to run for at most timeout_ms (-1: until something ends
 * or client_wake()), calls the done()s, and returns how many.
 */
int client_wait(struct client *c, int timeout_ms);
void client_wake(struct client *c);
size_t client_running(const struct client *c); /* started and not done */

struct client_look {
	struct str url;
	enum guard_use use;
	const char *proxy; /* that the sends will go through; NULL: none */
	/* NULL: it may be called; or nobody can tell, since the name has no
	 * address now, or none that came within the time-out. ERR_AWAY: the
	 * client ends. */
	void (*done)(struct client_look *l, const struct err *e);
	void *arg;

	/* the client's own */
	struct client *client;
	struct url at;
	struct resolve_ask ask;
	struct link in_list;
};
/* The look is the client's until done(), which may run before this returns. */
void client_look(struct client *c, struct client_look *l);

/*
 * The value of Retry-After: seconds, or an HTTP date, which is compared with
 * now_us. -1 when it is neither. At most CLIENT_RETRY_MAX_S.
 */
int64_t client_retry_after_ms(struct str value, int64_t now_us);
