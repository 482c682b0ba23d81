/*
 * hatebu.h - how many Hatena bookmarks an article has (seed 002, 10.1 to 10.3).
 *
 * WHAT. In rounds (hatebu.batch.interval) the fetcher's thread asks the bulk
 * endpoint for up to 50 links a call: articles that were never asked for first,
 * then those whose count is older than hatebu.ttl, the oldest first. Between
 * two calls lies hatebu.api.interval, a round has hatebu.max.calls.per.cycle,
 * a day HATEBU_DAY_CALLS. A link that the answer leaves out has none; a call
 * that fails changes no count.
 *
 * NEVER ASKED FOR: links of private or local addresses (guard_public()), and
 * of articles in private feeds (feeds_mark()). These have no bookmarks.
 *
 *   IDLE ──it is time──▶ take_fn ──the turn is ours──▶ pick ──▶ ask_counts
 *     ▲                     │ somebody else's             ▲        │ answer
 *     └─────────────────────┴─ nothing to ask, enough ────┴─ put_fn, PAUSING
 *
 * ONE NODE ASKS, whoever has the turn (hatebu_turn): a lease, and beside it
 * when the next call may be, how many failed in a row and how many there were
 * today, so that neither a restart nor another node asks more than one would.
 */
#pragma once

#include "base/base.h"

/* How long to leave them alone after so many failures in a row: 0 to 2: not at
 * all, then 30 min, from the fifth 1 h, from the tenth 6 h. */
int64_t hatebu_pause_ms(int64_t failures);

/* Appends "url=…" for a link; false when the query has no room for it. */
bool hatebu_add_url(struct buf *query, struct str link);

/*
 * counts[i] of links[i] from the answer {"link":n,…}: 0 for one that is not in
 * it. ERR_SYNTAX, ERR_INVALID: it is no such answer.
 */
int hatebu_counts(struct arena *a, struct str answer, const struct str *links,
    size_t n, int64_t *counts, struct err *e) MUST_CHECK;
