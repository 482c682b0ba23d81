/*
 * sub.h - who wants what, and how it is sent: a value.
 *
 * THREE FORMS. The same subscription stands
 *   stored   as JSON, each secret value replaced by its sealed text
 *   shown    as JSON, each secret value replaced by SUB_MASK
 *   in use   as struct sub_conf, secrets plain, signers made
 * and the same tables of members (member.h) read and write all three. What is
 * secret is secret by its place or its mark, never by a guess at its name:
 * `secret`, the passwords, tokens and keys of `auth`, hub.sharedInternalKey,
 * hub.eventApiKey, hub.otp.secret and its salt, the headers Authorization and
 * Cookie, and each header written {"value": …, "secret": true}.
 *
 * CHANGING. sub_read() with `old` is a PATCH as in RFC 7396: members that are
 * absent stay, null means the default, objects are merged by member (`auth`
 * only within the same type). The mask written back keeps the value; where
 * there was none it is an error. A change that leads a URL to another server
 * must give the secrets again that are sent there (sub_kept.c).
 *
 * ROTATION. `secrets` holds the newest first; the others have an `until` and
 * sign beside it (where the preset says `all`) until then. A `secret` given by
 * PATCH replaces all of them at once.
 *
 * SETTINGS. What a subscription leaves to a setting (the URL and the paths of
 * `hub`) is not stored with it: it has the value that the setting has when it
 * is loaded, which its preset brings. Shown, and written back, it stays so.
 *
 * LIMITS stand in contract/limits.h; each error has the JSON pointer.
 *
 * A NEW MEMBER that is a value is a field of struct sub_conf here and a row of
 * SUB_BODY in sub.c: with these it is read, checked, changed, stored, loaded and
 * shown. The third file is the one that acts on it. One that is more than that
 * names in its row what reads and what writes it.
 *
 * LIFE. A sub_conf owns an arena and signers, belongs to one thread at a time
 * (signers do), and ends with sub_free(). It holds a reference to its preset.
 */
#pragma once

#include "contract/limits.h"
#include "contract/member.h"
#include "contract/preset.h"
#include "seal/otp.h"
#include "seal/sign.h"

struct conf;
struct keyring;

#define SUB_MASK "********"

struct sub_secret {
	struct str text;
	int64_t until_us;             /* 0: the current one */
	struct signer *text_signer;   /* the text is the key */
	struct signer *decode_signer; /* whsec_, whsk_ decoded */
};

struct sub_header {
	struct str name, value;
	bool secret;
};

enum sub_auth_type {
	AUTH_NONE,
	AUTH_BASIC,  /* username, password */
	AUTH_BEARER, /* token */
	AUTH_APIKEY, /* header, value */
	AUTH_OAUTH2, /* tokenUrl, clientId, clientSecret, scope */
	AUTH_MTLS,   /* certificate, key: PEM */
};

struct sub_auth {
	enum sub_auth_type type;
	struct str username, password;
	struct str token;
	struct str header, value;
	struct str token_url, client_id, client_secret, scope;
	struct str certificate, key;
};

/* A literal, or a JSON pointer into the event. Empty literal: not given. */
struct sub_value {
	struct str text;
	bool pointer;
};

enum sub_bind { BIND_NONE, BIND_TENANT, BIND_ISSUER };

struct sub_otp {
	struct otp otp; /* its secret is what this one's text stands for: */
	struct str secret;
	enum otp_key secret_encoding;
	int64_t digits; /* as JSON has it */
	enum sub_bind bind;
	struct str template; /* with {otp} once */
};

struct sub_hub {
	bool there;
	struct sub_value tenant, organization_id, service_partition, sender;
	struct str domain;
	struct str health_url; /* empty: the preset's */
	struct str shared_internal_key, event_api_key;
	struct str user_path, organization_path;
	bool own_user_path, own_organization_path; /* else the settings' */
	bool organization_events;
	struct str account_pointer; /* into the payload */
	enum preflight_fail preflight_fail;
	bool otp_said; /* null, too: calls without a code are no slip */
	bool has_otp;  /* false: interim mode (W4) */
	struct sub_otp otp;
};

enum sub_batch_mode { BATCH_IMMEDIATE, BATCH_BATCHED, BATCH_SUMMARY };

struct sub_batch {
	enum sub_batch_mode mode;
	int64_t window_s, max_size;
};

/* What a subscription that another part keeps belongs to. */
struct sub_managed {
	struct str by; /* that part's name; empty: nobody but its owner */
	struct str object_id, object_path, webhook_id;
	int64_t ack_wait_s; /* > 0: a pull consumer, whose leases are so long */
	int64_t expires_us; /* and which ends then; 0: never */
};

struct sub_retry {
	bool has_list; /* delaysMs and jitterMs */
	struct retry_schedule list;
	bool has_count; /* the preset's schedule, so often */
	int64_t count;
};

struct sub_conf {
	struct arena *arena;
	const struct preset *preset;

