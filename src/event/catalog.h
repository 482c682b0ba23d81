/*
 * catalog.h - the twenty event types, version 1.
 *
 * One constant table (catalog.tbl) says for each type what it means, who makes
 * it, who is expected to listen, what its payload holds and which partition key
 * follows from that. The check at publish, what is filled in, the JSON Schema
 * and `GET /v1/event-types` are made from it.
 *
 * The world is open: a type that is not here is an event like any other. What
 * to do with one, and with a payload that does not fit, is the caller's choice
 * (event.schema.mode, see envelope.h).
 */
#pragma once

#include "base/base.h"

#define CATALOG_VERSION 1 /* schemaVersion of every type here */

struct event;
struct field;

enum event_kind {
	EVENT_DOMAIN,      /* made by the transaction that saved a record */
	EVENT_INTEGRATION, /* settings and derived state of other services */
};

struct event_type {
	const char *name;
	enum event_kind kind;
	bool optional;        /* a producer need not make it */
	const char *producer; /* the service: core, approval, … */
	const char *key; /* "{objectName}:{tenantId}:{recordId}": catalog_key */
	const char *description;
	const char *const *subscribers; /* NULL ends */
	const struct field *fields;     /* of the payload; see schema.h */
};

const struct event_type *catalog_find(struct str name); /* NULL: not here */
/* The one after t, the first for NULL; NULL at the end. */
const struct event_type *catalog_each(const struct event_type *t);

/* ERR_INVALID with the pointer: /schemaVersion, or below /payload. */
int catalog_check(const struct event_type *t, const struct event *ev,
    struct err *e) MUST_CHECK;

/*
 * The partition key that the payload gives; empty when it lacks a member of it.
 * A member of a member is written with a dot.
 */
struct str catalog_key(struct arena *a, const struct event_type *t,
    const struct uuid *tenant, const struct json *payload);
/* The payload's recordVersion, where the type has one and it is a time. */
const struct json *catalog_version(const struct event_type *t,
    const struct json *payload, int64_t *ret_us);
/*
 * Key and version are those of the payload: the letters' case of its ids does
 * not count, and a version is an instant. ERR_INVALID below /sequence.
 */
int catalog_check_sequence(struct arena *a, const struct event_type *t,
    const struct event *ev, struct err *e) MUST_CHECK;

/* The JSON Schema of the payload. */
void catalog_schema(const struct event_type *t, struct buf *b);
/* One type for the API: {"type","kind","producer",…,"schema":{…}}. */
void catalog_write(const struct event_type *t, struct buf *b);
/* All of them, as an array in the table's order. */
void catalog_write_all(struct buf *b);
