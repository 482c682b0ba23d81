/*
 * metric.h - numbers about the running program, for Prometheus.
 *
 * A room's metrics.tbl names those that it owns:
 *
 *   COUNTER(id, name, help)            only grows
 *   GAUGE(id, name, help)              is set
 *   STATUSES(id, name, help)           a counter for each status of HTTP
 *   HISTOGRAM(id, name, help, scale, bounds…)
 *                                      counts observations; `scale` divides
 *                                      what is observed into the shown unit
 *
 * The Makefile gathers them in a metrics.tbl of all. A metric is an atomic that
 * any thread may change; the order of changes doesn't matter, so they are
 * relaxed and cost a few nanoseconds. Values of the process (memory, CPU) are read when asked.
 */
#pragma once

#include "base/base.h"

struct buf;

/* Each is a METRIC for whoever goes through the tables. */
#define COUNTER(id, name, help)  METRIC(id, COUNTER, name, help, 1, 0)
#define GAUGE(id, name, help)    METRIC(id, GAUGE, name, help, 1, 0)
#define STATUSES(id, name, help) METRIC(id, STATUSES, name, help, 1, 0)
#define HISTOGRAM(id, name, help, scale, ...)                                  \
	METRIC(id, HISTOGRAM, name, help, scale, __VA_ARGS__)

enum metric {
#define METRIC(id, ...) id,
#include "metrics.tbl"
#undef METRIC
	METRIC_COUNT
};

void metric_add(enum metric m, int64_t n);
void metric_set(enum metric m, int64_t v);
void metric_status(enum metric m, int status); /* 100 to 599; of STATUSES */
void metric_observe(enum metric m, int64_t v);
/*
 * Counters and gauges of one of several things of a kind: shown as
 * name{key="value"} once they are set or added to. `set` 0 is without a label,
 * as above. ERR_LIMIT: there are METRIC_SETS_MAX. For the life of the process;
 * the same label is the same set.
 */
int metric_set_of(const char *key, const char *value);
void metric_add_in(int set, enum metric m, int64_t n);
void metric_set_in(int set, enum metric m, int64_t v);

int64_t metric_value(enum metric m); /* counter, gauge, or observations */

/* All of them and the process's own in Prometheus' text format. */
void metric_write(struct buf *b);
