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

/* Newest ids kept in memory before they are written sorted (event/ids/ids.h). */
#define IDS_FRESH_MAX      131072
#define IDS_SLICE_MIN      512 /* puts between two writings: they share pages */
#define IDS_TIDY           1024 /* puts between two steps of merging */
/* The filter before the written ones grows with the log, by about a byte an id:
 * at 5 million it is 4 MiB, and one id in twenty is looked for in vain. Past
 * the largest it is more. */
#define IDS_BLOOM_MIN      (1 * MIB)
#define IDS_BLOOM_MAX      (64 * MIB)
#define IDS_BLOOM_STEP     16384 /* ids read into it by a commit */
#define IDS_BLOOM_START_MS 1000  /* and at the start, for so long */
/* Tenants that may use the same event id. */
#define IDS_SAME_MAX       64

/* Store. */
#define STORE_ARGS_MAX     128   /* of a statement: eight rows of the log */
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
#define RETAIN_STEP_MAX   (2 * COMMIT_BATCH_MAX) /* after a large commit */
/* WAL size past which the writer itself restarts it; but sooner, from _READY
 * on, when the checkpoints have left no more than _LITTLE to copy. */
#define WAL_RESTART_BYTES (64 * MIB)
#define WAL_READY_BYTES   (48 * MIB)
#define WAL_LITTLE_BYTES  (8 * MIB)
#define WAL_SHARE_BYTES   (4 * MIB)  /* that a checkpoint does not wait for */
#define WAL_POLITE_BYTES  (16 * MIB) /* more to copy: it lets nobody before */
/* Writes to it that become one call: twice as much is hardly faster. */
#define WAL_JOIN_BYTES    (128 * KIB)

/* HTTP. */
#define HTTP_ARENA_MAX   (24 * MIB) /* all that one request may make */
#define HTTP_PATH_MAX    2048
#define HTTP_STREAMS_MAX 256  /* live streams and long polls at once */
#define READ_QUEUE_MAX   1024 /* requests waiting for a read thread */

/* Access. Names fit principal.name; a password is hashed, never shown. */
#define ACCOUNT_NAME_MAX    63
#define KEY_NAME_MAX        63
#define KEY_TENANTS_MAX     64 /* copied into each request of such a key */
#define KEY_RATE_MAX        10000000 /* a second: past what a node takes */
#define PASSWORD_MIN        8        /* bytes; NIST 800-63B */
#define PASSWORD_MAX        1024     /* a pass phrase, not a book to hash */
/* Who calls: kept per http thread, asked again after this. */
#define AUTH_CACHE_MAX      256
#define AUTH_FRESH_S        5
#define AUTH_VERIFIED_S     300 /* a checked password is trusted so long */
#define AUTH_VERIFIED_MAX   1024
/* One check takes 7 MiB and some 30 ms: one at a time, 2 s of queue. */
#define AUTH_CHECKS_MAX     64
#define AUTH_CHECKS_EACH    8  /* of these, by one network */
#define KEY_TOUCH_S         60 /* "last used" is written at most so often */
/* Failed logins of a minute: lines in the log, rows in the audit (some 7 MB a
 * day of it under a siege), and notes that wait for the jobs thread. */
#define LOGIN_LINES_MAX     60
#define LOGIN_ROWS_MAX      17
#define LOGIN_NOTES_MAX     4096
#define LOCKOUT_MAX         4096 /* (account, network) pairs remembered */
#define LIMITER_MAX         4096 /* keys that are busy in the same second */
/* People, and networks of nobody we know, that are busy in the same minute. */
#define LIMITER_PEOPLE_MAX  16384
#define LIMITER_NETWORK_MAX 16384
#define SESSIONS_EACH       20 /* of one person: browsers and devices */

/* Logins by another's word (seal/jwt.h, account/oidc.h). */
#define JWKS_KEYS_MAX      32 /* providers have two or three */
#define JWT_KID_MAX        255
#define JWT_RSA_MIN        2048 /* bits; less is broken by those who can pay */
#define JWT_RSA_MAX        8192 /* more is slow, and nobody's */
#define JWT_MAX            (16 * KIB)
#define JWT_SKEW_S         60         /* clocks differ so much */
#define JWT_SUBJECT_MAX    255        /* OpenID Connect Core, 2 */
#define JWT_TEXT_MAX       255        /* seed 002: columns of users */
#define OIDC_ANSWER_MAX    (64 * KIB) /* of a provider, each */
#define OIDC_FRESH_S       3600       /* its document and keys are believed */
#define OIDC_KEYS_S        10    /* at least between two looks for a new key */
#define OIDC_FAILED_MS     1000  /* a failure is believed so long */
#define OIDC_LOGIN_S       600   /* from our page to the provider's and back */
#define OIDC_FLOWS_MAX     64    /* logins that wait for a provider at once */
#define OIDC_TOTAL_MS      10000 /* one call to it */
#define OIDC_MEM           (1 * MIB) /* its answers, parsed */
#define CALLER_CONNECTIONS 64
#define CALLER_BODY_MAX    (5 * MIB) /* of one answer; each asker keeps less */

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
/* A connection's buffer: all headers must fit, a thousand must fit in RAM. A
 * head may use of it what leaves room for the answer's (http/server/wire.h). */
