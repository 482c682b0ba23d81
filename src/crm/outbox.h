/*
 * outbox.h - the outbox of a service of the demo, and its publisher.
 *
 * A row is added in the transaction that saves what it tells of, so there is no
 * change without its event and no event without its change. The publisher reads
 * unpublished rows in the order of their ids, hands them to the server, and
 * marks them when the server says that they are in the log; whatever fails
 * leaves the row as it is. Published twice is one event: the log knows its id.
 *
 * The server's own relay does the same for the one outbox that it is told of.
 */
#ifndef CRM_OUTBOX_H
#define CRM_OUTBOX_H

#include "base/base.h"
#include "base/uuid.h"

struct arena;
struct lite;

struct outbox_event {
	const char *type;
	struct str key;
	int64_t version_us; /* 0: it has none */
	struct str payload; /* a JSON object */
};

/* Who writes: the same for all rows of one save. */
struct outbox {
	struct lite *db;
	const char *service;
	struct str tenant;
	char correlation[UUID_LEN + 1];
	int64_t now_us;
};

/*
 * A new save, inside of its transaction: with a correlationId of its own, and a
 * time that no save of this database had before, in milliseconds, as events
 * show it. So what is told to have happened later did.
 */
struct outbox outbox_begin(
    struct lite *db, const char *service, struct str tenant);
/* Inside of the save's transaction. */
int outbox_put(
    struct outbox *o, const struct outbox_event *ev, struct err *e) MUST_CHECK;

/* How the server is asked; the answer's body is the arena's. */
struct crm_server {
	int (*ask)(void *arg, const char *method, const char *path,
	    struct str body, struct arena *a, struct str *ret, struct err *e);
	void *arg;
};

/*
 * Publishes what waits, up to `most` rows. ERR_INVALID when the server refuses
 * one for good: it stays, as all behind it.
 */
int outbox_publish(struct lite *db, const struct crm_server *s, struct arena *a,
    int64_t most, int64_t *ret_n, struct err *e) MUST_CHECK;

#endif
