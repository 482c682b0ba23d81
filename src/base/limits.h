/*
 * limits.h - every bound of the program, with its reason.
 *
 * Tests import these; a bound that stands elsewhere is a bound nobody checks.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* JSON: deeper than any honest document, shallow enough for any stack. */
#define JSON_DEPTH_MAX 64
/* One document's tree: a batch of 1,000 events with 100 nodes each fits. */
#define JSON_NODES_MAX 262144

/* Envelope. Names are indexed and shown; these fit a column and a screen. */
#define EVENT_TYPE_MAX      128
#define EVENT_KEY_MAX       512
#define EVENT_SERVICE_MAX   128
#define EVENT_BATCH_MAX     1000 /* events a request; spec/events.md */
#define IDEMPOTENCY_KEY_MAX 255

/* Group commit: how many entries and bytes one transaction takes. */
#define COMMIT_BATCH_MAX       1024
#define COMMIT_BYTES_MAX       (8 * MIB)
/* What may wait for the committer; past it the answer is 503. */
#define COMMIT_QUEUE_MAX       16384
#define COMMIT_QUEUE_BYTES_MAX (64 * MIB)
/* A batch whose commit's answer was lost is run again for so long. */
#define COMMIT_RETRY_MS        3000

/* Newest ids kept in memory before they are written sorted (event/ids.h). */
#define IDS_FRESH_MAX 131072
#define IDS_SLICE_MAX 2048

/* Lists: rows a page shows and rows it may look at to fill it. */
#define PAGE_DEFAULT 50
#define PAGE_MAX     1000
#define PAGE_SCAN    10000
#define PAGE_BYTES   (4 * MIB)
#define WAIT_MAX_S   60 /* long poll */

/* Retention: rows a step, so that the writer never stalls. */
#define RETAIN_STEP       500
/* WAL size past which the writer itself restarts it. */
#define WAL_RESTART_BYTES (64 * MIB)

/* HTTP. */
#define HTTP_ARENA_MAX   (24 * MIB) /* all that one request may make */
#define HTTP_PATH_MAX    2048
#define HTTP_STREAMS_MAX 256  /* live streams and long polls at once */
#define READ_QUEUE_MAX   1024 /* requests waiting for a read thread */

/* HTTP, of the server itself. */
#define HTTP_SEGMENTS_MAX 16 /* of a path: twice the longest route */
#define HTTP_QUERY_MAX    64 /* parameters; the longest list has ten */
/* A connection's buffer: all headers must fit, a thousand must fit in RAM. */
#define HTTP_CONN_MEMORY  (16 * KIB)
/* Bodies in memory, of all requests together: past it the answer is 503. */
#define BODY_TOTAL_MAX    (64 * MIB)
/* Bodies up to here go straight to the arena: nearly all single events. */
#define HTTP_BODY_SMALL   (16 * KIB)
/* A refused body up to here is read and dropped, which saves the connection. */
#define HTTP_SWALLOW_MAX  (64 * KIB)
#define HTTP_OUT_MAX      (16 * MIB) /* an answer; a page has PAGE_BYTES */
#define HTTP_OUT_KEEP     (16 * KIB) /* a connection keeps up to this */
#define HTTP_GZIP_MIN     (1 * KIB)  /* below this gzip saves no packet */
#define HTTP_STREAM_MAX   (1 * MIB)  /* what one pull may append */
#define HTTP_LINGER_MAX   64         /* refused uploads whose end we await */
#define HTTP_LOCAL_EXTRA  16         /* unix connections past the limit */
#define TLS_FILE_MAX      (1 * MIB)  /* certificate chain or key */

#endif
