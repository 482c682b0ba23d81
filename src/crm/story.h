/*
 * story.h - what happens in the demo's company: settings are made, records
 * come, change hands, move on, are converted, decided on and deleted.
 *
 * What happens is the same for the same numbers; ids and times are new. All of
 * it goes through the services' own saves, so each leaves its events in an
 * outbox. Between them all types of the catalog occur but for those that
 * Sharing and Approval make on their own.
 *
 * LIFE. A story belongs to one thread, with databases of its own.
 */
#ifndef CRM_STORY_H
#define CRM_STORY_H

#include "base/base.h"
#include "crm/core.h"

struct story {
	struct core core;
	struct lite *metadata, *sharing, *approval;
	struct str tenant;
	struct arena *arena; /* for one step */
	core_id campaign;
};

/* Opens or makes the databases in `dir`; the tenant is kept in Core's. */
int story_open(struct story *s, const char *dir, struct err *e) MUST_CHECK;
void story_close(struct story *s);

/* Roles, groups, rights, rules, processes. */
int story_settings(struct story *s, struct err *e) MUST_CHECK;
/* The life of the nth record. */
int story_step(struct story *s, int64_t n, struct err *e) MUST_CHECK;
/*
 * Old news: a slow part of Core writes events of versions long past once more,
 * under new ids, also of a record that is deleted. Nobody may believe them.
 */
int story_late(struct story *s, int64_t *ret_n, struct err *e) MUST_CHECK;
/* Whoever may decides all that waits; *ret_n says how many. */
int story_decide(struct story *s, int64_t *ret_n, struct err *e) MUST_CHECK;
/* How many events the four outboxes have had, and how many wait. */
int story_outboxes(struct story *s, int64_t *ret_all, int64_t *ret_waiting,
    struct err *e) MUST_CHECK;

#endif
