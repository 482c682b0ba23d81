/*
 * hikyaku.h - publish to a Hikyaku server, verify what it sends, and take
 * events from it so that each is applied once.
 *
 * WHAT. Four things that every program beside the server needs and that are
 * easily got nearly right:
 *
 *   publish   one event, or many in batches, tried again with the same eventId
 *             until the server has answered
 *   verify    is this request really from where it says? Every scheme that a
 *             preset signs with, and those of GitHub and Stripe
 *   codes     one-time codes from a shared secret, made and checked
 *   consume   events of a pull consumer, each in one transaction of your own
 *             database: applied once, never backwards, acknowledged after
 *
 * LIFE. What a _new or _open gives is ended by its _free or _close. A client,
 * and all that is made from it, belongs to one thread at a time; several
 * clients may be used by several threads. The library starts no thread, keeps
 * no state of its own between calls, installs no handler, writes nowhere and
 * never ends the process. After fork() the child makes its own client.
 *
 * ERRORS. Functions return HK_OK or a negative enum hk_code; the words, the
 * server's status and the JSON pointer of what is wrong are in *e, which may
 * be NULL. Results are untouched on failure unless it says otherwise.
 * Options may be NULL, and a zero in them is the default.
 *
 * Texts are UTF-8 and end with a NUL where there is no length beside them.
 */
#ifndef HIKYAKU_H
#define HIKYAKU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HK_VERSION "0.1.0"

#if defined(__GNUC__)
#define HK_API          __attribute__((visibility("default")))
#define HK_CHECK        __attribute__((warn_unused_result))
#define HK_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define HK_API
#define HK_CHECK
#define HK_FORMAT(f, a)
#endif

/* Each is something that a caller does differently. */
enum hk_code {
	HK_OK = 0,
	HK_INVALID = -1, /* an argument or an event is wrong: e.text says how */
	HK_REFUSED = -2, /* the server refused it; a repeat is no use */
	HK_DENIED = -3,  /* 401 or 403: another key is needed */
	HK_ABSENT = -4,  /* 404 */
	HK_CONFLICT = -5,  /* 409: this eventId is there with other content */
	HK_BUSY = -6,      /* 429, 5xx, to the last try; e.retry_after_s */
	HK_NETWORK = -7,   /* no answer, to the last try */
	HK_FULL = -8,      /* a bound of the library: queue, batch, memory */
	HK_NOMEM = -9,     /* no memory for a connection or an object; where
			      small memory runs out, the process ends */
	HK_EMPTY = -10,    /* nothing came in time */
	HK_STOPPED = -11,  /* the stop() of the options said so */
	HK_DB = -12,       /* the consumer's own database failed */
	HK_UNSIGNED = -13, /* verify: there is no signature */
	HK_FIELD = -14,    /* verify: a header that is signed is missing */
	HK_TIME = -15,     /* verify: its time is too far from now */
	HK_WRONG = -16,    /* verify: no signature fits */
	HK_REPLAYED = -17, /* verify: this one-time code was used before */
	HK_RETRY = -18,    /* from a handler: later again */
	HK_DEAD = -19,     /* from a handler: never again, a dead letter */
	HK_PROTOCOL = -20, /* the server's answer was not understood */
};

struct hk_error {
	int code;          /* enum hk_code */
	int status;        /* of HTTP, or 0 */
	int retry_after_s; /* when the server said so, or 0 */
	char name[40];     /* the server's error code: INVALID_FIELD, or "" */
	char pointer[128]; /* JSON pointer to the culprit, or "" */
	char trace_id[40]; /* to look for in the server's log, or "" */
	char text[256];
};

HK_API const char *hk_version(void);
HK_API const char *hk_code_name(int code); /* "HK_BUSY" */
/* Fills *e, which may be NULL, and returns code: for adapters and handlers. */
HK_API int hk_fail(struct hk_error *e, int code, const char *fmt, ...)
    HK_FORMAT(3, 4);

/* ---- a client: one server, one key, connections that are kept open ---- */

struct hk_client;

