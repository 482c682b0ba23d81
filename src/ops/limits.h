/*
 * limits.h - the bounds of jobs: how often, and how much at once.
 */
#pragma once

/* Values that one step of a rotation seals anew: some 5 ms. */
#define RESEAL_STEP 200

/* Old audit rows. */
#define AUDIT_JOB_STEPS 20   /* of RETAIN_STEP, that one look begins */
#define AUDIT_JOB_MS    1000 /* how often old rows are looked for */
/* Alerts (ops/alerts.h). */
#define ALERT_MS        5000 /* between two looks */
#define ALERT_WINDOW_M  15   /* minutes that rates are taken over */
#define ALERT_HOUR_M    60
#define ALERT_SUBS_MAX  1000 /* subscriptions looked at in one look */
#define ALERT_NEWS_MAX  64   /* alerts told by one look; the rest by the next */
#define ALERT_LEAST     10   /* finished deliveries: fewer make no rate */
#define ALERT_LATEST    32   /* newest attempts, to find three in a row */
#define DEAD_OPEN_MAX   1000000 /* that are counted: some 50 ms of an index */

/* Ended subscriptions. */
#define SUB_DROP_STEP 500  /* rows of one, a transaction */
#define ENDED_JOB_MS  1000 /* between looks for ended ones */

/* Consumers with an end (ops/expire.h). */
#define EXPIRE_STEP 1000  /* that one look reads: they are few */
#define EXPIRE_MS   10000 /* between looks: a consumer may live on so long */

/* What goes by its age (ops/tidy.h). */
#define TIDY_MS          1000    /* between looks */
#define TIDY_REST_MAX_MS 3600000 /* after a pass that found all in order */
#define TIDY_STEPS       20      /* of RETAIN_STEP rows, that one look begins */
#define STAT_MINUTES     2880    /* two days by the minute, then by the hour */

/* Pages that a step of a backup copies: a MiB, some 2 ms of the commit thread. */
#define BACKUP_STEP     128
#define BACKUP_SPARE    ((int64_t)256 << 20) /* of the disk, beside the copy */
/* What is noted of a backup, and of a restored store. */
#define BACKUP_NOTE_MAX (4 * KIB)
