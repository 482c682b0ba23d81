/*
 * core_sim_small_test.c - core_sim_test.c where every bound is met at once.
 *
 * The core is compiled into this file, with the bounds of
 * core_sim_small_test.h; tools/planted compiles it file by file.
 */
#include "deliver/core/core_sim_small_test.h"

/* The core itself. */
#include "deliver/core/core.c"
#include "deliver/core/core_flush.c"
#include "deliver/core/core_load.c"
#include "deliver/core/core_peers.c"
#include "deliver/core/core_pull.c"
#include "deliver/core/core_read.c"
#include "deliver/core/core_result.c"
#include "deliver/core/core_send.c"
#include "deliver/core/core_sim_test.c"