struct hk_client_opts {
	const char *unix_socket; /* <data>/hikyaku.sock: needs no key */
	const char *ca_file;     /* PEM; else the system's */
	long connect_ms;         /* 10,000 */
	long total_ms;           /* of one try; 60,000 */
	unsigned tries;          /* in all; 10. 1: never again */
	int64_t backoff_ms;      /* before the second; doubles; 500 */
	int64_t backoff_max_ms;  /* 30,000; half of a wait is by chance */
	int64_t wait_max_ms; /* longest Retry-After; past it HK_BUSY: 300,000 */
	/* Asked before each try and ten times a second of waiting. */
	int (*stop)(void *ctx);
	void *ctx;
};

/*
 * `url` is http:// or https:// with host, port and perhaps a path before /v1.
 * `api_key` may be NULL with a unix socket. Nothing is connected yet.
 */
HK_API int hk_client_new(const char *url, const char *api_key,
    const struct hk_client_opts *opts, struct hk_client **ret,
    struct hk_error *e) HK_CHECK;
HK_API void hk_client_free(struct hk_client *c); /* NULL is fine */

/* ---- publishing ---- */

#define HK_ID_LEN 36

/*
 * An event by its parts, for those who write no JSON. NULL leaves a member
 * out; `payload` is the text of a JSON object.
 */
struct hk_draft {
	const char *event_id; /* made when NULL */
	const char *event_type;
	const char *tenant_id; /* a name or a UUID; the key's when NULL */
	const char *service, *instance_id; /* producer; the key's when NULL */
	const char *correlation_id;
	const char *occurred_at; /* now when NULL */
	const char *key;         /* sequence.partitionKey */
	const char *record_version;
	const char *payload;
	int schema_version; /* 1 */
};

/*
 * The UUID that stands for a tenant in tables: a UUID's own, in lower case, or
 * the UUIDv5 of a name, as the server makes it.
 */
HK_API int hk_tenant_id(
    const char *name, char ret[HK_ID_LEN + 1], struct hk_error *e) HK_CHECK;

/* The envelope as JSON; hk_memory_free() it. HK_INVALID names what is wrong. */
HK_API int hk_draft_json(const struct hk_draft *d, char **ret, size_t *ret_n,
    struct hk_error *e) HK_CHECK;
/*
 * The same event with eventId (UUID v7) and occurredAt, if it has none. What is
 * published twice must be prepared once: so it is the same event.
 */
HK_API int hk_event_prepare(const char *json, size_t n, char **ret,
    size_t *ret_n, char ret_id[HK_ID_LEN + 1], struct hk_error *e) HK_CHECK;
HK_API void hk_memory_free(void *p);

struct hk_receipt {
	char event_id[HK_ID_LEN + 1];
	int64_t seq;
	int duplicate;  /* it was in the log before, the same bytes */
	unsigned tries; /* that it took */
};

/*
 * One event, JSON as in POST /v1/events. Prepares it, sends it and tries again
 * until it is in the log. On failure ret->event_id and ret->tries are set all
 * the same: with HK_BUSY, HK_NETWORK and HK_STOPPED it may be in the log or
 * not, and whoever goes on trying does so with this id.
 */
HK_API int hk_publish(struct hk_client *c, const char *json, size_t n,
    struct hk_receipt *ret, struct hk_error *e) HK_CHECK;

/*
 * Batches. The publisher starts no thread: it is driven by the caller, who
 * adds, and now and then polls. So it needs no lock, nothing happens behind the
 * caller's back, and what is in the queue at exit is known. A program with a
 * loop waits hk_publisher_due_ms(); one without calls hk_publisher_flush().
 *
 * Events are sent in the order they were added. A batch that fails stays at
 * the head of the queue until it is sent or its tries are used up.
 */
struct hk_publisher;

struct hk_result {
	const char *event_id;
	void *tag;   /* as given to hk_publisher_add */
	int code;    /* HK_OK or why not */
	int64_t seq; /* HK_OK */
	int duplicate;
	unsigned tries;
	const struct hk_error *error; /* NULL with HK_OK */
};

struct hk_publisher_opts {
	size_t queue_max;       /* events that may wait; 10,000 */
	size_t queue_bytes_max; /* and their bytes; 16 MiB */
	size_t batch_max;       /* events a request; 500, at most 1,000 */
	size_t batch_bytes_max; /* 1 MiB; a longer event goes alone */
	int64_t linger_ms;      /* a batch that isn't full waits so long; 20 */
	/* Of each event, once. May add, may not poll, flush or free. */
	void (*done)(void *ctx, const struct hk_result *r);
	void *ctx;
};

