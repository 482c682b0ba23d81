/*
 * expire.h - ends pull consumers whose time is over (`expiresAt`).
 *
 * A consumer that nobody works for any more keeps what it has not fetched in
 * the log. One that was made for a while says so, and whoever works for it
 * moves that time ahead; when the worker never comes back, it ends here, as a
 * DELETE would end it, and the audit tells.
 */
#pragma once

#include "base/base.h"

struct append;
struct db;

/* Those that are over, on the commit thread, up to EXPIRE_STEP; on any thread,
 * with its connection. */
int expire_look(struct append *append, struct db *db, int64_t now_us,
    struct err *e) MUST_CHECK;
