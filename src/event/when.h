/*
 * when.h - from a time to a place in the log.
 *
 * `mark` has the first seq of each minute; inside the minute the log itself is
 * searched, since its entries lie in the order of their commits: some twenty
 * looks, and no index by time.
 */
#pragma once

#include "base/base.h"

struct db;

/*
 * The first seq that was received at or after this time; one past the newest
 * when none was.
 */
int when_seq(
    struct db *db, int64_t at_us, int64_t *ret, struct err *e) MUST_CHECK;