/* The client must outlive it, and may be used for other calls meanwhile. */
HK_API int hk_publisher_new(struct hk_client *c,
    const struct hk_publisher_opts *opts, struct hk_publisher **ret,
    struct hk_error *e) HK_CHECK;
/* What still waits is told as HK_STOPPED. NULL is fine. */
HK_API void hk_publisher_free(struct hk_publisher *p);
/*
 * Copies the event. HK_FULL: poll or flush, then add again. ret_id may be NULL.
 */
HK_API int hk_publisher_add(struct hk_publisher *p, const char *json, size_t n,
    void *tag, char ret_id[HK_ID_LEN + 1], struct hk_error *e) HK_CHECK;
/*
 * Sends what is due, at most one try of one batch; never waits for a back-off.
 * HK_OK also when a try failed and will be repeated.
 */
HK_API int hk_publisher_poll(
    struct hk_publisher *p, struct hk_error *e) HK_CHECK;
/* ms until poll has something to do; 0: now; -1: the queue is empty. */
HK_API int64_t hk_publisher_due_ms(const struct hk_publisher *p);
/*
 * Until the queue is empty, waiting where it must. HK_EMPTY when it isn't after
 * timeout_ms (-1: no limit). How each event went is told by done().
 */
HK_API int hk_publisher_flush(
    struct hk_publisher *p, int64_t timeout_ms, struct hk_error *e) HK_CHECK;
HK_API size_t hk_publisher_waiting(const struct hk_publisher *p);

/* ---- one-time codes (RFC 6238, with settings) ---- */

#define HK_OTP_MAX 128 /* characters of the longest code */

enum hk_otp_hash { HK_OTP_SHA1, HK_OTP_SHA256, HK_OTP_SHA512 };
/* Decimal is truncated as in RFC 4226; the others begin the whole HMAC. */
enum hk_otp_encoding {
	HK_OTP_DECIMAL,
	HK_OTP_HEX,
	HK_OTP_BASE32,
	HK_OTP_BASE64
};
enum hk_otp_salt {
	HK_OTP_SALT_NONE,
	HK_OTP_SALT_KEY_BEFORE,
	HK_OTP_SALT_KEY_AFTER,
	HK_OTP_SALT_MESSAGE_BEFORE,
	HK_OTP_SALT_MESSAGE_AFTER
};

struct hk_otp {
	const void *secret; /* its bytes are the key */
	size_t secret_n;
	enum hk_otp_hash hash;
	enum hk_otp_encoding encoding;
	enum hk_otp_salt salt_mode;
	const char *salt;  /* NULL: none */
	const char *bound; /* tenant or issuer that ends the message; NULL */
	int64_t step_s;    /* 30 */
	int64_t t0_s;
	unsigned digits; /* 8 */
};

/*
 * Codes that were used. A code holds for a whole step, so a sender that calls
 * twice within one sends the same code: remember them only where the sender is
 * known to call less often than that, or binds each call.
 */
struct hk_otp_memory;

HK_API int hk_otp_make(const struct hk_otp *o, int64_t now_s,
    char ret[HK_OTP_MAX + 1], struct hk_error *e) HK_CHECK;
/*
 * Of this step, the one before or the one after; in constant time. `m` may be
 * NULL; else a code is good once (HK_REPLAYED), and HK_FULL refuses when more
 * codes are live than it can hold.
 */
HK_API int hk_otp_check(const struct hk_otp *o, const char *code, int64_t now_s,
    struct hk_otp_memory *m, struct hk_error *e) HK_CHECK;
HK_API struct hk_otp_memory *hk_otp_memory_new(
    size_t max); /* NULL: no memory */
HK_API void hk_otp_memory_free(struct hk_otp_memory *m);

/* ---- verifying ---- */

enum hk_scheme {
	HK_STANDARD,           /* whsec_ (HMAC) or whpk_ (ed25519) */
	HK_CLOUDEVENTS,        /* signed as standard */
	HK_CLOUDEVENTS_BINARY, /* signed as standard */
	HK_REPOSITORY,         /* X-NemakiWare-Signature, webhook-signature */
	HK_TASK,               /* X-Signature over X-Timestamp and body */
	HK_HUB,                /* Authorization: a one-time code */
	HK_GITHUB,             /* X-Hub-Signature-256 */
	HK_STRIPE              /* Stripe-Signature */
};

