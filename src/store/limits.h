/*
 * limits.h - the bounds of the store: waits, statements, the WAL.
 */
#pragma once

#include "base/base.h"

#define STORE_ARGS_MAX     128   /* of a statement: eight rows of the log */
#define STORE_TX_RUNS      3     /* a transaction that meets another's locks */
#define STORE_BUSY_MS      5000  /* SQLite: for another process's write */
#define STORE_RESTART_MS   1000  /* for readers, while the writer stands */
#define STORE_WAIT_MS      10000 /* PostgreSQL: for an answer */
#define STORE_CONNECT_MS   5000  /* until an attempt to connect is given up */
#define STORE_RECONNECT_MS 250   /* between attempts, and for one in a call */
#define STORE_MIGRATE_MS   3600000 /* an index over a large table */
#define STORE_FULL_RETRY_S 5
#define STORE_AWAY_RETRY_S 1
/* Arrays of one call: a commit's bytes, its short columns, and room. */
#define STORE_ARRAYS_MAX   (32 * MIB)
/* What a connection keeps of that memory between calls. */
#define STORE_ARRAYS_KEEP  (1 * MIB)
/* Retention: rows a step, so that the writer never stalls. */
#define RETAIN_STEP        500

/* WAL size past which the writer itself restarts it; but sooner, from _READY
 * on, when the checkpoints have left no more than _LITTLE to copy. */
#define WAL_RESTART_BYTES (64 * MIB)
#define WAL_READY_BYTES   (48 * MIB)
#define WAL_LITTLE_BYTES  (8 * MIB)
#define WAL_SHARE_BYTES   (4 * MIB) /* that a checkpoint does not wait for */
