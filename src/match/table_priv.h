/*
 * table_priv.h - what table.c and table_objects.c share.
 *
 * A cell is a list of subs that is found by a key: those who want a type of all
 * tenants or of one (table.c), and those who watch an object (table_objects.c).
 */
#ifndef MATCH_TABLE_PRIV_H
#define MATCH_TABLE_PRIV_H

#include "match/index.h"
#include "match/table.h"

struct match_table {
	struct index wants;   /* struct want, by sub */
	struct index watches; /* struct watch, by sub */
	struct index cells;
};

/* What wants and watches begin with. */
struct by_sub {
	struct index_link link; /* count: of its cells, of its types */
	int64_t sub;
};

struct cell {
	struct index_link link; /* count: of subs, never 0 */
	int64_t *subs;          /* ascending */
	uint16_t n;             /* of the key */
	char key[];
};

enum cell_kind { CELL_ALL_TENANTS, CELL_TENANT, CELL_OBJECT };

void *by_sub_find(const struct index *x, int64_t sub);
void by_sub_add(struct index *x, struct by_sub *s, int64_t sub);

/* `name` is a pattern's key or an object's id. NULL: nobody wants it. */
const struct cell *cell_find(const struct match_table *t, enum cell_kind kind,
    const struct uuid *tenant, struct str name);
/* NULL when it is in there already. */
struct cell *cell_put(struct match_table *t, enum cell_kind kind,
    const struct uuid *tenant, struct str name, int64_t sub);
void cell_drop(struct match_table *t, struct cell *c, int64_t sub);

/* ERR_LIMIT when one more would be too many. */
int match_room(const struct match_table *t, struct err *e) MUST_CHECK;
int match_check_types(
    const struct str *types, size_t n, struct err *e) MUST_CHECK;

int match_hit(
    struct match_hits *h, const int64_t *subs, size_t n, struct err *e);
/* What a find that gave rc leaves: those after the first `from` sorted, each
 * once, or none of them. */
int match_settle(struct match_hits *h, size_t from, int rc);

void match_drop_object(struct match_table *t, int64_t sub);

#endif