struct hk_header {
	const char *name, *value;
};

struct hk_request {
	const struct hk_header *headers;
	size_t n_headers; /* at most 160 are looked at; more: HK_INVALID */
	const void *body; /* the bytes as they came */
	size_t body_n;
};

struct hk_verify_opts {
	int64_t tolerance_s; /* of clocks; 300 */
	/*
	 * The signatures of HK_GITHUB, and HK_REPOSITORY's own, cover no time:
	 * such a request can be replayed for ever. With this, HK_REPOSITORY
	 * wants webhook-signature too, and HK_GITHUB verifies nothing.
	 */
	int need_time;
	const struct hk_otp *otp; /* HK_HUB: its settings; secret is not used */
	const char *otp_template; /* of the header; "{otp}" */
	struct hk_otp_memory *used; /* HK_HUB; NULL: codes may come again */
};

struct hk_verifier;

/*
 * Up to 8 secrets, any of which may have signed: so one is rotated. Copied.
 * The options' `used` must outlive it.
 */
HK_API int hk_verifier_new(enum hk_scheme scheme, const char *const *secrets,
    size_t n_secrets, const struct hk_verify_opts *opts,
    struct hk_verifier **ret, struct hk_error *e) HK_CHECK;
HK_API void hk_verifier_free(struct hk_verifier *v); /* wipes; NULL is fine */
/* now_s 0: the clock. HK_OK is the only yes. */
HK_API int hk_verifier_check(struct hk_verifier *v, const struct hk_request *r,
    int64_t now_s, struct hk_error *e) HK_CHECK;
/* All in one, for a program that verifies now and then. */
HK_API int hk_verify(enum hk_scheme scheme, const char *const *secrets,
    size_t n_secrets, const struct hk_request *r, int64_t now_s,
    const struct hk_verify_opts *opts, struct hk_error *e) HK_CHECK;

/* ---- consuming ---- */

/* Borrowed from the consumer, until its next event is asked for. */
struct hk_event {
	const char *json; /* as the server sent it */
	size_t json_n;
	const char *payload; /* bytes as published */
	size_t payload_n;
	const char *event_id, *event_type, *tenant_id, *correlation_id;
	const char *occurred_at;
	const char *key; /* sequence.partitionKey */
	int64_t schema_version;
	int64_t seq; /* 0: not told */
	/*
	 * The record: by the key {object}:{tenant}:{record}, else by the payload's
	 * objectName and recordId, else the key itself with record_id "".
	 */
	const char *object_name, *record_id;
	const char *record_version; /* NULL: none, and so never stale */
	int64_t record_version_us;  /* since 1970: versions are instants */
	int deleted;                /* RecordDeleted, or payload.deleted true */
	const char *cursor, *delivery_id;
	int64_t attempt; /* 1: the first time it was handed out */
	/* As the event says it, a name or a UUID; tenant_id is its UUID, which
	 * is the tables'. */
	const char *tenant;
};

struct hk_consumer;

struct hk_consumer_opts {
	const char
	    *definition;  /* JSON for PUT /v1/consumers/{name}; NULL: none */
	unsigned max;     /* events a request; 100 */
	unsigned wait_s;  /* long poll; 20; at most 60 */
	int no_wait;      /* 1: no long poll at all */
	unsigned ack_max; /* acknowledged together; 100 */
};

struct hk_consumer_counts {
	uint64_t events; /* handed out */
	uint64_t acked, nacked;
	uint64_t expired; /* acknowledged too late: they come again */
	uint64_t applied, seen, stale, failed, dead; /* by hk_consume */
};

HK_API int hk_consumer_open(struct hk_client *c, const char *name,
    const struct hk_consumer_opts *opts, struct hk_consumer **ret,
    struct hk_error *e) HK_CHECK;
/* What was acknowledged and not yet sent is sent, with one try. */
HK_API void hk_consumer_close(struct hk_consumer *c); /* NULL is fine */
/*
 * The next event. HK_EMPTY: none came within wait_s; ask again. HK_INVALID: one
 * came that is no event; it is passed by, and its lease ends.
 */
