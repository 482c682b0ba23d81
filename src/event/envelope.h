/*
 * envelope.h - what an event is, as bytes and as a value.
 *
 * envelope_parse() takes what somebody published and either says what is wrong
 * with it, at which JSON pointer, or gives a struct event: the fields that the
 * log is indexed by, and the bytes to store.
 *
 * BODY. The bytes to store are the bytes received, without blanks around them.
 * Where eventId, occurredAt or correlationId is absent it is made up and put
 * directly behind the opening brace, as the caller's traceparent is
 * (cloud/trace.h). Of a type of the catalog a partitionKey or
 * recordVersion that is absent (or null) is made of the payload, and put into
 * the sequence in the same way. Masks (mask.h) replace values inside the
 * payload. Nothing else is changed: no reformatting, no number is touched.
 *
 * FIELDS, checked in this order; the first that is wrong is reported:
 *   eventId        UUID of any version; absent: opts' id, or a new v7
 *   schemaVersion  whole number from 1 to 2^31 - 1
 *   eventType      1 to EVENT_TYPE_MAX of A-Z a-z 0-9 . _ -, a letter first,
 *                  no empty part between dots; `ops.` and `hikyaku.` are ours
 *   occurredAt     RFC 3339 in UTC; absent: now
 *   tenantId       UUID
 *   producer       {service, instanceId}, 1 to EVENT_SERVICE_MAX bytes each
 *   correlationId  UUID; absent: a new v7
 *   sequence       {partitionKey, recordVersion}: 1 to EVENT_KEY_MAX bytes,
 *                  and RFC 3339 with any offset, null or absent
 *   payload        an object
 *   seq, receivedAt, deliveries at the top may not be given: we add them
 * Names have no control characters. null is not the same as absent, but for
 * recordVersion. Other members are kept and not looked at.
 *
 * SCHEMA. In strict mode an unknown type or version, a payload that does not
 * fit the catalog, or a sequence that does not fit the payload is ERR_INVALID. In open mode an unknown type is fine,
 * and what does not fit a known one is `warning`.
 *
 * LIFE. An event borrows from the input and the arena: both must outlive it.
 * No globals, no clock: now is a parameter.
 */
#pragma once

#include "base/base.h"

struct mask;

struct event {
	struct uuid event_id, tenant, correlation;
	struct str type;
	int64_t schema_version;
	int64_t occurred_us;
	struct str service, instance;
	struct str key;
	bool has_rv;
	int64_t rv_us;
	const struct json *tree;    /* as received: not masked */
	const struct json *payload; /* its node in the tree */
	struct str body;            /* to store and deliver; ends in } */
	struct str payload_raw;     /* inside body */
	struct str warning;         /* why strict mode would refuse, or "" */
};

struct envelope_opts {
	int64_t now_us;
	bool strict;                 /* event.schema.mode */
	bool own;                    /* our own event: our prefixes are fine */
	const struct mask *mask;     /* NULL: none */
	const struct uuid *event_id; /* for one that has none; NULL: new */
	size_t body_max;             /* bytes as received; 0: any */
	struct str trace; /* cloud/trace.h: for one that has none; or empty */
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
 * A text at the top of a stored body, by its name in quotes, without parsing it
 * and as it is spelled there.
 */
bool envelope_text(struct str body, struct str quoted, struct str *ret);
/*
 * The correlationId of a stored body, or of its beginning, without parsing it:
 * false when there is none as far as it goes.
 */
bool envelope_correlation(struct str body, struct uuid *ret);

bool envelope_has_control(struct str s); /* a control character */
/* What is wrong with a type's name, or NULL. Knows nothing of prefixes. */
const char *envelope_type_wrong(struct str type);

/* The same up to its closing brace, for who adds members of his own. */
void envelope_show_open(
    struct buf *b, struct str body, int64_t seq, int64_t received_us);
/* A stored body as the API shows it: with seq and receivedAt at its end. */
void envelope_show(
    struct buf *b, struct str body, int64_t seq, int64_t received_us);
/* And with deliveries, which is the text of a JSON array. */
void envelope_show_all(struct buf *b, struct str body, int64_t seq,
    int64_t received_us, struct str deliveries);
