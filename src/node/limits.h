/*
 * limits.h - the bounds of leases (node/node.h).
 */
#pragma once

#include "base/base.h"

/* A node that delivers says so each second; see deliver/engine/deliver.h. */
#define LEASE_US       ((int64_t)15 * 1000 * 1000)
#define LEASE_RENEW_US ((int64_t)1000 * 1000)
#define LEASE_SEND_US  ((int64_t)3 * 1000 * 1000)
