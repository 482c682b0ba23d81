/*
 * catalog.h - the event types that are built in, version 1: the twenty of seed
 * 003, and those that the server makes itself (feed., invoice., ops.).
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
struct faults;
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
	const char *
	    key; /* "{objectName}:{tenantId}:{recordId}": catalog_key; or NULL */
	const char *description;
	const char *const *subscribers; /* NULL ends */
	const struct field *fields;     /* of the payload; see schema.h */
};

const struct event_type *catalog_find(struct str name); /* NULL: not here */
/* The one after t, the first for NULL; NULL at the end. */
const struct event_type *catalog_each(const struct event_type *t);

/*
 * Adds what does not fit: at /schemaVersion, below /payload, or below /sequence
 * where key and version are not those of the payload. The letters' case of its
 * ids does not count, and a version is an instant.
 */
void catalog_check(struct arena *a, const struct event_type *t,
    const struct event *ev, struct faults *ret);

/*
 * The partition key that the payload gives; empty when it lacks a member of it,
 * and more than EVENT_KEY_MAX of nothing when it has too much.
 * A member of a member is written with a dot.
 */
struct str catalog_key(
    struct arena *a, const struct event_type *t, const struct event *ev);
/* The payload's recordVersion, where the type has one and it is a time. */
const struct json *catalog_version(
    const struct event_type *t, const struct json *payload, int64_t *ret_us);

/* The JSON Schema of the payload. */
void catalog_schema(const struct event_type *t, struct buf *b);
/* One type for the API: {"type","kind","producer",…,"schema":{…}}. */
void catalog_write(const struct event_type *t, struct buf *b);
