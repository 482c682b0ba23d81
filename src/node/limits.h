/*
 * limits.h - the bounds of leases (node/node.h) and errands (node/errand.h).
 */
#pragma once

#include "base/base.h"

/* A node that delivers says so each second; see deliver/engine/deliver.h. */
#define LEASE_US       ((int64_t)15 * 1000 * 1000)
#define LEASE_RENEW_US ((int64_t)1000 * 1000)
#define LEASE_SEND_US  ((int64_t)3 * 1000 * 1000)

/*
 * Errands (errand.h). An asker waits for longer than a lease, and what a node
 * that takes over needs to begin; when its server stops, a moment more.
 */
#define ERRAND_WAIT_US  ((int64_t)20 * 1000 * 1000)
#define ERRAND_HURRY_US ((int64_t)2 * 1000 * 1000)
#define ERRAND_LOOK_MS  20    /* between looks for rows */
#define ERRAND_REST_MS  500   /* the same, when there were none for … */
#define ERRAND_BUSY_MS  10000 /* … so long */
#define ERRANDS_MAX     1024 /* that one node runs at once: workers that wait */
#define ERRAND_MEM      (1 * MIB)