#define HTTP_CONN_MEMORY  (24 * KIB)
#define HTTP_HEAD_COST    (16 * KIB)
#define HTTP_METHOD_MAX   32    /* twice the longest that is registered */
#define HTTP_FDS_MAX      65536 /* numbers of sockets that are known */
/* Bodies in memory, of all requests together: past it the answer is 503. */
#define BODY_TOTAL_MAX    (64 * MIB)
/* Bodies up to here go straight to the arena: nearly all single events. */
#define HTTP_BODY_SMALL   (16 * KIB)
/* A refused body up to here is read and dropped, which saves the connection. */
#define HTTP_SWALLOW_MAX  (64 * KIB)
#define HTTP_OUT_MAX      (16 * MIB) /* an answer; a page has PAGE_BYTES */
#define HTTP_OUT_KEEP     (16 * KIB) /* a connection keeps up to this */
#define HTTP_GZIP_MIN     (1 * KIB)  /* below this gzip saves no packet */
#define HTTP_UNSENT_MAX   65536      /* of an answer, in the kernel */
#define HTTP_STREAM_MAX   (1 * MIB)  /* what one pull may append */
#define HTTP_LINGER_MAX   128        /* refused uploads whose end we await */
#define HTTP_LOCAL_EXTRA  16         /* unix connections past the limit */
#define TLS_FILE_MAX      (1 * MIB)  /* certificate chain or key */

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
/* Of HTTP_STREAMS_MAX, by one key or person; and by one network, where several
 * of them may live. */
#define HTTP_STREAMS_EACH    (HTTP_STREAMS_MAX / 4)
#define HTTP_STREAMS_NETWORK (HTTP_STREAMS_MAX / 2)
/* Files and sockets of the program itself, beside connections and calls to
 * other servers: the store's, threads', children's, the log's. */
#define FILES_OWN            256

/*
 * Delivery (deliver/core/core.h): what is held in memory, the rest is in the log.
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
#define SUB_REPLAYS_MAX    16
/* An item older than this gets a row or a reader, so that the cursor moves. */
#define DELIVER_WINDOW_US  ((int64_t)2 * 1000 * 1000)
#define FLUSH_US           ((int64_t)50 * 1000)
#define UNFLUSHED_US       ((int64_t)1000 * 1000)
#define CURSOR_US          ((int64_t)1000 * 1000) /* between writes of positions */
#define READS_MAX          4 /* pages that readers take, under way at once */
/* What dispatch takes from the log at once, and hands over at once. */
#define FEED_PAGE          256
#define FEED_BYTES         (2 * MIB)
#define FEED_MAX           512
/*
 * A filter or template that overruns so often within that time holds its
 * subscription (spec/webhooks.md); so do errors, which cost a dead letter each.
 */
#define STRIKE_OVERRUNS    3
#define STRIKE_FAILURES    100
#define STRIKE_MS          600000
#define STRIKE_TEXT        "10 minutes"
/* Records whose last version is kept in memory: some 8 MiB of them. */
#define VERSIONS_MAX       65536
/* Whole subscriptions kept in memory because they were sent to lately. */
#define CONFS_MAX          4096
#define CRASHES_MAX        3 /* of the process, with the same entry in flight */
#define ATTEMPTS_SPARE     256       /* kept for the next ones */
#define ATTEMPT_MEM        (4 * MIB) /* all that one attempt may make */
#define DETAIL_BODY        1000      /* characters of an answer that are kept */
#define HIDE_LEAST         4         /* of a secret that is hidden in answers */
#define REASONS_MAX        32 /* numbers in contract/reasons.tbl are below */
/* Bounds of what attempts took, in ms, as stat.h0 to h6 count them. */
#define STAT_BOUNDS        100, 500, 1000, 2500, 5000, 10000, 30000
#define DETAIL_MAX         (48 * KIB) /* JSON of an attempt, all of it escaped */
#define DETAIL_ERROR       1000       /* … of what went wrong */
#define ERROR_BODY         500        /* … of an answer in that */
/* A node that delivers says so each second; see deliver/engine/deliver.h. */
#define LEASE_US           ((int64_t)15 * 1000 * 1000)
#define LEASE_RENEW_US     ((int64_t)1000 * 1000)
#define LEASE_SEND_US      ((int64_t)3 * 1000 * 1000)
/* Breaker: failures in a row that open it; spec/webhooks.md, 9.3. */
#define BREAKER_FAILURES   5
#define BREAKER_OPEN_MS    300000
#define CONCURRENCY_FIRST  2 /* grows with success, falls with failure */
#define CONCURRENCY_MAX    256
#define SPACING_KEYS_MAX   65536 /* callers that were called just now */
/*
 * Dead letters of a health check, put back when it is good again: each so often
 * at most, so many at once, while no more than that wait; a check a minute.
 */
