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

/* Store. */
#define STORE_ARGS_MAX     32    /* of a statement; the widest table has half */
#define STORE_TX_RUNS      3     /* a transaction that meets another's locks */
#define STORE_BUSY_MS      5000  /* SQLite: for another process's write */
#define STORE_RESTART_MS   1000  /* for readers, while the writer stands */
#define STORE_WAIT_MS      10000 /* PostgreSQL: for an answer */
#define STORE_CONNECT_MS   5000  /* until an attempt to connect is given up */
#define STORE_RECONNECT_MS 250   /* between attempts, and for one in a call */
#define STORE_MIGRATE_MS   3600000 /* an index over a large table */
#define STORE_FULL_RETRY_S 5
#define STORE_AWAY_RETRY_S 1
/* Arrays of one call: a commit's bytes, its short columns, and room. */
#define STORE_ARRAYS_MAX   (32 * MIB)
/* What a connection keeps of that memory between calls. */
#define STORE_ARRAYS_KEEP  (1 * MIB)

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

#endif
