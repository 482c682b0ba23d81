/*
 * conn.h - a connection and the request on it; private to src/http.
 *
 * A connection serves one request after the other, so it keeps one struct req
 * and its arena, and a small request allocates nothing on our side.
 *
 *           at_head()       at_who()        body is complete
 *   AT_HEAD ────────▶ AT_WHO ───────▶ AT_BODY ─────────────▶ AT_RUN
 *                      ▲  │ hook waits                         │ step()
 *                      └──┘                                    ▼
 *   AT_ANSWER ◀── reply_…() ── AT_THEN ◀── REQ_WAIT ── AT_WORK or ON_HTTP
 *                               ▲   │ r->then waits
 *                               └───┘
 *
 * LIFE. Made and freed by libmicrohttpd's notice of a connection's start and
 * end, on its http thread. The door thread looks at a few atomic members under
 * the door's lock (door.h); all else belongs to the http thread, or while the
 * request sleeps to whoever will wake it.
 */
#pragma once

#include <microhttpd.h>
#include <stdatomic.h>

#include "http/nets.h"
#include "http/server/door.h"
#include "http/server/req.h"
#include "http/server/server.h"
#include "http/server/share.h"
#include "http/server/wire.h"

#define BUSY_RETRY_S 1 /* Retry-After when nobody said how long */

enum stage { AT_HEAD, AT_WHO, AT_BODY, AT_RUN, AT_WORK, AT_THEN, AT_ANSWER };

struct router;

struct server {
	struct server_opts o; /* the routes outlive it, the words do not */
	struct router *router;
	struct door *door;
	struct MHD_Daemon *plain, *tls; /* either may be NULL */
	struct share bodies;            /* bytes, by caller */
	atomic_size_t body_bytes;       /* of all bodies: BODY_TOTAL_MAX */
	atomic_size_t stranger_bytes;   /* of them, of those not known */
	atomic_int busy;                /* requests not yet answered */
	atomic_int waking;              /* threads inside waker_wake() */
	atomic_bool draining, stopping;
	char start_text[256]; /* what libmicrohttpd said while it started */
	atomic_bool started;
};

/* What is seen in the headers of every request, in one pass; .p NULL: absent. */
struct intake {
	struct str content_type, content_length, transfer_encoding;
	struct str accept_encoding, expect, trace_id;
};

struct stream {
	enum stream_next (*pull)(struct req *r, struct buf *b);
	struct buf b;
	size_t at; /* sent up to here */
	enum stream_next next;
	bool watched; /* the door looks whether the client is there */
};

struct conn {
	struct req r;
	struct server *s;
	struct MHD_Connection *mc;
	struct waker *waker;
	struct ip hop; /* the other end; .n 0: the unix socket */
	enum stage stage;
	struct intake in;
	bool broken;           /* its bytes are not seen: no request */
	bool counted;          /* in s->busy */
	bool linger;           /* answered before the body was read */
	bool bad_frame;        /* where the body ends is anybody's guess */
	bool paused, to_sleep; /* see doze() in conn_request.c */

	/* An answer that is known before the handler runs; 0: none. It waits
	 * for the end of the body, which is dropped. r.err says why. */
	int early_status;
	const char *early_code; /* NULL: as r.err has it */
	char retry_after[16];   /* "": none */

	struct str raw_query;
	size_t body_known; /* Content-Length, 0 when there is none */
	size_t body_max;   /* of this route */
	bool chunked;
	size_t reserved; /* of s->body_bytes, */
	unsigned slot;   /* by this caller, */
	bool stranger;   /* who is not known */
	struct buf body; /* as far as it came */
	struct buf zip;

	int sent_status; /* 0: no answer yet */
	int64_t start_us;
	struct stream stream;
	struct door_entry door; /* what the door thread sees */
	struct wire wire;
	unsigned nth; /* of the connection's requests, from 1 */
};

/* conn.c */
void conn_notice(void *server, struct MHD_Connection *mc, void **ctx,
    enum MHD_ConnectionNotificationCode code);
void *conn_begin(void *server, const char *uri, struct MHD_Connection *mc);
void conn_complete(void *server, struct MHD_Connection *mc, void **ctx,
    enum MHD_RequestTerminationCode code);
/* r.peer of this request: the hop's, or whom a trusted proxy tells. */
void conn_peer(struct conn *c);
bool conn_stopping(const struct conn *c);
void conn_uncount(struct conn *c); /* it is answered */
/* Settles the answer before the handler runs; r.err is set. */
void conn_early(struct conn *c, int status, const char *code);

/* req_wake.c */
struct waker *waker_new(struct conn *c);
void waker_over(struct waker *w); /* wakes do nothing from now on */
/*
 * Suspends the connection; false when the wake had come before. On true the
 * caller returns to libmicrohttpd at once.
 */
bool waker_sleep(struct waker *w);

/* conn_request.c */
enum MHD_Result conn_request(void *server, struct MHD_Connection *mc,
    const char *url, const char *method, const char *version,
    const char *upload, size_t *upload_n, void **ctx);

/* conn_body.c */
/* Room for the body that was announced. */
void body_begin(struct conn *c);
/* Takes the next bytes; a body over a bound is dropped and refused. */
void body_add(struct conn *c, struct str bytes);
void body_release(struct conn *c);

/* reply.c */
enum MHD_Result reply_out(struct conn *c);
enum MHD_Result reply_error(struct conn *c);
enum MHD_Result reply_early(struct conn *c);

/* req_stream.c */
struct MHD_Response *stream_response(struct conn *c);
void stream_end(struct conn *c);