#define REVIVE_TIMES       3
#define REVIVE_PAGE        256
#define REVIVE_MS          60000
#define REVIVE_URLS        16 /* health checks of one subscription in that time */
#define REVIVE_BUSY        16 /* subscriptions looked after at once */
/* Outgoing HTTP: what we ask of others and take from them. */
#define URL_MAX            2048  /* spec/webhooks.md */
#define URL_HOST_MAX       253   /* of DNS */
#define PEER_HOPS_MAX      16    /* proxies before us; more is a joke */
#define GUARD_RULES_MAX    256   /* hosts in a list, networks: each is tried */
#define RESOLVE_CACHE_MAX  4096  /* names known at once, each about 2 KiB */
#define RESOLVE_FRESH_MS   30000 /* an answer is believed so long at most */
#define RESOLVE_LEAST_MS   1000  /* and so long at least; failures too */
#define RESOLVE_CONF_MS    5000  /* between looks at resolv.conf */
#define RESOLVE_ADDRS_MAX  64    /* of a name; all are judged, so none is cut */
#define CLIENT_PINS_MAX    8     /* of these, how many a connect may try */
#define CLIENT_HEADERS_MAX 128   /* of a request */
#define CLIENT_TEXT_MAX    (64 * KIB) /* its URL and headers */
#define CLIENT_HEAD_KEEP   (2 * KIB)  /* of an answer's, shown to people */
#define ANSWER_MAX         (1 * MIB) /* of a body that a receiver answers with */
#define CLIENT_HEAD_MAX    (64 * KIB) /* of an answer's, read */
#define CLIENT_BODY_KEEP   (64 * KIB) /* memory a handle keeps for the next */
/* A Retry-After past this says the same as this: a day. */
#define CLIENT_RETRY_MAX_S 86400
/* OAuth2: tokens known at once, and what one may be. */
#define OAUTH_TOKENS_MAX   1024
#define OAUTH_TOKEN_MAX    (8 * KIB)  /* it travels as a header */
#define OAUTH_ANSWER_MAX   (64 * KIB) /* of a token endpoint */
#define OAUTH_KEY_MAX      (8 * KIB)  /* URL, client, secret and scope */
#define OAUTH_LIFE_S       300        /* of a token whose answer does not say */
#define OAUTH_LIFE_MAX_S   86400 /* a token is asked for once a day at least */
#define OAUTH_EARLY_MAX_MS 60000 /* a token is renewed so long before its end */
#define OAUTH_FAILED_MS    1000  /* a failure is believed so long */
#define CLIENT_IDLE_MAX    1024  /* handles kept for the next sends */
/* Redirects that are followed for a reader (seed 002), and how long one hop
 * may take to connect. */
#define FOLLOW_HOPS_MAX    5
#define FOLLOW_CONNECT_MS  5000
/* Who wants an event. A subscription stands in the table once for each of its
 * types and tenants: 64 bytes each, so that many of both are refused. */
#define MATCH_SUBS_MAX     1000000
#define MATCH_TYPES_MAX    64
#define MATCH_TENANTS_MAX  KEY_TENANTS_MAX
#define MATCH_CELLS_MAX    1024
/* What one event may hit before doubles are dropped: 32 MB. */
#define MATCH_HITS_MAX     (4 * MATCH_SUBS_MAX)
#define MATCH_OBJECT_MAX   512 /* bytes of an object's id */
#define MATCH_DEPTH_MAX    255 /* levels; the setting says 50 at most */

/* jq: filters and templates, run in a child process (match/jq/jq.h). */
#define JQ_PROGRAM_MAX  (16 * KIB) /* text; more is no filter but a program */
#define JQ_NEST_MAX     128        /* brackets: its parser recurses */
#define JQ_PROGRAMS_MAX 100000     /* different texts, in the server */
#define JQ_COMPILED_MAX                                                        \
	2048 /* of these, ready in the child: 4 to 12 KiB each */
