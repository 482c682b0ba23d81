/*
 * envelope.h - what an event is, as bytes and as a value.
 *
 * envelope_parse() takes what somebody published and either says what is wrong
 * with it, at which JSON pointer, or gives a struct event: the fields that the
 * log is indexed by, and the bytes to store.
 *
 * BODY. The bytes to store are the bytes received, without blanks around them.
 * What is absent and has a default is put directly behind the opening brace, so
 * that every stored event has all members; the caller's traceparent too
 * (cloud/trace.h). Of a type of the catalog a partitionKey that is absent and a
 * recordVersion that is absent or null are those of the payload. Masks (mask.h) replace values inside
 * the payload. Nothing else is changed: no reformatting, no number is touched.
 *
 * FIELDS. An event needs eventType and payload. The first that is wrong is the
 * error; opts' list gets all that are.
 *   eventId        UUID of any version; absent: opts' id, or a new v7
 *   schemaVersion  whole number from 1 to 2^31 - 1; absent: 1
 *   eventType      1 to EVENT_TYPE_MAX of A-Z a-z 0-9 . _ -, a letter first,
 *                  no empty part between dots; `ops.` and `hikyaku.` are ours
 *   occurredAt     RFC 3339 in UTC; absent: now
 *   tenantId       a name (seal/tenant.h); absent: that of the defaults
 *   producer       {service, instanceId}, 1 to EVENT_SERVICE_MAX bytes each if
 *                  they are there; absent: that of the defaults
 *   correlationId  UUID; absent: a new v7
 *   sequence       {partitionKey, recordVersion}: up to EVENT_KEY_MAX bytes,
 *                  empty or absent: no order; RFC 3339 with any offset, null or
 *                  absent
 *   payload        an object
 *   seq, receivedAt, deliveries at the top may not be given: we add them
 * Names have no control characters. null is not the same as absent, but for
 * recordVersion. Other members are kept and not looked at.
 *
 * EXACT (event.envelope = strict) is seed 003 to the letter: all of these must
 * be there but eventId, occurredAt, correlationId and recordVersion, tenantId is
 * a UUID and no name is empty.
 *
 * SCHEMA. What does not fit the catalog or a type of the store (type/types.h) is
 * refused with ERR_INVALID when that type, or event.schema.mode, is strict; else
 * it is taken and `faults` tells. A type that nobody knows is fine, but in
 * strict mode.
 *
 * LIFE. An event borrows from the input and the arena: both must outlive it.
 * No globals, no clock: now is a parameter.
 */
#pragma once

#include "base/base.h"

struct faults;
struct mask;
struct types;

struct event {
	struct uuid event_id, tenant, correlation;
	struct str tenant_name; /* empty: it is the UUID */
	struct str type;
	int64_t schema_version;
	int64_t occurred_us;
	struct str key; /* empty: it is in no order */
	bool has_rv;
	int64_t rv_us;
	const struct json *tree;    /* as received: not masked */
	const struct json *payload; /* its node in the tree */
	struct str body;            /* to store and deliver; ends in } */
	struct str payload_raw;     /* inside body */
	struct faults *faults;      /* what strict mode would refuse; NULL */
};

/* For an event that does not say it. */
struct event_defaults {
	struct uuid tenant;
	struct str tenant_name; /* or the UUID's text; empty: it must say it */
	struct str producer;    /* the JSON object */
};

/* {"service":…,"instanceId":…}, the arena's. */
struct str envelope_producer(
    struct arena *a, struct str service, struct str instance);

struct envelope_opts {
	int64_t now_us;
	bool strict;                           /* event.schema.mode */
	bool exact;                            /* event.envelope */
	const struct event_defaults *defaults; /* NULL: there are none */
	const struct types *types;             /* of the store; NULL: none */
	struct faults
	    *faults; /* gets all that is wrong, on ERR_INVALID; NULL */
	bool own;    /* our own event: our prefixes are fine */
	const struct mask *mask;     /* NULL: none */
	const struct uuid *event_id; /* for one that has none; NULL: new */
	struct str trace;            /* traceparent of the request, or empty */
	size_t body_max;             /* bytes as received; 0: any */
};

/*
 * ERR_SYNTAX: no JSON. ERR_INVALID: with pointer and reason. ERR_LIMIT: more
 * than body_max. *ret is untouched on failure.
 */
int envelope_parse(struct arena *a, struct str bytes,
    const struct envelope_opts *o, struct event *ret, struct err *e) MUST_CHECK;
/* The same for a node of a document that is parsed already, as in a batch. */
int envelope_read(struct arena *a, struct json *tree,
    const struct envelope_opts *o, struct event *ret, struct err *e) MUST_CHECK;

/*
 * The correlationId of a stored body, or of its beginning, without parsing it:
 * false when there is none as far as it goes.
 */
bool envelope_correlation(struct str body, struct uuid *ret);
/* A text at the top, by its name in quotes, as it is written; the same. */
bool envelope_text(struct str body, struct str quoted, struct str *ret);

/* The tenant as its event calls it, or the UUID. */
void envelope_put_tenant(
    struct buf *b, const char *name, struct str body, struct uuid tenant);

bool envelope_has_control(struct str s); /* a control character */
/* What is wrong with a type's name, or NULL. Knows nothing of prefixes. */
const char *envelope_type_wrong(struct str type);
/* The prefix by which it is the server's own; NULL: it is not. */
const char *envelope_type_ours(struct str type);

/* The same up to its closing brace, for who adds members of his own. */
void envelope_show_open(
    struct buf *b, struct str body, int64_t seq, int64_t received_us);
/* A stored body as the API shows it: with seq and receivedAt at its end. */
void envelope_show(
    struct buf *b, struct str body, int64_t seq, int64_t received_us);
/* And with deliveries, which is the text of a JSON array. */
void envelope_show_all(struct buf *b, struct str body, int64_t seq,
    int64_t received_us, struct str deliveries);
