/*
 * table.h - who wants an event.
 *
 * A subscription wants types (exactly, or a family "feed.item.*") and tenants;
 * none of either means all.
 *
 * HOW. The trie of dotted names is laid out flat: a cell is the ascending list
 * of those who want one pattern (its key, types.h) of one tenant or of all, and
 * is found by hash. So an event asks for its type, for each beginning of that
 * ("feed.item.", "feed.") and for all types, each for all tenants and for its
 * own. A find costs the parts of the type and its hits; what does not match is
 * never seen, were it a hundred thousand of the same type.
 *
 * LIFE. Owned by one thread (dispatch), no locks. All that is given is copied.
 *
 * INVARIANTS
 *   1. After a failed add the table answers as before.
 *   2. A cell that nobody is in is gone: the memory is that of the
 *      subscriptions there are.
 *   3. Never more than MATCH_SUBS_MAX subscriptions.
 */
#pragma once

#include "base/base.h"

struct match_table;

struct match_want {
	int64_t sub;             /* above 0 */
	const struct str *types; /* patterns; n_types 0: all */
	size_t n_types;
	const struct uuid *tenants; /* n_tenants 0: all */
	size_t n_tenants;
};

/* A zeroed struct is an empty list; n = 0 empties it and keeps the memory. */
struct match_hits {
	int64_t *subs;
	size_t n, cap;
};

struct match_table *match_new(void);
void match_free(struct match_table *t); /* NULL is fine */
size_t match_count(const struct match_table *t);

/*
 * One whose sub is not in the table. ERR_INVALID with the place ("/types/3") for
 * a bad pattern, ERR_LIMIT for too many types, tenants, or too many of both
 * together, and when the table is full.
 */
int match_add(struct match_table *t, const struct match_want *w,
    struct err *e) MUST_CHECK;
/* One that was added, with all that it wants. */
void match_drop(struct match_table *t, const struct match_want *w);

/*
 * Append who wants it, ascending, each once. An event without a tenant (NULL)
 * is for those who want all tenants. On failure the list is as it was.
 */
int match_find(struct match_table *t, struct str type,
    const struct uuid *tenant, struct match_hits *ret,
    struct err *e) MUST_CHECK;

void match_hits_done(struct match_hits *h);