#define JQ_CPU_MS           50 /* one program over one event; spec/webhooks.md */
#define JQ_COMPILE_CPU_MS   1000 /* 15 ms as a rule, for jq's own definitions */
#define JQ_MEMORY_MAX       (256 * MIB) /* an event of 1 MiB takes up to 40 */
#define JQ_OUTPUT_MAX       (1 * MIB) /* of a template; the most a body may be */
#define JQ_REASON_MAX       200       /* of an error of jq's */
/* What is run in C instead (match/jq/plain.h): longer ones are not plain. */
#define PLAIN_TEXT_MAX      1024
#define PLAIN_NODES_MAX     48
#define PLAIN_DEPTH_MAX     16
/* One request to the child: with all of its CPU time used it ends in time. */
#define JQ_CHUNK_MAX        64
#define JQ_CHUNK_BYTES      (4 * MIB)
#define JQ_WALL_MS          15000
/* Caged children (cage/cage.h). After so many deaths in a row that nothing is to
 * blame for, a start waits. */
#define CAGE_STACK_MAX      (8 * MIB)
#define CAGE_DEATHS_FREE    3
#define CAGE_BACKOFF_MS     100
#define CAGE_BACKOFF_MAX_MS 10000
/* Documents of strangers, read in a child (doc/caged.h): the parser's arena,
 * what came, its text and the answer. The worst 5 MiB that we know take 0.4 s
 * here. The thread that asks waits meanwhile. Articles that are cleaned together; what a document may become. */
#define DOC_MEMORY_MAX      (384 * MIB)
#define DOC_CPU_MS          1000
#define DOC_WALL_MS         30000
#define DOC_REQUEST_MAX     (FEED_TEXT_MAX + FEED_BYTES_MAX)
#define DOC_ANSWER_MAX      (FEED_TEXT_MAX + FEED_BYTES_MAX)
#define DOC_TURN_MS         200 /* then transfers have a turn again */
#define DOC_ARTICLES_MAX    250
#define DOC_ARTICLES_BYTES  (1 * MIB)
/* A reader is ended when nobody needs it, and after so many documents, so that
 * one that was taken over by a document has a short life. */
#define DOC_IDLE_MS         30000
#define DOC_LIFE            1000
/* Sealing. A ring has the active key and those of a few rotations. */
#define SEAL_KEYS_MAX       16
#define SEAL_ID_MAX         63
#define SEAL_TEXT_MAX       1024 /* a passphrase, not a book */
#define SEAL_TEXT_MIN       12   /* bytes of one: below, guessing is cheap */
#define SEAL_FILE_MAX       (32 * KIB)  /* SEAL_KEYS_MAX lines, and comments */
#define SEAL_PLAIN_MAX      (256 * KIB) /* a subscription with its headers */
/* Salts a key is remembered with: one a node that ever sealed. */
#define SEAL_SALTS_MAX      64
#define SEAL_ROUNDS         100000 /* of PBKDF2: seed 2.5.2 */
/* KMS: a call at the start, which must not hold it up for ever. */
#define KMS_CONNECT_MS      5000
#define KMS_WAIT_MS         15000
#define KMS_ANSWER_MAX      (64 * KIB)
/* A body as stored: webhook.max.payload.size, what is filled in, the seal. */
#define EVENT_STORED_MAX    (16 * MIB)
/* Values that one step of a rotation seals anew: some 5 ms. */
#define RESEAL_STEP         200

