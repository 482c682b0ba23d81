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
#define CLI_BODY_MAX   MIB       /* a request that is made from a file */
#define CLI_SHOWN_MAX  (8 * MIB) /* one text, with its controls spelled out */
/* A server elsewhere: to connect, for an answer, and for the next byte of a
 * stream, which says that it lives more often than that. */
#define CLI_CONNECT_S  10L
#define CLI_ANSWER_S   100L
#define CLI_SILENCE_S  90L
#define CREDS_MAX      64 /* servers that are remembered */
#define CREDS_BYTES    (64 * KIB)
#define CLI_LOOK_MEM   (64 * KIB) /* one answer about a replay */

#define PARCEL_MANIFEST_MAX (64 * KIB) /* of a backup: cli/parcel.h */

/* Files and sockets of the program itself, beside connections and calls to
 * other servers: the store's, threads', children's, the log's. */
#define FILES_OWN 256
