/*
 * revive.h - dead letters whose only fault was a health check that failed.
 *
 * While a subscription has some, its check is asked once a minute, and when it
 * is good they are put back, as a person would do it.
 *
 *   at rest ──minute──▶ page of dead letters ──▶ each: its health check known?
 *      ▲                  ▲       (fetch)          │ no: ask it, then go on
 *      │                  └── a second later ──────┤ good: put it back
 *      └────────── no more, or too many checks ────┘ bad: leave it
 *
 * WHY ONE BY ONE. The check's URL may have the tenant in it, and the tenant may
 * come from the event. So a URL is asked once in a round and its answer holds
 * for all dead letters of that URL; a tenant that is ill holds up no other.
 *
 * ORDER. With an order, a dead letter of a check holds its key (core_result.holds)
 * until it is put back or skipped, so there is one for each key, and what waits
 * behind it comes after it. Held ones are not counted among those that wait.
 *
 * NO LOOP. A round takes those that died before it began, so one that was put
 * back and died again is not seen twice in it; and each is put back
 * REVIVE_TIMES at most. While REVIVE_PAGE deliveries of the subscription wait,
 * no more are added to them.
 *
 * LIFE. The deliver thread's. An ill subscription is in the map; at rest it is
 * in the heap, else it waits for a page or a send. One that is dropped while it
 * sends is freed when the send ends.
 */
#pragma once

#include "base/base.h"

struct deads;
struct deliver;
struct revive;

struct revive *revive_new(struct deliver *d);
void revive_free(struct revive *v);

/* It has, or may have, dead letters of a health check. */
void revive_note(struct revive *v, uint32_t sub, int64_t now);
void revive_turn(struct revive *v, int64_t now);
int64_t revive_due(const struct revive *v); /* INT64_MAX: never */
void revive_deads(struct revive *v, struct deads *p, int64_t now);
void revive_forget(struct revive *v, uint32_t sub);
void revive_forget_all(struct revive *v);