/* Audit. One text of a row, its details, and all of it. */
#define AUDIT_TEXT_MAX         2048 /* a URL fits */
#define AUDIT_DETAILS_MAX      (16 * KIB)
#define AUDIT_ROW_MAX          (256 * KIB) /* every text escaped to six bytes each */
#define AUDIT_HEADERS_MAX      64   /* names of headers that are listed */
#define AUDIT_MANY_MAX         1024 /* rows of one call: a flush */
#define AUDIT_WALK_MAX         1000 /* rows that a step of verify looks at */
/* … and steps of RETAIN_STEP that one look begins. */
#define AUDIT_JOB_STEPS        20
#define AUDIT_JOB_MS           1000 /* how often old rows are looked for */
/* Tasks (task/task.h): texts in characters, as seed 004 bounds its columns. */
#define TASK_RESULT_MAX        (1 * MIB)  /* what extraction found, as JSON */
#define TASK_DOCUMENT_MAX      (64 * KIB) /* what was said of the document */
#define TASK_CODE_MAX          100
#define TASK_NAME_MAX          200
#define TASK_TEXT_MAX          1000
#define TASK_NUMBER_MAX        32 /* digits of a score */
#define TASK_RESULT_DAYS       30 /* a result can be fetched so long */
#define TASK_CONFIGS_MAX       32 /* of a key; each gets each event it wants */
#define TASK_SECRET_MAX        128
#define TASK_ABOUT_MAX         500
#define TASK_HISTORY_MAX       500 /* deliveries that a list shows */
#define TASK_SUBMIT_RUNS       3 /* when others make the same callback first */
#define TASK_REPORT_RUNS       8 /* when others report on the same task */
/* Alerts (ops/alerts.h). */
#define ALERT_MS               5000 /* between two looks */
#define ALERT_WINDOW_M         15   /* minutes that rates are taken over */
#define ALERT_HOUR_M           60
#define ALERT_SUBS_MAX         1000 /* subscriptions looked at in one look */
#define ALERT_NEWS_MAX         64 /* alerts told by one look; the rest by the next */
#define ALERT_LEAST            10 /* finished deliveries: fewer make no rate */
#define ALERT_LATEST           32 /* newest attempts, to find three in a row */
/* Presets and subscriptions: what one person writes and one screen shows. */
#define PRESET_NAME_MAX        63
#define PRESET_TEXT_MAX        (64 * KIB) /* one preset's JSON */
#define PRESETS_MAX            256        /* kept by name, listed in one page */
#define PRESET_ROWS_MAX        64 /* headers, signatures, verdicts, paths */
#define PRESET_MEM_MAX         (2 * MIB) /* one of them, parsed */
#define VARS_TEXT_MAX          (8 * KIB) /* a text with variables */
#define VARS_PIECES_MAX        128
#define SUB_NAME_MAX           200
#define SUB_URL_MAX            2048 /* spec/webhooks.md */
#define SUB_TYPES_MAX          256
#define SUB_TENANTS_MAX        256
#define SUB_PROGRAM_MAX        (16 * KIB) /* a jq filter or template */
#define SUB_HEADERS_MAX        64
#define SUB_HEADER_NAME_MAX    128
#define SUB_HEADER_VALUE_MAX   4096 /* receivers refuse heads past 8 KiB */
#define SUB_TEXT_MAX           4096 /* a credential or other short text */
#define SUB_PEM_MAX            (32 * KIB) /* certificate chain or key */
#define SUB_SECRETS_MAX        8          /* rotated within the same week */
#define SUB_OVERLAP_S          86400
#define SUB_OVERLAP_MAX_S      (7 * 86400)
#define SUB_STORED_MAX         (256 * KIB) /* all of it, sealed */
#define SUB_MEM_MAX            (1 * MIB)   /* and opened */
#define SUB_CONCURRENCY_MAX    1000
#define SUB_RATE_MAX           100000
#define SUB_DEADLINE_MAX_S     (30 * 86400)
#define SUB_TIMEOUT_MAX_MS     300000
#define SUB_BATCH_WINDOW_MAX_S 3600
#define SUB_BATCH_MAX          1000
/* Incoming webhooks (source/hook.h). */
#define HOOKS_MAX              1000 /* kept in memory by the thread they run on */
#define HOOK_NAME_MAX          63
#define HOOK_MEM_MAX           (256 * KIB) /* one, parsed */
#define HOOK_NETS_MAX          64          /* as many as a provider names */
#define HOOK_SECRET_MIN        8           /* less is guessed */
#define HOOK_SECRET_MAX        1024
#define HOOK_TOLERANCE_MAX_S   3600
#define HOOK_EVENTS_MAX        100  /* that a template makes of one request */
#define HOOK_QUEUE_MAX         256  /* requests waiting for their thread */
#define HOOK_FRESH_MS          5000 /* until another node's change is seen */
#define HOOK_LINES_PER_S       20   /* in the log, of those not verified */
#define HOOK_SCRATCH_MAX       (64 * MIB) /* a body, its tree and events */
/* Retries: a month of waiting, at most 64 tries. */
#define RETRY_DELAYS_MAX       64
#define RETRY_DELAY_MAX_MS     (INT64_C(30) * 24 * 3600 * 1000)
/* An answer that may be of the standard error form; spec/hub-call.md W11. */
#define VERDICT_BODY_MAX       (64 * KIB)
/* An answer's body in the log; spec/hub-call.md. */
#define REQUEST_LOG_BODY_MAX   (16 * KIB)
#define REQUEST_HEAD_MAX       (2 * KIB) /* of an attempt, as it is kept */
#define REQUEST_HEADERS_MAX    160       /* a preset's and a subscription's */
/* A body may outgrow its event by names, ids and escapes. */
#define REQUEST_BODY_MAX       (16 * MIB)
/* Receivers allow for clocks that differ so much; Standard Webhooks. */
#define RECEIVE_TOLERANCE_S    300
#define RECEIVE_SIGNATURES_MAX 8 /* of one kind in a header; one a secret */