HK_API int hk_consumer_next(struct hk_consumer *c, const struct hk_event **ret,
    struct hk_error *e) HK_CHECK;
/*
 * Noted, and sent with others: when ack_max are there, before more events are
 * asked for, or by hk_consumer_flush().
 */
HK_API int hk_consumer_ack(struct hk_consumer *c, const struct hk_event *ev,
    struct hk_error *e) HK_CHECK;
/* Again after delay_ms; -1: as the server's back-off says. */
HK_API int hk_consumer_nack(struct hk_consumer *c, const struct hk_event *ev,
    int64_t delay_ms, struct hk_error *e) HK_CHECK;
/* Never again: a dead letter, with the reason for whoever looks at it. */
HK_API int hk_consumer_dead(struct hk_consumer *c, const struct hk_event *ev,
    const char *reason, struct hk_error *e) HK_CHECK;
/*
 * It takes longer: its lease begins anew, for so many seconds (0: as the
 * consumer's definition says). HK_ABSENT: too late, it will come again.
 */
HK_API int hk_consumer_extend(struct hk_consumer *c, const struct hk_event *ev,
    unsigned seconds, struct hk_error *e) HK_CHECK;
HK_API int hk_consumer_flush(
    struct hk_consumer *c, struct hk_error *e) HK_CHECK;
HK_API void hk_consumer_count(
    const struct hk_consumer *c, struct hk_consumer_counts *ret);
/*
 * Ends the pull consumer on the server, with what waits for it. HK_ABSENT: there
 * is none of that name.
 */
HK_API int hk_consumer_remove(
    struct hk_client *c, const char *name, struct hk_error *e) HK_CHECK;

/* ---- applying each event once, in a database of your own ---- */

enum hk_verdict {
	HK_APPLY, /* new, and not older than what was applied */
	HK_SEEN,  /* this eventId was processed before */
	HK_STALE  /* older than the last one applied for its record */
};

/*
 * A database, as a table of functions; hikyaku_sqlite.h and hikyaku_pq.h have
 * ready ones. `judge` marks the event as processed and its version as applied,
 * inside the open transaction, and says what to do with it.
 */
struct hk_db {
	void *conn; /* the handler's too: sqlite3 *, PGconn * */
	int (*begin)(struct hk_db *db, struct hk_error *e);
	int (*judge)(struct hk_db *db, const struct hk_event *ev,
	    enum hk_verdict *ret, struct hk_error *e);
	int (*commit)(struct hk_db *db, struct hk_error *e);
	void (*rollback)(struct hk_db *db);
};

/*
 * Called inside the transaction, for events to apply. HK_OK: commit. HK_RETRY:
 * roll back, later again. HK_DEAD: roll back, a dead letter. Any other code:
 * as HK_RETRY. Neither commits nor rolls back itself.
 */
typedef int (*hk_handler)(
    void *ctx, struct hk_db *db, const struct hk_event *ev, struct hk_error *e);

/*
 * Takes events and applies each: begin, judge, handler, commit, then
 * acknowledge. A crash between the last two brings the event again, and it is
 * HK_SEEN. Goes on for for_ms (0: what is there now, -1: until stop() says so
 * or something fails that waiting won't mend); HK_OK at the end of the time,
 * HK_STOPPED. While the database fails it waits and begins again.
 */
HK_API int hk_consume(struct hk_consumer *c, struct hk_db *db,
    hk_handler handler, void *ctx, int64_t for_ms, struct hk_error *e) HK_CHECK;
/* One event, which came in any way: not acknowledged, *ret tells. */
HK_API int hk_apply(struct hk_db *db, const struct hk_event *ev,
    hk_handler handler, void *ctx, enum hk_verdict *ret,
    struct hk_error *e) HK_CHECK;
/*
 * An event that came as a webhook or by the log, for hk_apply(). hk_event_free
 * it; the text is copied.
 */
HK_API int hk_event_read(const char *json, size_t n, struct hk_event **ret,
    struct hk_error *e) HK_CHECK;
HK_API void hk_event_free(struct hk_event *ev);

#ifdef __cplusplus
}
#endif

#endif
