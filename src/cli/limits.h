/*
 * limits.h - the bounds of the program and of its verbs.
 */
#pragma once

#include "http/server/limits.h"

/* What one verb of the command line may make. */
#define CLI_ARENA_MAX  (64 * MIB)
#define ARGS_JSON_MAX  (64 * KIB) /* options, as members of a request */
/* One answer of the server to a verb: a page of a list fits. */
#define CLI_ANSWER_MAX (2 * PAGE_BYTES)
#define CLI_LOOK_MEM   (64 * KIB) /* one answer about a replay */

#define PARCEL_MANIFEST_MAX (64 * KIB) /* of a backup: cli/parcel.h */

/* Files and sockets of the program itself, beside connections and calls to
 * other servers: the store's, threads', children's, the log's. */
#define FILES_OWN 256
