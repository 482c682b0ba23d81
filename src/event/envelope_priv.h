/*
 * envelope_priv.h - an event while it is read (envelope.c) and put together
 * (envelope_compose.c).
 */
#pragma once

#include "event/envelope.h"

struct event_type;

/* What we made up: in front, in that order; and in the sequence. */
struct made {
	bool event_id, occurred, correlation, trace, version, tenant, producer;
	bool sequence; /* all of it */
	bool key;      /* of the payload */
	struct str rv; /* of the payload, as JSON; empty: not made up */
	const struct event_type *of; /* NULL: the catalog does not have it */
};

/* Every field, with the object it is a member of. */
enum at {
	EVENT_ID,
	SCHEMA_VERSION,
	EVENT_TYPE,
	OCCURRED_AT,
	TENANT_ID,
	PRODUCER,
	CORRELATION_ID,
	SEQUENCE,
	PAYLOAD,
	SEQ,
	RECEIVED_AT,
	DELIVERIES,
	SERVICE,
	INSTANCE_ID,
	PARTITION_KEY,
	RECORD_VERSION,
	AT_COUNT
};
struct found {
	const struct json *v[AT_COUNT];
};

/* What is known of an event while it is read. */
struct reading {
	struct found f;
	const struct envelope_opts *o;
	struct event ev;
	struct made made;
};

/* The bytes to store: ev.body and ev.payload_raw. */
int envelope_compose(struct arena *a, struct json *tree, struct reading *r,
    struct err *e) MUST_CHECK;
