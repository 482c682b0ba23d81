/*
 * wire.h - the bytes of a request, before libmicrohttpd reads them.
 *
 * WHY. libmicrohttpd takes what RFC 9112 forbids (a bare LF as an end of line, a
 * blank before the colon, a NUL in a value, folded lines, anything in a chunk's
 * line), and closes without a word when its memory is used up or a coding has a
 * blank behind it. What two readers understand differently is how a request is
 * smuggled past a proxy. So each byte that came is looked at first, by a small
 * automaton that takes the grammar of RFC 9112 and nothing else:
 *
 *   START ▶ METHOD ▶ TARGET ▶ VERSION ▶ LINE_LF ▶ LINE ─────────▶ HEAD_LF
 *     ▲                                           ▲ ▼                  │
 *     │                                 VALUE_LF ◀ VALUE ◀ NAME        ▼
 *     ├── BODY ◀──────────────────────────────────────────── by its framing
 *     │                                                                ▼
 *     └── HEAD_LF ◀ LINE… (trailers) ◀ SIZE_LF ◀ EXTENSION ◀──────── SIZE
 *                                         ▼                            ▲
 *                                        DATA ▶ DATA_CR ▶ DATA_LF ─────┘
 *
 * THE TAIL. At the first byte that is wrong the automaton is STOPPED: nothing
 * behind it is ever read. libmicrohttpd is given a few bytes instead that end
 * the head or the body in a well-formed way, so that the request gets to
 * conn_request.c, which asks wire_bad() and answers like any other error.
 *
 * What libmicrohttpd need not see it does not get: blanks behind a coding, empty
 * lines between requests, extensions of chunks, trailers. A chunk's size is
 * given to it when its line is complete and right.
 *
 * COST. A head takes memory of the connection's pool: its bytes, and an entry of
 * each header, parameter and cookie. They are counted here, so that the answer
 * is 414 or 431, and the pool is never used up.
 *
 * LIFE. A member of a connection, on its http thread alone. wire_tap.c puts it
 * between libmicrohttpd and the socket.
 */
#pragma once

#include "base/base.h"

enum wire_state {
	WIRE_START,
	WIRE_START_LF,
	WIRE_METHOD,
	WIRE_TARGET,
	WIRE_VERSION,
	WIRE_LINE_LF,
	WIRE_LINE,
	WIRE_NAME,
	WIRE_VALUE,
	WIRE_VALUE_LF,
	WIRE_HEAD_LF,
	WIRE_BODY,
	WIRE_SIZE,
	WIRE_EXTENSION,
	WIRE_SIZE_LF,
	WIRE_DATA,
	WIRE_DATA_CR,
	WIRE_DATA_LF,
	WIRE_STOPPED
};

#define WIRE_NAME_MAX 20 /* as long as any name that is looked for */
#define WIRE_GIVE_MAX 48

struct wire {
	enum wire_state state;
	enum { FIELD_OTHER, FIELD_LENGTH, FIELD_CODING, FIELD_COOKIE } field;
	unsigned requests; /* begun so far */
	unsigned serving;  /* the one that is being answered; 0: none */
	unsigned minor;    /* HTTP/1.minor */
	size_t n;          /* bytes of the word that is read */
	size_t cost;       /* of this head, of the connection's memory */
	uint64_t left;     /* of a body or chunk */
	int lengths, codings, hosts;
	bool ended;   /* the value that is read: only blanks may follow */
	bool trailer; /* it reads what follows the last chunk */
	bool tls;     /* the bytes are those inside of TLS */
	char name[WIRE_NAME_MAX];

	/* What libmicrohttpd gets before anything else. */
	char give[WIRE_GIVE_MAX];
	size_t give_n, give_at;

	/* What was wrong, in request number bad_at; NULL: nothing. */
	const char *bad;
	int bad_status;
	unsigned bad_at;
};

/*
 * Looks at the next n bytes and returns how many of them stay, moved together
 * at p. A chunk's line that is held back (wire_holds) comes byte by byte.
 */
size_t wire_take(struct wire *w, char *p, size_t n);
bool wire_holds(const struct wire *w);
/* All of the request that is being answered came: that the client sends no more
 * is its right, and libmicrohttpd, which would hang up, need not know yet. */
bool wire_hides_end(const struct wire *w);
/* Up to `room` bytes that libmicrohttpd gets now. */
size_t wire_give(struct wire *w, char *p, size_t room);

/* Why request number `nth` (from 1) is refused, and its status; NULL: it is not. */
const char *wire_bad(const struct wire *w, unsigned nth, int *ret_status);

/* wire_tap.c: from now on the bytes of this socket go through w; NULL ends it.
 * False when the number is too large to be kept. */
bool wire_tap(int fd, struct wire *w);
