/*
 * table_priv.h - what table.c and ancestors.c share.
 *
 * The table of subscriptions is table.c's, the one of objects ancestors.c's;
 * both find their own by the sub when it is dropped.
 */
#ifndef MATCH_TABLE_PRIV_H
#define MATCH_TABLE_PRIV_H

#include "base/sip.h"
#include "match/index.h"
#include "match/table.h"

struct match_table {
	struct sip sip;
	struct index subs;  /* struct entry, by sub */
	struct index names; /* struct name, by key */
	struct index cells; /* struct cell of one tenant, by name and tenant */
	struct index objects; /* struct object, by id */
	struct index watches; /* struct watch, by sub */
};

uint32_t match_sub_hash(const struct match_table *t, int64_t sub);
/* ERR_LIMIT when one more would be too many. */
int match_room(const struct match_table *t, struct err *e) MUST_CHECK;
int match_check_types(
    const struct str *types, size_t n, struct err *e) MUST_CHECK;

int match_hit(
    struct match_hits *h, const int64_t *subs, size_t n, struct err *e);
/* Sorts what came after the first `from`, and drops doubles. */
void match_settle(struct match_hits *h, size_t from);

void match_drop_object(struct match_table *t, int64_t sub);
void match_objects_done(struct match_table *t);

#endif
