/*
 * limits.h - the bounds of an event, and of what the log takes at once.
 */
#pragma once

#include "base/base.h"

/* Envelope. Names are indexed and shown; these fit a column and a screen. */
#define EVENT_TYPE_MAX      128
#define EVENT_KEY_MAX       512
#define EVENT_SERVICE_MAX   128
#define IDEMPOTENCY_KEY_MAX 255
/* What one answer tells of what is wrong with an event. */
#define FAULTS_MAX          20
/* Each event is walked once for each mask that names its type. */
#define MASK_RULES_MAX      256

/* Schemas of event types: all of them are in memory, compiled. */
#define TYPES_MAX       2000        /* versions of types */
#define TYPES_BYTES_MAX (16 * MIB)  /* of their schemas and examples */
#define TYPE_BODY_MAX   (128 * KIB) /* a schema and an example */
#define TYPE_TEXT_MAX   1024        /* a description */
#define TYPES_POLL_MS   2000        /* another node's change is known then */
#define TYPES_GRACE_MS  30000       /* nobody looks at one thing for so long */
#define SCHEMA_NODES    2000        /* subschemas */
#define SCHEMA_DEPTH    128         /* of a check, with references */
#define SCHEMA_WORK     20000       /* steps of a check, and more by length */
#define SCHEMA_DIGITS   320         /* of a number that is compared */
#define PATTERN_MAX     256         /* bytes */
#define PATTERN_STATES  512

/* Group commit: how many entries and bytes one transaction takes. */
#define COMMIT_BATCH_MAX       1024
#define COMMIT_BYTES_MAX       (8 * MIB)
/* What may wait for the committer; past it the answer is 503. */
#define COMMIT_QUEUE_MAX       16384
#define COMMIT_QUEUE_BYTES_MAX (64 * MIB)
/* A batch whose commit's answer was lost is run again for so long. */
#define COMMIT_RETRY_MS        3000

/* Newest ids kept in memory before they are written sorted (event/ids/ids.h). */
#define IDS_FRESH_MAX      131072
#define IDS_SLICE_MIN      512 /* puts between two writings: they share pages */
/* The filter before the written ones grows with the log, by about a byte an id:
 * at 5 million it is 4 MiB, and one id in twenty is looked for in vain. Past
 * the largest it is more. */
#define IDS_BLOOM_MIN      (1 * MIB)
#define IDS_BLOOM_MAX      (64 * MIB)
#define IDS_BLOOM_STEP     256  /* rows read into it by a commit */
#define IDS_BLOOM_START_MS 1000 /* and at the start, for so long */
/* Tenants that may use the same event id. */
#define IDS_SAME_MAX       64

/* Steps of retention (store/limits.h), after a large commit. */
#define RETAIN_STEP_MAX    (2 * COMMIT_BATCH_MAX)
/* What is waited for is weighed by so many of its entries; what one takes
 * besides its body: row, ids, index. */
#define RETAIN_SAMPLES     64
#define RETAIN_ENTRY_BYTES 200
/* A body as stored: webhook.max.payload.size, what is filled in, the seal. */
#define EVENT_STORED_MAX   (16 * MIB)
