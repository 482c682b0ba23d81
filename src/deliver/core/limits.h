/*
 * limits.h - the bounds of the core: what is held in memory (core.h).
 *
 * The rest is in the log. The simulator brings smaller ones, so that each
 * bound is met all the time.
 */
#pragma once

#ifndef CORE_LIMITS_SMALL
#define CORE_ITEMS_MAX      32768 /* some 8 MiB of them */
/* Of one subscription, before it gets a reader; each may become a row. */
#define SUB_ITEMS_MAX       1000
#define SUB_ITEMS_LEAST     4   /* … of each, also when the core is full */
#define SUB_PARK_MAX        64  /* more that wait untried: no rows, a reader */
#define LANE_ITEMS_MAX      100 /* of one key, before it gets a reader */
#define LANE_ITEMS_KEEP     16  /* what such a key keeps of them */
/* Rows: a hundred retries of a key are enough to see what is wrong with it. */
#define LANE_ROWS_MAX       100
#define SUB_ROWS_MAX        1000
#define SUB_LANES_MAX       512 /* keys of a subscription with a reader each */
#define DELIVER_WINDOW_SEQS 8192
/* A page that ends so near to dispatch is a reader's last. */
#define READ_NEAR_SEQS      1024
#define READ_PAGE_MAX       256 /* that a reader takes from the log at once */
/* A flush takes so many results or waits so long for more. */
#define FLUSH_RESULTS       256
/* Repeats after a crash: what is in flight, and so many results. */
#define UNFLUSHED_MAX       1024
#endif
/* An item older than this gets a row or a reader, so that the cursor moves. */
#define DELIVER_WINDOW_US ((int64_t)2 * 1000 * 1000)
#define FLUSH_US          ((int64_t)50 * 1000)
#define UNFLUSHED_US      ((int64_t)1000 * 1000)
#define CURSOR_US         ((int64_t)1000 * 1000) /* between writes of positions */
#define READS_MAX         4 /* pages that readers take, under way at once */
#define CONCURRENCY_FIRST 2 /* grows with success, falls with failure */
#define CONCURRENCY_MAX   256
#define SPACING_KEYS_MAX  65536 /* callers that were called just now */
