/*
 * preset.h - a receiver's contract, as data.
 *
 * How the body looks, which headers, what is signed and how, what an answer
 * means, how long to wait, in what order and how far apart. The engine knows
 * no contract; it reads this struct. The built-in ones stand as JSON in
 * presets.tbl and go through the same parser as a user's own (PUT
 * /v1/presets/{name}), so that whatever they can do, a user can.
 *
 * THE JSON. Every member but `verdicts` may be left out; unknown ones are
 * errors; docs/presets.md is the reference. Texts with variables are vars.h's.
 *
 *   description  for people
 *   body         "envelope", "payload", or a text with variables
 *   contentType  "application/json"
 *   headers      [{name, value, secret, when, encode}]; a header whose variable
 *                has no value here, or whose `when` has none, is left out
 *   signatures   [{header, algorithm, encoding, content, prefix, key, all}];
 *                rows with the same header are joined by a blank
 *   secret       standard | text | optional | none: what a subscription has
 *   paths        [{types, path, when}] added to the URL; none fits: not sent
 *   verdicts     [{status, network, body, verdict}], the first that fits
 *   retry        {delaysMs} or {baseMs, maxMs, count}, and {jitterMs: [from,
 *                to, step] | jitterPercent, retryAfter}
 *   timeout      {connectMs, totalMs}
 *   concurrency, concurrencyFloor, ratePerSecond
 *   breaker      {failures, openMs, holds: all | first} | null
 *   order        none | key, orderKey, spacing {ms, key}, lockMs
 *   preflight    {url, pointer, equals, fail}
 *   log          {call, error, tracePointer}
 *   truncate     whether values are left out of a body that is over
 *                webhook.max.payload.size; truncatePointer says which,
 *                truncateMark is the member that tells of it
 *   frame        members of the payload that {payloadMembers} leaves out,
 *                since the body has its own
 *   gathers      mode | child: which events a subscription's `batch` is for
 *   audit        failures | all | off: which attempts the audit tells
 *   settings     none | dispatcher | callback: webhook.* of docs/settings.md
 *                that give numbers in place of those written here
 *   managed      {directed, keyName}: of subscriptions that a
 *                part of the server keeps (sub_managed_by())
 *
 * A NEW PRESET is a PRESET() of presets.tbl and its section of
 * docs/presets.md, nothing else. A new member of presets that is a value is a
 * field here and a row of TOP in preset_read.c.
 *
 * A NAME DECIDES NOTHING. No code asks what a preset is called: a copy of a
 * built-in one under another name is the same preset. What a preset of the
 * store doesn't say has the value that it always had.
 *
 * LIFE. A preset is never changed once parsed, and counted: whoever keeps one
 * holds a reference, on any thread. A struct presets belongs to one thread at
 * a time; presets_put() replaces the name's preset and drops its reference.
 */
#pragma once

#include <stdatomic.h>

#include "contract/member.h"
#include "contract/retry.h"
#include "contract/vars.h"
#include "contract/verdict.h"
#include "seal/sign.h"

struct conf;

enum preset_body { PRESET_ENVELOPE, PRESET_PAYLOAD, PRESET_TEXT };
enum preset_secret {
	PRESET_SECRET_STANDARD, /* whsec_ or whsk_; made when not given */
	PRESET_SECRET_TEXT,     /* any text; made when not given */
	PRESET_SECRET_OPTIONAL, /* any text; without one nothing is signed */
	PRESET_SECRET_NONE,     /* nothing is signed */
};
enum preset_encoding { PRESET_HEX, PRESET_BASE64 };
enum preflight_fail { PREFLIGHT_DEAD, PREFLIGHT_RETRY, PREFLIGHT_HOLD };
enum preset_gathers {
	PRESET_GATHERS_MODE,  /* all events, unless the mode is immediate */
	PRESET_GATHERS_CHILD, /* CHILD_* events, always, for their limits */
};
enum preset_audit {            /* which deliveries have rows in the audit */
	PRESET_AUDIT_FAILURES, /* attempts that failed */
	PRESET_AUDIT_ALL,
	PRESET_AUDIT_OFF,
};
enum preset_settings {
	PRESET_SETTINGS_NONE,
	PRESET_SETTINGS_DISPATCHER, /* webhook.retry.*, webhook.http.*, … */
	PRESET_SETTINGS_CALLBACK, /* webhook.timeout.ms, webhook.max.retries */
};

