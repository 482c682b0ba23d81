/*
 * service.h - the services of the company, and how a consumer takes an event.
 *
 * A service is a SQLite file and a file of sql/ with its tables and, for each
 * type of event, what it makes of it. The consumers get their events from a pull
 * consumer of the server (company.h); hk_apply() of libhikyaku does for each, in
 * one transaction:
 *
 *   1. its id is known? Then nothing more is done.
 *   2. its recordVersion is strictly older than the newest that was applied for
 *      that record? Then it is ignored, but remembered.
 *   3. our handler runs the scripts that stand under "-- on:" its type.
 *
 * So an event may come twice, late, or in any order, and a consumer that is
 * killed at any point does it again or knows that it was done.
 *
 * What an event leaves out (amounts, addresses) is asked of Core, for scripts
 * that name :core. What Core answers may be newer than the event; therefore rows
 * of projections have a version of their own, Core's, and only go forward.
 *
 * LIFE. A taker belongs to one thread.
 */
#pragma once

#include "db.h"

/* Those before CONSUMERS get events; Core's outbox is the first of the four. */
enum service_id {
	CORE,
	SHARING,
	SEARCH,
	REPORTING,
	AUTOMATION,
	APPROVAL,
	CONSUMERS,
	METADATA = CONSUMERS,
	SERVICES
};

struct service {
	const char *name;     /* as the catalog's subscribers */
	const char *consumer; /* "crm-search", or NULL */
	const char *producer; /* whose events its outbox has, or NULL */
	const char *sql;      /* beside CRM_COMMON; NULL: nothing more */
};
extern const struct service SERVICE[SERVICES];

/* The file of a service in `dir`, "dir/search.db". */
void service_path(const char *dir, enum service_id id, char *ret, size_t room);
int service_open(
    const char *dir, enum service_id id, sqlite3 **ret, struct hk_error *e);
/* Its tables, if they are not there; a tenant is made up when it is NULL. */
int service_make(
    sqlite3 *db, enum service_id id, const char *tenant, struct hk_error *e);

/* The types that it has scripts for, each with blanks around: " A B ". */
#define SERVICE_TYPES_MAX 1024
void service_types(enum service_id id, char ret[SERVICE_TYPES_MAX]);

struct taker {
	enum service_id id;
	sqlite3 *db;
	struct hk_db *hk; /* over db */
	char tenant[HK_ID_LEN + 1];
	/* A record as Core has it now, as JSON; *ret NULL: there is none. */
	int (*ask)(void *ctx, const char *object, const char *record,
	    char **ret, struct hk_error *e);
	void *ctx;
};

int taker_open(struct taker *t, const char *dir, enum service_id id,
    const char *tenant, struct hk_error *e);
void taker_close(struct taker *t);
/*
 * HK_DEAD: the event is wrong for good, e->text says where. All else that fails
 * may be cured by another try; nothing was changed. *ret_foreign: it is of
 * another tenant or of a type that is another's, and was let be.
 */
int taker_take(struct taker *t, const struct hk_event *ev, enum hk_verdict *ret,
    bool *ret_foreign, struct hk_error *e);

/*
 * The databases of a consumer and of all producers beside it, for looking: the
 * comparisons of sql/check.sql, and how many events are on the way.
 */
int service_look(
    const char *dir, enum service_id id, sqlite3 **ret, struct hk_error *e);
/* tell() is called for each comparison that differs, in that many rows. */
int service_check(sqlite3 *look, enum service_id id,
    void (*tell)(void *ctx, enum service_id id, const char *what, int64_t n),
    void *ctx, int64_t *ret_n, struct hk_error *e);
int service_missing(
    sqlite3 *look, enum service_id id, int64_t *ret, struct hk_error *e);
