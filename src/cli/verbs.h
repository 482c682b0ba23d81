/*
 * verbs.h - the verbs, one file for each group of those that are more than a
 * request; the others are rows (ask.h).
 *
 * Those of VERB, ASK and LIST_OF talk to a server: one that --server names, or
 * the one that runs on the data folder; some open the store themselves when
 * none runs there and its lock is free. Those of LOCAL ask nobody. Names,
 * options and help stand in verbs.tbl.
 */
#pragma once

#include "cli/cli.h"

extern const struct verbs VERBS;

#define OPTS(...)
#define COLUMNS(...)
#define ASK(...)
#define LIST_OF(...)
#define VERB(fn, ...)  int verb_##fn(struct cli *c, struct err *e);
#define LOCAL(fn, ...) int verb_##fn(struct cli *c, struct err *e);
#include "cli/verbs.tbl"
#undef OPTS
#undef COLUMNS
#undef ASK
#undef LIST_OF
#undef VERB
#undef LOCAL