	struct str name, url;
	bool own_url;         /* else the setting's, as it is now */
	struct vars url_vars; /* the URL; {tenant} is all it may have */
	struct vars health_vars;
	bool enabled;
	struct str *types; /* n 0: all */
	size_t n_types;
	struct member_uuids tenants; /* n 0: all */
	struct str filter, template; /* jq; empty: none */
	struct sub_secret secrets[SUB_SECRETS_MAX];
	size_t n_secrets;
	struct sub_header *headers;
	size_t n_headers;
	struct sub_auth auth;
	bool has_order; /* else the preset's */
	bool ordered;
	bool block; /* onDead: what is behind a dead letter of its key waits */
	bool drop_stale, coalesce;
	int64_t deadline_s; /* 0: none */
	struct sub_retry retry;
	int64_t timeout_ms, concurrency, rate_per_second; /* 0: the preset's */
	struct sub_batch batch;
	struct sub_hub hub;
	struct sub_managed managed;
};

/* What reading needs to know of the world. */
struct sub_rules {
	const struct presets *presets;
	const struct conf *conf;
	int64_t now_us;
	/* The URL guard's rules that need no network; NULL: syntax alone. */
	int (*url_check)(
	    void *arg, struct str url, const char *at, struct err *e);
	/* A URL without a host is a sink's of ours (sink/sink.h): 1 when one
	 * takes it, 0: none does, < 0: it is wrong; NULL: there are none. */
	int (*sink_check)(void *arg, const struct sub_conf *s, struct err *e);
	/* Compiles a jq program ("/filter" or "/template"); NULL: not now. */
	int (*program_check)(
	    void *arg, struct str program, const char *at, struct err *e);
	void *arg;
	const struct sub_managed *managed; /* NULL: a user's own */
};

/* All members that a user gives, and what they are. */
extern const struct member SUB_BODY[];

/* Its URL has a host: it is called over HTTP, and what is sent is signed. */
bool sub_called(const struct sub_conf *s);

/* What seals and unseals the secrets of one subscription. */
struct sub_seal {
	int (*seal)(const struct sub_seal *by, struct arena *a,
	    struct str plain, struct str *ret, struct err *e);
	int (*unseal)(const struct sub_seal *by, struct arena *a,
	    struct str sealed, struct str *ret, struct err *e);
	struct keyring *ring;
	struct str where; /* as in keyring_where() */
	void *arg;
};
/* The keyring does, of the subscription `uid`; the arena has `where`. */
struct sub_seal sub_seal_by(
    struct keyring *ring, struct arena *a, struct uuid uid);

/* POST (old NULL) or PATCH. ERR_SYNTAX, ERR_INVALID, ERR_LIMIT. */
int sub_read(struct str json, const struct sub_conf *old,
    const struct sub_rules *rules, struct sub_conf **ret,
    struct err *e) MUST_CHECK;
/*
 * From the store. ERR_ABSENT when its preset is not among `presets`. Without
 * `seal` its secrets stay closed: it can be looked at, not sent with.
 */
int sub_load(struct str stored, const struct presets *presets,
    const struct sub_seal *seal, struct sub_conf **ret,
    struct err *e) MUST_CHECK;
void sub_free(struct sub_conf *s);   /* NULL is fine */
void sub_freep(struct sub_conf **s); /* for CLEANUP */

/* The stored form, in the arena. */
int sub_store(const struct sub_conf *s, const struct sub_seal *seal,
    struct arena *a, struct str *ret, struct err *e) MUST_CHECK;
/*
 * The members of the shown form, without braces, so that the caller can put
 * id and state beside them. `once`: with the newest secret, as a 201 has it.
 */
void sub_show(const struct sub_conf *s, bool once, struct buf *b);

/*
 * A new secret of the same kind in front; the one before is good for
 * overlap_s more (0..SUB_OVERLAP_MAX_S). What has ended goes. ERR_CONFLICT when
 * the preset signs nothing, ERR_LIMIT past SUB_SECRETS_MAX.
 */
int sub_rotate(struct sub_conf *s, int64_t overlap_s, int64_t now_us,
    struct err *e) MUST_CHECK;

/* What preset and subscription say together, ready to be used. */
struct sub_policy {
	struct retry_schedule retry; /* for retry_next(), with scale */
	int64_t scale;
	int64_t connect_ms, total_ms; /* never scaled; below half of a lock */
	int64_t concurrency, concurrency_floor;
	int64_t rate_per_second; /* 0: no limit */
	bool ordered;
	int64_t breaker_failures; /* 0: no breaker */
	bool breaker_first;
	/* These are scaled. */
	int64_t breaker_open_ms, spacing_ms, lock_ms;
};

void sub_policy(
    const struct sub_conf *s, int64_t scale, struct sub_policy *ret);
/* What its preset says of those that are managed, when it is one. */
struct preset_managed sub_managed_by(const struct sub_conf *s);
