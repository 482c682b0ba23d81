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
/* Each event is walked once for each mask that names its type. */
#define MASK_RULES_MAX      256

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

#endif