/* Subscriptions over HTTP (api/v1/sub.h). */
#define CHECK_QUEUE_MAX    64      /* wait for the check thread, 45 ms each */
#define PRESET_USERS_CHECK 1000    /* asked before a preset is changed */
#define STATS_MINUTES_MAX  1440    /* a day by the minute; */
#define STATS_HOURS_MAX    744     /* a month by the hour */
#define ASK_WAIT_US        5000000 /* for dispatch to read so far */
#define TEST_SEND_MS       30000   /* a test send; somebody waits for it */
#define SUB_DROP_STEP      500     /* rows of an ended one, a transaction */
#define ENDED_JOB_MS       1000    /* between looks for ended ones */
/* Batches (deliver/batch/batch.h) and the limits of CHILD_* events. */
#define BATCH_BYTES_MAX    (512 * KIB) /* members of one: half of an event */
#define BATCH_MEMBER_MAX   (64 * KIB)  /* a longer one is named, not shown */
#define BATCH_NODES_MAX    (JSON_NODES_MAX / 2) /* values; it is parsed again */
#define BATCH_GROUPS_MAX   64  /* folders of a window: entries of a commit */
#define BATCH_COUNTS_MAX   256 /* folders and types that a summary counts */
#define BATCH_FACE_MAX     (1 * KIB)  /* JSON of a folder or repository */
#define BATCH_JOB_MEM      (96 * MIB) /* all that one commit may make */
#define BATCH_MEM_MAX      (64 * MIB) /* open windows: the rest is in the log */
#define BATCH_KINDS_MAX    8 /* changes of mode that a subscription remembers */
#define BATCH_SUMMARY_MS   60000     /* seed 10.2.1: one minute */
#define CHILD_SENDS_MAX    50        /* singles of one commit */
#define CHILD_STATE_MAX    (8 * MIB) /* queue and breakers, as they are kept */
#define CHILD_QUEUE_MAX    1000      /* seed 10.2.2 */
#define CHILD_MINUTE_MS    60000
#define CHILD_OPEN_MS      300000 /* seed 10.2.3 */
#define CHILD_FOLDERS_MAX  4096   /* remembered at once */
#define CHILD_OPEN_MAX     64     /* breakers open at once */
#define CHILD_DROPS_MAX    100    /* audited one by one, in one commit */

/* Pull consumers (deliver/engine/pull.c, api/v1/consumers.h). */
#define CONSUMER_NAME_MAX    100
#define CONSUMER_WAIT_S      60    /* of a lease, when nobody says */
#define CONSUMER_WAIT_MAX_S  43200 /* half a day: longer work extends it */
#define CONSUMER_FLIGHT      500   /* leases at once, when nobody says */
/* … and at most: below SUB_ITEMS_MAX, so that others can be read meanwhile. */
#define CONSUMER_FLIGHT_MAX  800
#define CONSUMER_FETCH       100 /* events of one GET, when nobody says */
#define CONSUMER_FETCH_MAX   1000
#define CONSUMER_CURSORS_MAX 1000 /* answered by one call */
#define CONSUMER_SOON_US     (5 * (int64_t)1000 * 1000) /* "now" takes at most */
/* Without a worker for so long, what waits for one leaves memory. */
#define CONSUMER_REST_US     (10 * (int64_t)1000 * 1000)
/* Looking at deliveries, dead letters and replays. */
#define REPLAY_TYPES_MEM     (64 * KIB) /* the patterns of one, parsed */
#define REPLAY_TYPES_MAX     64         /* as many as a person writes */
#define REPLAY_PAGES_PER_S   10     /* a limited one reads so often at most */
#define REPLAY_RATE_MAX      100000 /* a second; more is no limit */
#define REP_MAX              65535  /* of a deliveryId: 16 bits */
/* Dead letters that one call puts back; rows that then may wait for one. */
#define BULK_MAX             200
#define BULK_ROWS_MAX        500
#define BULK_TIMES_MAX       3 /* by filter, of each; by hand: as one likes */
#define NOTE_MAX             1000       /* why somebody decided so */
#define ATTEMPTS_SHOWN       100        /* of a delivery; six kilobytes each */
#define SEEN_WAITING_MAX     200        /* who is behind, of one event */
#define SUBS_SEEN_MAX        1024       /* of a page: as many as it shows */
#define CLI_LOOK_MEM         (64 * KIB) /* one answer about a replay */
/* What goes by its age (ops/tidy.h). */
#define TIDY_MS              1000    /* between looks */
#define TIDY_REST_MAX_MS     3600000 /* after a pass that found all in order */
#define TIDY_STEPS           20 /* of RETAIN_STEP rows, that one look begins */
#define STAT_MINUTES         2880 /* two days by the minute, then by the hour */

