/*
 * alert_priv.h - between the files of alerts.h: alert_rules.c knows the rules,
 * alerts.c looks at the store, alert_tell.c tells.
 */
#pragma once

#include <stdatomic.h>

#include "contract/limits.h"
#include "ops/alerts.h"

struct rule {
	const char *name, *severity;
	double threshold;
	bool below; /* it fires below its threshold, not above */
	const char *text;
};
extern const struct rule RULES[ALERT_RULES];

/* Something that is to be told. */
struct alert_news {
	int64_t sub; /* 0: of all together */
	enum alert_rule rule;
	bool firing;
	double value;
	int64_t minute, n; /* ALERT_DEAD: what is told by now */
	int64_t count;     /* … and how many are new */
	struct uuid uid;
	struct str name;
};

struct alerts {
	struct append *append;
	int64_t scale;
	int64_t next_ms, totals_ms;
	int64_t after;     /* subscriptions: where the next look goes on */
	_Atomic bool busy; /* the commit thread tells */
	/* For alerts_write(): thousandths. */
	_Atomic bool looked;
	_Atomic int64_t gauges[ALERT_RULES];
	_Atomic int64_t reasons[REASONS_MAX];
};

/* Posts them; busy until they are told. */
void alert_tell(
    struct alerts *a, struct db *db, struct alert_news *v, size_t n);
/* How long after a notice the next may come. */
int64_t alert_minute_us(const struct alerts *a);
