/*
 * wish.h - a subscription in short: what dispatch and readers need of it.
 *
 * There may be a hundred thousand of them in memory, so a wish has no secrets,
 * no templates and no arena: types, tenants, the filter's text, and the numbers
 * that core.h wants. The whole subscription is read from the store when
 * something is to be sent to it (deliver/mailroom.h).
 *
 * Counted and never changed: dispatch, readers and the deliver thread share it.
 */
#ifndef DELIVER_WISH_H
#define DELIVER_WISH_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/uuid.h"
#include "deliver/core.h"

struct presets;
struct sub_conf;

enum wish_order {
	WISH_ORDER_NONE,
	WISH_ORDER_KEY,    /* by the event's own key */
	WISH_ORDER_PRESET, /* by what its preset says: request.h knows */
};

struct wish {
	_Atomic int refs;
	struct uuid uid;
	int64_t from_seq; /* it wants what stands behind it */
	struct core_sub core;
	enum wish_order order;
	bool spaced;             /* request_spacing_key() has to be asked */
	bool picky;              /* request_wanted() has to be asked */
	bool checked;            /* there is a health check before each call */
	const struct str *types; /* patterns; n 0: all */
	size_t n_types;
	const struct uuid *tenants; /* n 0: all */
	size_t n_tenants;
	struct str filter; /* jq; empty: none */
};

struct wish_row {
	int64_t id;
	struct str uid, conf; /* 16 bytes; deliver/subscription.h, stored */
	bool enabled;
	int64_t from_seq;
};

/* ERR_INVALID or ERR_ABSENT when the stored text can't be used. */
int wish_new(const struct wish_row *row, const struct presets *presets,
    int64_t scale, struct wish **ret, struct err *e) MUST_CHECK;
struct wish *wish_ref(struct wish *w);
void wish_unref(struct wish *w); /* NULL is fine */

/* By what the core knows the receiver at this URL: the key of its state. */
uint64_t wish_endpoint(struct str url);

/* By type and tenant; the filter is somebody else's. */
bool wish_wants(
    const struct wish *w, struct str type, const struct uuid *tenant);

#endif
