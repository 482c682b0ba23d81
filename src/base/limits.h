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
#define IDS_SLICE_MIN 512 /* fewer would not share pages */
/* Tenants that may use the same event id. */
#define IDS_SAME_MAX  64

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

/* Access. Names fit principal.name; a password is hashed, never shown. */
#define ACCOUNT_NAME_MAX  63
#define KEY_NAME_MAX      63
#define KEY_TENANTS_MAX   64       /* copied into each request of such a key */
#define KEY_RATE_MAX      10000000 /* a second: past what a node takes */
#define PASSWORD_MIN      8        /* bytes; NIST 800-63B */
#define PASSWORD_MAX      1024     /* a pass phrase, not a book to hash */
/* Who calls: kept per http thread, asked again after this. */
#define AUTH_CACHE_MAX    256
#define AUTH_FRESH_S      5
#define AUTH_VERIFIED_S   300 /* a checked password is trusted so long */
#define AUTH_VERIFIED_MAX 1024
/* One check takes 12 MiB and some 30 ms: one at a time, 2 s of queue. */
#define AUTH_CHECKS_MAX   64
#define AUTH_CHECKS_EACH  8    /* of these, by one network */
#define KEY_TOUCH_S       60   /* "last used" is written at most so often */
#define LOCKOUT_MAX       4096 /* (account, network) pairs remembered */
#define LIMITER_MAX       4096 /* keys that are busy in the same second */

/* Settings: a file that somebody wrote by hand, and one value in it. */
#define CONF_FILE_MAX ((size_t)256 << 10)
#define CONF_TEXT_MAX 4096
#define CONF_MEM_MAX  (4 * MIB) /* a conf's texts; each set keeps its own */
/* Words that are compared for "did you mean": longer ones are no typo. */
#define NEAR_WORD_MAX 64

/* What one verb of the command line may make. */
#define CLI_ARENA_MAX  (64 * MIB)
/* One answer of the server to a verb: a page of a list fits. */
#define CLI_ANSWER_MAX (2 * PAGE_BYTES)

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

/*
 * Delivery (deliver/core.h): what is held in memory, the rest is in the log.
 * The simulator brings smaller ones, so that each bound is met all the time.
 */
#ifndef CORE_LIMITS_SMALL
#define CORE_ITEMS_MAX      32768 /* some 8 MiB of them */
/* Of one subscription, before it gets a reader; each may become a row. */
#define SUB_ITEMS_MAX       1000
#define SUB_ITEMS_LEAST     4   /* … of each, also when the core is full */
#define SUB_PARK_MAX        64  /* more that wait untried: no rows, a reader */
#define LANE_ITEMS_MAX      100 /* of one key, before it gets a reader */
#define LANE_ITEMS_KEEP     16  /* what such a key keeps of them */
/* Rows: a hundred retries of a key are enough to see what is wrong with it. */
#define LANE_ROWS_MAX       100
#define SUB_ROWS_MAX        1000
#define SUB_LANES_MAX       512 /* keys of a subscription with a reader each */
#define DELIVER_WINDOW_SEQS 8192
/* A page that ends so near to dispatch is a reader's last. */
#define READ_NEAR_SEQS      1024
#define READ_PAGE_MAX       256 /* that a reader takes from the log at once */
/* A flush takes so many results or waits so long for more. */
#define FLUSH_RESULTS       256
/* Repeats after a crash: what is in flight, and so many results. */
#define UNFLUSHED_MAX       1024
#endif
#define SUB_REPLAYS_MAX   16
/* An item older than this gets a row or a reader, so that the cursor moves. */
#define DELIVER_WINDOW_US ((int64_t)2 * 1000 * 1000)
#define FLUSH_US          ((int64_t)50 * 1000)
#define UNFLUSHED_US      ((int64_t)1000 * 1000)
#define CURSOR_US         ((int64_t)1000 * 1000) /* between writes of positions */
#define READS_MAX         4                      /* pages under way at once */
/* Breaker: failures in a row that open it; spec/webhooks.md, 9.3. */
#define BREAKER_FAILURES  5
#define CONCURRENCY_FIRST 2 /* grows with success, falls with failure */
#define CONCURRENCY_MAX   256
#define SPACING_KEYS_MAX  65536 /* callers that were called just now */

#endif
