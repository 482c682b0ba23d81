/*
 * limits.h - the bounds of delivery, but those of its core.
 */
#pragma once

#include "base/base.h"

/* What dispatch takes from the log at once, and hands over at once. */
#define FEED_PAGE       256
#define FEED_BYTES      (2 * MIB)
#define FEED_MAX        512
#define LOST_MAX        256 /* readers that a look moves; the next goes on */
/*
 * A filter or template that overruns so often within that time holds its
 * subscription (spec/webhooks.md); so do errors, which cost a dead letter each.
 */
#define STRIKE_OVERRUNS 3
#define STRIKE_FAILURES 100
#define STRIKE_MS       600000
#define STRIKE_TEXT     "10 minutes"
/* Records whose last version is kept in memory: some 8 MiB of them. */
#define VERSIONS_MAX    65536
/* Whole subscriptions kept in memory because they were sent to lately. */
#define CONFS_MAX       4096
#define CRASHES_MAX     3 /* of the process, with the same entry in flight */
#define ATTEMPT_MEM     (4 * MIB) /* all that one attempt may make */
#define DETAIL_BODY     1000      /* characters of an answer that are kept */
#define HIDE_LEAST      4         /* of a secret that is hidden in answers */
/* Bounds of what attempts took, in ms, as stat.h0 to h6 count them. */
#define STAT_BOUNDS     100, 500, 1000, 2500, 5000, 10000, 30000
#define DETAIL_MAX      (48 * KIB) /* JSON of an attempt, all of it escaped */
#define DETAIL_ERROR    1000       /* … of what went wrong */
#define ERROR_BODY      500        /* … of an answer in that */
/*
 * Dead letters of a health check, put back when it is good again: each so often
 * at most, so many at once, while no more than that wait; a check a minute.
 */
#define REVIVE_TIMES    3
#define REVIVE_PAGE     256
#define REVIVE_MS       60000
#define REVIVE_URLS     16 /* health checks of one subscription in that time */
#define REVIVE_BUSY     16 /* subscriptions looked after at once */
#define ANSWER_MAX      (1 * MIB) /* of a body that a receiver answers with */

#define ASK_WAIT_US       5000000 /* for dispatch to read so far */
#define TEST_SEND_MS      30000   /* a test send; somebody waits for it */
#define TESTS_MAX         32      /* of these at once: beside all the slots */
/* Batches (deliver/batch/batch.h) and the limits of CHILD_* events. */
#define BATCH_BYTES_MAX   (512 * KIB) /* members of one: half of an event */
#define BATCH_MEMBER_MAX  (64 * KIB)  /* a longer one is named, not shown */
#define BATCH_NODES_MAX   (JSON_NODES_MAX / 2) /* values; it is parsed again */
#define BATCH_GROUPS_MAX  64  /* folders of a window: entries of a commit */
#define BATCH_COUNTS_MAX  256 /* folders and types that a summary counts */
#define BATCH_FACE_MAX    (1 * KIB)  /* JSON of a folder or repository */
#define BATCH_JOB_MEM     (96 * MIB) /* all that one commit may make */
#define BATCH_MEM_MAX     (64 * MIB) /* open windows: the rest is in the log */
#define BATCH_KINDS_MAX   8 /* changes of mode that a subscription remembers */
#define BATCH_SUMMARY_MS  60000     /* seed 10.2.1: one minute */
#define CHILD_SENDS_MAX   50        /* singles of one commit */
#define CHILD_STATE_MAX   (8 * MIB) /* queue and breakers, as they are kept */
#define CHILD_QUEUE_MAX   1000      /* seed 10.2.2 */
#define CHILD_MINUTE_MS   60000
#define CHILD_OPEN_MS     300000 /* seed 10.2.3 */
#define CHILD_FOLDERS_MAX 4096   /* remembered at once */
#define CHILD_OPEN_MAX    64     /* breakers open at once */
#define CHILD_DROPS_MAX   100    /* audited one by one, in one commit */

/* Pull consumers (sink/pull/pull.h). Leases at once: below SUB_ITEMS_MAX, so that others can be read meanwhile. */
#define CONSUMER_FLIGHT_MAX 800
#define CONSUMER_SOON_US    (5 * (int64_t)1000 * 1000) /* "now" takes at most */
/* Without a worker for so long, what waits for one leaves memory. */
#define CONSUMER_REST_US    (10 * (int64_t)1000 * 1000)
/* Replays. */
#define REPLAY_TYPES_MEM    (64 * KIB) /* the patterns of one, parsed */
#define REPLAY_TYPES_MAX    64         /* as many as a person writes */
#define REPLAY_PAGES_PER_S  10     /* a limited one reads so often at most */
#define REPLAY_COUNT_MAX    100000 /* entries of one, that are looked at */
#define REPLAY_RATE_MAX     100000 /* a second; more is no limit */
