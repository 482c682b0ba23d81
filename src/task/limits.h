/*
 * limits.h - the bounds of tasks (task/task.h).
 */
#pragma once

#include "base/base.h"

/* Texts in characters, as seed 004 bounds its columns. */
#define TASK_RESULT_MAX   (1 * MIB)  /* what extraction found, as JSON */
#define TASK_DOCUMENT_MAX (64 * KIB) /* what was said of the document */
#define TASK_CODE_MAX     100
#define TASK_NAME_MAX     200
#define TASK_TEXT_MAX     1000
#define TASK_NUMBER_MAX   32 /* digits of a score */
#define TASK_RESULT_DAYS  30 /* a result can be fetched so long */
#define TASK_CONFIGS_MAX  32 /* of a key; each gets each event it wants */
#define TASK_SECRET_MAX   128
#define TASK_ABOUT_MAX    500
#define TASK_HISTORY_MAX  500 /* deliveries that a list shows */
#define TASK_IDLE_STEP    500 /* callbacks that one look ends */
/* Callbacks of a key when its secret is replaced: each some 50 us of the commit
 * thread. */
#define TASK_SUBS_MAX     20000
#define TASK_SUBMIT_RUNS  3 /* when others make the same callback first */
#define TASK_REPORT_RUNS  8 /* when others report on the same task */