/* What a source handed over that is no event (source/refused.h). The copy is
 * for a person to look at and mend; larger ones are kept by their owner. */
#define REFUSED_COPY_MAX (256 * KIB)
#define REFUSED_REF_MAX  256
/* One opened: body, tree, copy. */
#define REFUSED_MEM      (4 * MIB)

/* The outbox relay (source/relay.h). */
#define OUTBOX_TABLE_MAX   140              /* two names of 63, quoted */
#define OUTBOX_FETCH_ROWS  1000             /* read at once */
#define OUTBOX_CHUNK_ROWS  COMMIT_BATCH_MAX /* one append */
#define OUTBOX_CHUNK_BYTES (4 * MIB)
#define OUTBOX_CHUNK_MEM   (64 * MIB) /* such a chunk, and one row more */
/* One row: its tree, and those of its parts, of JSON_NODES_MAX each. */
#define OUTBOX_SCRATCH_MEM (128 * MIB)
#define OUTBOX_BUSY_MS     5000 /* SQLite: for the application's write */
#define OUTBOX_CONNECT_MS  10000
#define OUTBOX_LOCK_MS     5000   /* for rows that somebody holds locked */
#define OUTBOX_ANSWER_MS   60000  /* for anything from PostgreSQL */
#define OUTBOX_LAG_MAX     100000 /* rows that are counted */
#define OUTBOX_LAG_MS      5000
#define OUTBOX_BACKOFF_MS  30000 /* longest pause after failures */
/* xid mode: marks are gathered up to so many, or so long; how many may wait;
 * and how often the rows behind the window are looked through. */
#define OUTBOX_MARK_ROWS   5000
#define OUTBOX_MARK_MS     500
#define OUTBOX_MARKS_MAX   50000
#define OUTBOX_SWEEP_MS    30000
#define OUTBOX_SNAP_MAX    MIB /* a snapshot as text */

/* Feeds that are read. The fetcher stops at 5 MiB; a file may be larger. */
#define FEED_BYTES_MAX         (16 * MIB)
#define FEED_TEXT_MAX          (64 * MIB) /* in UTF-8, and made well-formed */
#define FEED_ARENA_MAX         (192 * MIB)
#define FEED_ITEMS_MAX         10000 /* more is an archive, not news */
#define FEED_DEPTH_MAX         200   /* feeds have ten */
#define FEED_ATTRS_MAX         32    /* of an element that is mended */
#define FEED_CATEGORIES_MAX    64    /* of an item; each is compared with all */
#define FEED_ENCLOSURES_MAX    64
#define FEED_LINK_MAX          8192
#define FEED_AUTHOR_MAX        1024
#define FEED_DATE_MAX          128 /* no date is longer */
/* Fetching (reader/fetch/verdict.h): an interval, a back-off and what a server asks
 * for lie within these (seed 002); bodies in a row that are no feed. */
#define FETCH_LEAST_MIN        30
#define FETCH_MOST_MIN         720
#define FETCH_PARSE_ERRORS_MAX 10
/* A fetcher's feeds are taken over when it was not heard of for so long. What
 * it has claimed and not begun; answers that are read and written at once, as
 * each may need FEED_ARENA_MAX; results that one transaction writes. */
#define FETCH_LEASE_MS         300000
#define FETCH_QUEUE_MAX        256
#define FETCH_ARENA_MAX        (64 * KIB) /* what is known of one, but its body */
#define FETCH_VALIDATOR_MAX    512 /* bytes of an ETag or a date that are kept */
#define FETCH_STORING_MAX      2
#define FETCH_BATCH_MAX        256
#define FETCH_CONFLICTS_MAX    5 /* plans made anew before it waits for a turn */
/* Adding a feed: how many at once, and how many wait (then 503); how long one
 * may take in all and for its icon; what is tried of what a page names. */
#define REGISTER_MAX           8
#define REGISTER_QUEUE_MAX     64
#define REGISTER_MS            25000
#define REGISTER_ICON_MS       5000
#define REGISTER_FEEDS_MAX     4
#define REGISTER_ICONS_MAX     3
#define FAVICON_MAX            (256 * KIB)
/* WebSub (reader/websub.h): hubs asked at once; the lease we ask for and those
 * that we believe; times that we try to leave; a denied feed is asked for again
 * then; pushes that wait or are written (then 503); calls of one network in a
 * minute; lines of the log about wrong signatures in a second. */
