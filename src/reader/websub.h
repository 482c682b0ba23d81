/*
 * websub.h - WebSub (W3C): a feed's hub sends us what is new.
 *
 * WHAT. A feed may name a hub and its own address there, the topic. We ask the
 * hub for it, with an address of ours that nobody else knows and a secret; the
 * hub calls back to see that it was us; then it sends the feed whenever it
 * changes, signed with the secret, until its lease ends.
 *
 *   new ──asked──▶ asked ──it calls back──▶ verified ──2/3 of the lease──▶ asked
 *                   │  ▲                       │          (and still verified)
 *          denied ◀─┤  │ back-off              │ nobody subscribes any more
 *          failed ◀─┘──┘                       ▼
 *                                           leaving ──it calls back──▶ gone
 *
 * Nothing rests on it: the feed is fetched all the same, only every 12 h while
 * a hub that has sent something before holds its lease. A hub that verified and
 * never sent anything changes nothing. The rows are in feed_hub; fetch/fetcher_hub.c asks
 * (one server each: taking a row moves its next_at on), api/people/websub.c is called.
 *
 * Here is what is pure: no clock, no state, any thread.
 */
#pragma once

#include "base/base.h"

/* The first Link with rel=hub, and with rel=self, of an answer's head, as they
 * stand there; .p NULL: there is none. */
void websub_links(struct str head, struct str *ret_hub, struct str *ret_self);

/*
 * Is `header`, the value of X-Hub-Signature ("sha256=…"), that of these bytes?
 * Takes the same time wherever it is wrong.
 */
bool websub_signed(struct str header, struct str secret, struct str body);

/* Do both mean the same http or https URL? */
bool websub_same(struct str a, struct str b);

/* What a hub calls us with; empty: it did not say. */
struct websub_call {
	struct str mode, topic, challenge, lease;
};

enum websub_answer {
	WEBSUB_NO, /* we never asked for that: 404 */
	WEBSUB_SUBSCRIBED,
	WEBSUB_LEFT,
	WEBSUB_DENIED,
};

/* What it means when the row has this state and topic. */
enum websub_answer websub_called(
    struct str state, struct str topic, const struct websub_call *c);
/* May it send something in this state? */
bool websub_sends(struct str state);
/* The lease in seconds, as we believe it. */
int64_t websub_lease_s(struct str lease);
/* Until it is asked again when nothing came of the nth time (from 1). */
int64_t websub_pause_min(int64_t nth);
