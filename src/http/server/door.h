/*
 * door.h - the thread that lets connections in, and shows the slow ones out.
 *
 * It accepts on all listening sockets and hands each connection to
 * libmicrohttpd. Doing this ourselves is what makes a clean drain possible:
 * the last accept and the close of the socket happen on one thread.
 *
 * WHY A SWEEP. libmicrohttpd's timeout is idle time: a client that sends a byte
 * a second is never idle. So a few times a second each connection is looked at:
 *
 *   IDLE     no request line yet. Bytes that came since the last answer (the
 *            kernel counts them) mean that a request has begun.
 *   READING  the request is not complete; its deadline runs from its begin.
 *   BUSY     it is ours now, nobody is cut. When it is a stream that waits, a
 *            client that left is noticed and the stream woken, so that it ends.
 *   SENDING  the answer is on its way, at the speed of its reader. Whoever is
 *            not known has as long for it as for a request.
 *
 *   CUT      past its deadline. The socket is shut down and libmicrohttpd
 *            closes it. The phase changes by compare-and-swap only, so that no
 *            handler ever runs for a client that is being cut, and no client
 *            is cut whose handler runs.
 *
 * SHARES (limits.h). A connection is its network's, until a request on it has
 * said who calls: then it is that key's or person's for good. The strangers can
 * have three quarters of all connections, one network of them a half; a proxy's
 * network (http.trusted.proxies) and the unix socket are exempt. Nobody is turned
 * away at the door for that, since who knocks has said nothing yet: the oldest
 * that are not BUSY are cut, of the network that has the most. When nearly all
 * connections are taken the same is done to strangers, and when there are none
 * to those who are known.
 *
 * A socket is only closed after its entry left the list, which takes the lock
 * that the sweep holds: a number that is used again is never shut down by
 * mistake. This is one of the few mutexes; it is taken when a connection or a
 * stream begins or ends, not per request.
 *
 * LINGER. Who is refused in the middle of an upload must be able to read why.
 * Closing with unread bytes makes TCP throw our answer away, so the door keeps
 * a duplicate of the socket and reads on for a moment.
 */
#pragma once

#include <stdatomic.h>

#include "base/base.h"

struct door;
struct principal;
struct server;
struct waker;

enum phase { IDLE, READING, BUSY, SENDING, CUT };

/* A connection as the door sees it. */
struct door_entry {
	struct link link;
	int fd;
	_Atomic enum phase phase;
	atomic_uint turn;        /* one more at the end of each request */
	_Atomic int64_t from_ms; /* READING: when the request line was there;
				    SENDING: when the answer was */
	atomic_bool gone;        /* the client of a stream left */
	struct waker *waker;     /* of a stream; changed under the lock */
	atomic_bool known;       /* who calls was said */

	/* under the lock */
	unsigned slot;  /* whose it is, in the door's shares */
	bool exempt;    /* of the share of networks; set before it enters */
	bool uncounted; /* it is cut, or on its way out */

	/* the door thread's own */
	unsigned seen_turn;
	int64_t since_ms; /* this turn was first seen */
	int64_t begun_ms; /* 0: no byte of the next request seen */
	uint64_t mark;    /* bytes received when the turn was first seen */
	int64_t ended_ms; /* since then the client sends no more; 0: it may */
};

/* Listens and starts the thread. The server is ready for connections. */
int door_start(struct server *s, struct door **ret, struct err *e) MUST_CHECK;
int door_port(const struct door *d); /* 0 without TCP */
/* Closes the listening sockets, soon, after a last look at each. */
void door_close(struct door *d);
bool door_closed(const struct door *d);
/* Connections there are, those on their way in included. */
size_t door_count(struct door *d);
void door_free(struct door *d); /* ends the thread; NULL is fine */

/* On the http threads. False: it is being cut, leave it alone. */
bool door_phase(struct door_entry *en, enum phase from, enum phase to);
/* A connection begins, ends. */
void door_enter(struct door *d, struct door_entry *en, const char *peer);
/* It is this principal's from now on. */
void door_know(
    struct door *d, struct door_entry *en, const struct principal *who);
void door_leave(struct door *d, struct door_entry *en);
/* A stream begins (its waker) or ends (NULL). */
void door_watch(struct door *d, struct door_entry *en, struct waker *w);
void door_linger(struct door *d, int fd); /* a duplicate is made */