struct preset_header {
	struct str name;
	struct vars value;
	bool secret;   /* its value is shown nowhere */
	bool percent;  /* all but printable ASCII is percent-encoded */
	enum var when; /* VAR_COUNT: always */
};

struct preset_signature {
	struct str header;
	enum sign_algorithm algorithm;
	enum preset_encoding encoding;
	struct vars content;
	struct str prefix;
	bool decoded; /* whsec_ is decoded; else its text is the key */
	bool all;     /* each secret that is good now; else the newest alone */
};

struct preset_path {
	struct str types; /* exact, or a family with .* */
	struct vars path;
	enum var when; /* VAR_COUNT: always */
};

struct preflight {
	bool on;
	struct vars url;
	struct str pointer; /* into the answer, which must be a 200 */
	struct str equals;  /* JSON of a scalar, compared as it is written */
	enum preflight_fail fail;
};

/* Of subscriptions that a part of the server keeps. */
struct preset_managed {
	bool directed;       /* they get what names them, and nothing else */
	struct str key_name; /* of the event's key in log lines; empty: none */
};

struct preset {
	struct arena *arena; /* its own: it lies in there itself */
	atomic_uint refs;
	struct str name, description;
	struct str json; /* as it was given */
	bool builtin;
	bool uses_hub; /* a subscription needs the `hub` object */
	/* … and has these settings where it says nothing: webhooks.* */
	struct str endpoint_root, user_path, organization_path;
	bool keep_answers; /* of successes too: what they begin with */
	bool truncate;
	struct str truncate_pointer, truncate_mark;
	struct str *frame;
	size_t n_frame;
	bool ordered; /* by order_key, unless a subscription says otherwise */
	bool keyed_by_event; /* order_key is the event's own key */
	enum preset_gathers gathers;
	enum preset_settings settings;
	enum preset_audit audit; /* unless webhook.audit.deliveries says it */
	struct preset_managed managed;

	enum preset_body body;
	struct vars text; /* PRESET_TEXT */
	int64_t body_max; /* bytes; past it `truncate`, then RENDER */
	struct str content_type;
	struct preset_header *headers;
	size_t n_headers;
	struct preset_signature *signatures;
	size_t n_signatures;
	enum preset_secret secret;
	struct preset_path *paths;
	size_t n_paths;

	struct verdict_row *verdicts;
	size_t n_verdicts;
	struct retry_schedule retry;
	int64_t retries_max; /* a subscription may not ask for more */
	int64_t connect_ms, total_ms;
	int64_t concurrency;
	int64_t concurrency_floor; /* that failures leave of it */
	int64_t rate_per_second;   /* 0: no limit */
	int64_t breaker_failures;  /* 0: no breaker */
	int64_t breaker_open_ms;
	bool breaker_first; /* it holds first tries alone */
	struct vars order_key, spacing_key;
	int64_t spacing_ms, lock_ms; /* 0: none */
	struct preflight preflight;
	struct vars log_call, log_error; /* empty: no such line */
	struct str trace_pointer;
};

extern const struct member PRESET_BODY[]; /* what may be said of one */

/*
 * A user's own. ERR_SYNTAX or ERR_INVALID with pointer and reason. `conf`
 * bounds what they may ask for. The caller has the one reference.
 */
int preset_parse(struct str name, struct str json, const struct conf *conf,
    const struct preset **ret, struct err *e) MUST_CHECK;
const struct preset *preset_ref(const struct preset *p);
void preset_unref(const struct preset *p); /* NULL is fine */
/* The header is this preset's to set; a subscription's may not replace it. */
bool preset_owns_header(const struct preset *p, struct str name);

struct presets;

/* The built-in ones, with the numbers that the settings give. */
struct presets *presets_load(const struct conf *conf);
void presets_free(struct presets *ps);
void presets_freep(struct presets **ps); /* for CLEANUP */
const struct preset *presets_find(const struct presets *ps, struct str name);
/* Takes the reference. ERR_CONFLICT for the name of a built-in one. */
int presets_put(
    struct presets *ps, const struct preset *p, struct err *e) MUST_CHECK;
/* By name; start with *at = 0; NULL at the end. */
const struct preset *presets_each(const struct presets *ps, size_t *at);
