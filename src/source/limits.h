/*
 * limits.h - the bounds of incoming webhooks and of the outbox relay.
 */
#pragma once

#include "base/limits.h"
#include "event/limits.h"

/* Incoming webhooks (source/hook.h). */
#define HOOKS_MAX            1000 /* kept in memory by the thread they run on */
#define HOOK_NAME_MAX        63
#define HOOK_MEM_MAX         (256 * KIB) /* one, parsed */
#define HOOK_NETS_MAX        64          /* as many as a provider names */
#define HOOK_SECRET_MIN      8           /* less is guessed */
#define HOOK_SECRET_MAX      1024
#define HOOK_TOLERANCE_MAX_S 3600
#define HOOK_EVENTS_MAX      100      /* that a template makes of one request */
#define HOOK_QUEUE_MAX       256      /* requests waiting for their thread */
#define HOOK_RATE_MAX        10000000 /* a second: past what a node takes */
#define HOOK_FRESH_MS        5000     /* until another node's change is seen */
#define HOOK_LINES_PER_S     20       /* in the log, of those not verified */
#define HOOK_SCRATCH_MAX     (64 * MIB) /* a body, its tree and events */

/* What a source handed over that is no event (source/refused.h). The copy is
 * for a person to look at and mend; larger ones are kept by their owner. */
#define REFUSED_COPY_MAX (MIB + 64 * KIB) /* any, by the default limit */
#define REFUSED_REF_MAX  256
/* One opened: body, tree, copy. */
#define REFUSED_MEM      (16 * MIB)

/* The outbox relay (source/relay.h). */
#define OUTBOXES_MAX       (CONF_NAMED_MAX + 1) /* and the one without a name */
#define OUTBOX_NAME_MAX    48               /* "outbox.", a name of settings */
#define OUTBOX_TABLE_MAX   140              /* two names of 63, quoted */
#define OUTBOX_FETCH_ROWS  1000             /* read at once */
#define OUTBOX_CHUNK_ROWS  COMMIT_BATCH_MAX /* one append */
#define OUTBOX_CHUNK_BYTES (4 * MIB)
#define OUTBOX_CHUNK_MEM   (64 * MIB) /* such a chunk, and one row more */
/* One row: its tree, and those of its parts, of JSON_NODES_MAX each. */
#define OUTBOX_SCRATCH_MEM (128 * MIB)
#define OUTBOX_BUSY_MS     5000 /* SQLite: for the application's write */
#define OUTBOX_CONNECT_MS  10000
#define OUTBOX_LOCK_MS     5000   /* for rows that somebody holds locked */
#define OUTBOX_ANSWER_MS   60000  /* for anything from PostgreSQL */
#define OUTBOX_LAG_MAX     100000 /* rows that are counted */
#define OUTBOX_LAG_MS      5000
#define OUTBOX_BACKOFF_MS  30000 /* longest pause after failures */
/* The turn of one relay among several (source/pglease.h): how often it says
 * that it lives; after how much silence it stops by itself, and the others end
 * its sessions; how often these look. */
#define OUTBOX_BEAT_MS     3000
#define OUTBOX_HOLD_MS     10000
#define OUTBOX_SILENT_MS   15000
#define OUTBOX_STANDBY_MS  2000
/* xid mode: marks are gathered up to so many, or so long; how many may wait;
 * and how often the rows behind the window are looked through. */
#define OUTBOX_MARK_ROWS   5000
#define OUTBOX_MARK_MS     500
#define OUTBOX_MARKS_MAX   50000
#define OUTBOX_SWEEP_MS    30000
#define OUTBOX_SNAP_MAX    MIB /* a snapshot as text */
