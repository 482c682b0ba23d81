/*
 * crm.h - the services of `hikyaku demo --crm`: a Core that saves records, and
 * the six consumers of seed 003, each with what it makes of Core's events.
 *
 * A consumer is one file with a table from event types to functions. It has a
 * SQLite file of its own, gets its events from a pull consumer of the server
 * (run.h), and for each event does all that follows in one transaction:
 *
 *   1. processed_events(tenant, event): known? Then nothing more is done.
 *   2. recordVersion strictly older than the newest applied for that record?
 *      Then it is ignored, but remembered as processed. Versions compare as
 *      instants. A deletion is a tombstone: nothing of its time or before
 *      brings the record back.
 *   3. the function of its type changes the projection.
 *
 * The first two are lib/sql/sqlite.sql, which is made for anybody's consumers.
 * So an event may come twice, late, or in any order, and a consumer that is
 * killed at any point does it again or knows that it was done.
 *
 * What an event leaves out (amounts, addresses: section 7 of the seed) is asked
 * of Core by `fetch`. What Core answers may be newer than the event; therefore
 * rows of projections have a version of their own, Core's, and only go forward.
 *
 * Which types a consumer gets stands in the catalog (event/catalog.c), as the
 * seed's section 4 lists them. One demo serves one tenant.
 *
 * LIFE. A taker belongs to one thread.
 */
#ifndef CRM_CRM_H
#define CRM_CRM_H

#include "base/base.h"
#include "crm/lite.h"

struct arena;
struct event_type;
struct json;

/* An event, read and checked against the catalog. Borrows from its JSON. */
struct crm_event {
	const struct event_type *type;
	struct str id, tenant;
	const struct json *payload;
	bool versioned;     /* it tells of a record, in a version */
	int64_t version_us; /* when versioned */
	struct str object, record;
	int64_t at_us; /* effectiveAt, submittedAt …; else occurredAt */
};

/*
 * ERR_INVALID with the pointer: no try will cure that. ERR_ABSENT for a type
 * that is not in the catalog.
 */
int crm_event_read(const struct json *j, struct arena *a, struct crm_event *ret,
    struct err *e) MUST_CHECK;
/* Of the payload, by JSON pointer; empty, false and 0 when absent. */
struct str crm_text(const struct crm_event *ev, const char *pointer);
bool crm_true(const struct crm_event *ev, const char *pointer);
int64_t crm_int(const struct crm_event *ev, const char *pointer);
bool crm_is(const struct crm_event *ev, const char *type);
/* changeType says that something ended: MemberRemoved, RoleDeleted … */
bool crm_ends(const struct crm_event *ev);

/* What a statement that changes rows answered, as a result. */
static inline int
crm_done(int64_t changed, const struct err *e)
{
	return changed < 0 ? e->code : OK;
}

/* A record as Core has it now. */
struct crm_record {
	bool there; /* false: deleted, or never was */
	struct str owner;
	int64_t version_us;
	const struct json *fields;
};
struct str crm_field(const struct crm_record *r, const char *name);
int64_t crm_field_int(const struct crm_record *r, const char *name);
bool crm_field_true(const struct crm_record *r, const char *name);

/* How a consumer asks Core. ERR_AWAY when Core does not answer. */
struct crm_fetch {
	int (*get)(void *arg, struct str object, struct str record,
	    struct arena *a, struct crm_record *ret, struct err *e);
	void *arg;
};

struct taker {
	const struct crm_service *service;
	struct lite *db;
	struct arena *arena; /* for one event */
	struct str tenant;
	struct crm_fetch fetch;
};

typedef int (*crm_apply_fn)(
    struct taker *t, const struct crm_event *ev, struct err *e);

struct crm_rule {
	const char *type;
	crm_apply_fn apply;
};

enum { CRM_SCHEMAS_MAX = 4 };
struct crm_service {
	const char *name; /* as the catalog's subscribers: "Search" */
	const char *file; /* "search.db" */
	int schemas[CRM_SCHEMAS_MAX];
	size_t n_schemas;
	const struct crm_rule *rules; /* one without a type ends */
	/* What it holds, for people: "12 documents, 1 hidden". */
	int (*size)(
	    struct lite *db, struct arena *a, struct str *ret, struct err *e);
};

#define CRM_SERVICES 6
extern const struct crm_service CRM_SEARCH, CRM_SHARING, CRM_AUTOMATION,
    CRM_REPORTING, CRM_APPROVAL, CRM_CORE;
extern const struct crm_service *const CRM_ALL[CRM_SERVICES];

/* Whether the seed's section 4 names the service as a subscriber of the type. */
bool crm_wants(const struct crm_service *s, const struct event_type *t);

enum crm_result {
	CRM_APPLIED,
	CRM_REPEATED, /* processed before */
	CRM_STALE,    /* older than what is known */
	CRM_FOREIGN,  /* of another tenant, or not of its types */
	CRM_WRONG,    /* given up: it does not fit its schema */
};
extern const char *const CRM_RESULTS[];

/*
 * The steps above. ERR_INVALID: the event is wrong for good. Everything else
 * may be cured by another try; nothing was changed.
 */
int crm_take(struct taker *t, const struct crm_event *ev, enum crm_result *ret,
    struct err *e) MUST_CHECK;

/*
 * A setting of the whole as an event tells it, by a table (settings.c): the
 * newest effectiveAt counts. *ret_kind is "role", "group" …, or "" when a
 * newer one is known.
 */
int crm_setting(struct taker *t, const struct crm_event *ev,
    struct str *ret_kind, struct str *ret_id, struct err *e) MUST_CHECK;
/* The same as an apply function, for whoever needs no more. */
int crm_setting_apply(
    struct taker *t, const struct crm_event *ev, struct err *e) MUST_CHECK;

#endif
