/*
 * limits.h - the bounds of base, and the units of everybody's.
 *
 * Each room has a limits.h of its own (store/limits.h, http/server/limits.h …)
 * with every bound of it and its reason. Tests import these; a bound that
 * stands elsewhere is a bound nobody checks.
 */
#pragma once

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* JSON: deeper than any honest document, shallow enough for any stack. */
#define JSON_DEPTH_MAX 64
/* One document's tree: a batch of 1,000 events with 100 nodes each fits. */
#define JSON_NODES_MAX 262144

/* Settings: a file that somebody wrote by hand, and one value in it. */
#define CONF_FILE_MAX   ((size_t)256 << 10)
#define CONF_TEXT_MAX   4096
#define METRIC_SETS_MAX 16 /* with a label */
#define CONF_NAMED_MAX  16 /* named ones of a part, as outbox.NAME.url */
#define CONF_NAME_MAX   31
#define CONF_MEM_MAX    (4 * MIB) /* a conf's texts; each set keeps its own */
/* Words that are compared for "did you mean": longer ones are no typo. */
#define NEAR_WORD_MAX   64
