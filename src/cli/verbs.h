/*
 * verbs.h - the verbs, one file each (event, key, user and seal: one per group).
 *
 * All but serve, listen, verify, outbox and feed talk to the running server over
 * the unix socket in the data folder, and open the store themselves when none
 * runs and its lock is free; some need one that runs. Their names, options and
 * help stand in verbs.tbl.
 */
#pragma once

#include "cli/cli.h"

extern const struct verbs VERBS;

#define OPTS(...)
#define VERB(fn, ...) int verb_##fn(struct cli *c, struct err *e);
#include "cli/verbs.tbl"
#undef OPTS
#undef VERB
