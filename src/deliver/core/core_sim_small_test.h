/*
 * core_sim_small_test.h - bounds so small that the simulator meets every one.
 *
 * What takes a core of 32,768 items to go wrong does so here with 80. It comes
 * before deliver/core/limits.h, which leaves these to it.
 */
#pragma once

#define CORE_LIMITS_SMALL
#define CORE_ITEMS_MAX      80
#define SUB_ITEMS_MAX       32
#define SUB_ITEMS_LEAST     2
#define SUB_PARK_MAX        8
#define LANE_ITEMS_MAX      10
#define LANE_ITEMS_KEEP     4
#define LANE_ROWS_MAX       6
#define SUB_ROWS_MAX        32
#define SUB_LANES_MAX       4
#define DELIVER_WINDOW_SEQS 200
#define READ_NEAR_SEQS      40
#define READ_PAGE_MAX       12
#define FLUSH_RESULTS       16
#define UNFLUSHED_MAX       40
#define SIM_SLOTS           8