#define HUB_ASKS_MAX           16
#define HUB_LEASE_S            864000
#define HUB_LEASE_LEAST_S      300
#define HUB_LEASE_MOST_S       2592000
#define HUB_LEAVES_MAX         4
#define HUB_DENIED_MIN         1440
#define HUB_PUSHES_MAX         32
#define HUB_CALLS_PER_MINUTE   1200
#define HUB_LINES_PER_S        5
/* Counts of Hatena bookmarks (seed 002, 10): URLs of one call, and bytes of
 * them as a query; calls of a day; an answer. */
#define HATEBU_URLS_MAX        50
#define HATEBU_QUERY_MAX       (16 * KIB)
#define HATEBU_DAY_CALLS       14400
#define HATEBU_ANSWER_MAX      (256 * KIB)
/* HTML from strangers (markup/html.h). Deeper than anybody nests; browsers
 * stop at 512. Each tag may look through all of the stack. */
#define HTML_DEPTH_MAX         200
#define HTML_ATTRS_MAX         64 /* of one tag; each is compared with those before */
#define HTML_FORMAT_MAX        32 /* opened again in each paragraph that follows */
/* Cleaning (markup/sanitize.h): what a feed may be; its tree; the result, in
 * which each link may have grown by the base that it is relative to. */
#define HREF_MAX               8192 /* of one URL, as browsers and servers go */
#define SANITIZE_IN_MAX        (5 * MIB)
#define SANITIZE_MEM           (96 * MIB)
#define SANITIZE_OUT_MAX       (32 * MIB)
/* Below HTML_DEPTH_MAX: read again, all is there. */
#define SANITIZE_DEPTH_MAX     100
#define SANITIZE_TITLE_MAX     1024 /* of a title or alt text, in bytes */
/* Articles in the store (reader/items.h): changes of one plan, which are
 * events of one commit; and bytes of it, with room below STORE_ARRAYS_MAX. */
#define ITEMS_PLAN_MAX         1000
#define ITEMS_PLAN_BYTES       (6 * MIB)
/* Of one article; what is longer is shown by its summary and link alone. */
#define ITEM_CONTENT_MAX       (4 * MIB)
/* Columns of seed 002, in characters. Longer ids are kept as their hash: cut,
 * two of them could be one. In bytes, for PostgreSQL's index. */
#define ITEM_GUID_MAX          2000
#define ITEM_TITLE_MAX         1000
#define ITEM_AUTHOR_MAX        500
#define ITEM_EVENT_TEXT        1000 /* characters of an article in its event */
#define FEED_TITLE_MAX         500
/* A person's: seed 002, 2.8 and 8.5. Minutes, in steps of the least. */
#define READER_FEEDS_MAX       100
#define FETCH_INTERVAL_MIN     30
#define FETCH_INTERVAL_MAX     720
#define READER_CATEGORIES_MAX  200
#define READER_CATEGORY_NAME   200  /* characters */
#define READER_PAGE            50   /* articles: seed 002, 4.3 */
#define READER_FETCHES         50   /* of a feed's history */
#define READ_STEP              2000 /* articles marked read, a transaction */
/* Search (doc/terms.h): PostgreSQL counts places to 16,383. */
#define TERMS_MAX              16000
#define TERM_BYTES             64 /* of a word: longer ones are no words */
#define TERMS_QUERY_MAX        32
#define TERMS_BYTES_MAX        (512 * KIB) /* a tsvector ends at a MiB */
#define READER_SEARCH_MAX      500         /* bytes that are typed */
#define CLEAN_STEP             200 /* articles, each with its words and states */
#define FEED_TOMBSTONES_MAX    50000 /* of a feed that are looked at */
/* Looking for feeds in a page (feed/discover.h). */
#define DISCOVER_IN_MAX        (5 * MIB)
#define DISCOVER_FEEDS_MAX     32
#define DISCOVER_ICONS_MAX     16
#define DISCOVER_TITLE_MAX     256
/* Lists of subscriptions (feed/opml.h): a hundred times what one may have. */
#define OPML_BYTES_MAX         (4 * MIB)
#define OPML_FEEDS_MAX         10000
#define OPML_TEXT_MAX          200 /* of a name, in characters */
/* Apps that read for a person (account/tokens.h, api/apps/apps.h). */
#define APP_TOKENS_MAX         50   /* app passwords of one person */
#define FORM_PAIRS_MAX         4096 /* of a form: a thousand ids and more */
#define SYNC_IDS_MAX           10000 /* ids of one page, or changed by one call */
#define SYNC_PAGE_MAX          1000   /* whole articles of one page */
#define SYNC_IDS_ALL           200000 /* ids of an answer that must have all */
#define SYNC_PAGE_BYTES        (10 * MIB) /* of these, in the request's arena */

#endif
