/*
 * alerts.h - does delivering go well? Numbers, and a word when it does not.
 *
 * Every few seconds the counters of each subscription that was busy lately
 * (table stat) are held against a table of rules, seed 004's 10.3 and 10.4:
 *
 *   webhook_delivery_success_rate  below 99 %, and below 95 %
 *   webhook_delivery_latency_p95   over 5 s
 *   webhook_retry_count_avg        over 1.5 retries a delivery
 *   webhook_failure_count          over 10 dead letters an hour
 *   webhook_failures_in_a_row      three attempts, the newest, failed
 *   webhook_waiting                over 1000 wait, all together
 *   webhook_pending                over half of what is kept for those who wait
 *   webhook_subscription_held      its filter or template went wrong too often
 *
 * Rates are of the last ALERT_WINDOW_M minutes and need ALERT_LEAST finished
 * deliveries. Whatever begins or ceases to be true is told once: a line in the
 * log and an event `ops.alert`, and so a webhook to whoever subscribes. Dead
 * letters are told as `ops.delivery.dead`, with how many there are.
 *
 * WHY THE STORE REMEMBERS what was told (table alert): a restart must not tell
 * it again, and several nodes may look. The row and the event are one
 * transaction.
 *
 * LIFE. The jobs thread calls alerts_turn() with its connection; what is to be
 * told is posted to the commit thread, one post at a time, and outlives a
 * stop: alerts_free() after the append has ended. alerts_write() may be called
 * by any thread.
 *
 * INVARIANTS
 *   1. At most one notice a rule, subscription and minute (time.scale divides
 *      the minute).
 *   2. Deliveries of ops.* count for nothing here (deliver/engine/flush.h), so that
 *      no notice leads to another.
 */
#pragma once

#include "base/base.h"

struct append;
struct db;

enum alert_rule { /* numbers of the store */
	ALERT_SUCCESS_99,
	ALERT_SUCCESS_95,
	ALERT_LATENCY,
	ALERT_RETRIES,
	ALERT_FAILURES,
	ALERT_IN_A_ROW,
	ALERT_WAITING,
	ALERT_DEAD, /* not a state: told each time there are more */
	ALERT_HELD,
	ALERT_PENDING,
	ALERT_RULES
};

/* What a subscription did, or all of them. */
#define ALERT_HIST 7
struct alert_sums {
	int64_t ok, fail, dead; /* attempts, attempts, deliveries */
	int64_t slow_us, hist[ALERT_HIST];
	int64_t dead_hour;
	bool in_a_row, held;
	int64_t waiting;
	double pending; /* hundredths: event/retain.h */
};
/* A rule's number, and whether it may be held against it yet. */
bool alert_value(enum alert_rule r, const struct alert_sums *s, double *ret);
bool alert_fires(enum alert_rule r, const struct alert_sums *s);

struct alerts;
struct alerts *alerts_new(struct append *append, int64_t time_scale);
void alerts_free(struct alerts *a); /* NULL is fine */
void alerts_turn(struct alerts *a, struct db *db);
/* webhook_* in Prometheus' text format; nothing before the first look. */
void alerts_write(struct alerts *a, struct buf *b);
