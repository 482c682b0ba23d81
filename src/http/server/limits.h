/*
 * limits.h - the bounds of requests, answers, connections and shares.
 */
#pragma once

#include "base/base.h"

#define HTTP_ARENA_MAX    (24 * MIB) /* all that one request may make */
#define HTTP_PATH_MAX     2048
#define HTTP_SEGMENTS_MAX 16 /* of a path: twice the longest route */
#define HTTP_QUERY_MAX    64 /* parameters; the longest list has ten */
/* A connection's buffer: all headers must fit, a thousand must fit in RAM. A
 * head may use of it what leaves room for the answer's (http/server/wire.h). */
#define HTTP_CONN_MEMORY  (24 * KIB)
#define HTTP_HEAD_COST    (16 * KIB)
#define HTTP_METHOD_MAX   32    /* twice the longest that is registered */
#define HTTP_FDS_MAX      65536 /* numbers of sockets that are known */
/* Bodies in memory, of all requests together: past it the answer is 503. */
#define BODY_TOTAL_MAX    (64 * MIB)
/* A refused body up to here is read and dropped, which saves the connection. */
#define HTTP_SWALLOW_MAX  (64 * KIB)
#define HTTP_OUT_MAX      (16 * MIB) /* an answer; a page has PAGE_BYTES */
#define HTTP_OUT_KEEP     (16 * KIB) /* a connection keeps up to this */
#define HTTP_GZIP_MIN     (1 * KIB)  /* below this gzip saves no packet */
#define HTTP_UNSENT_MAX   65536      /* of an answer, in the kernel */
#define HTTP_STREAM_MAX   (1 * MIB)  /* what one pull may append */
#define HTTP_LINGER_MAX   128        /* refused uploads whose end we await */
#define ORIGINS_MAX       8          /* of cors.allowed.origin: each is tried */
#define HTTP_LOCAL_EXTRA  16         /* unix connections past the limit */

/* Shares (http/server/share.h). Of BODY_TOTAL_MAX, when half of it is taken, one caller
 * has a quarter at most, and past three quarters a sixteenth. Who has not said
 * who he is never gets at more than a quarter of it, one network of them at
 * half of that: a largest body as it is set. */
#define BODY_EACH_MAX        (BODY_TOTAL_MAX / 4)
#define BODY_EACH_LEAST      (BODY_TOTAL_MAX / 16)
#define BODY_STRANGERS       (BODY_TOTAL_MAX / 4)
#define BODY_STRANGER        (BODY_STRANGERS / 2)
/* A body on a route that is open to anybody: a form with a password. Those of
 * webhooks are as large as others, within the strangers' share. */
#define HTTP_OPEN_BODY       (64 * KIB)
/* Parts of http.connections.max. Who never said who he is can't have the last
 * quarter; of his network they are a half at most. When all but a sixteenth are
 * taken, some are cut. */
#define DOOR_STRANGERS(most) ((most) - (most) / 4)
#define DOOR_NETWORK(most)   ((most) / 2)
#define DOOR_CROWD(most)     ((most) - (most) / 16)

/* Lists: rows a page shows and rows it may look at to fill it. */
#define PAGE_DEFAULT 50
#define PAGE_MAX     1000
#define PAGE_SCAN    10000
#define PAGE_BYTES   (4 * MIB)

#define FORM_PAIRS_MAX 4096 /* of a form: a thousand ids and more */
