/*
 * limits.h - the bounds of matching, and of programs of strangers.
 */
#pragma once

#include "base/base.h"

/* Who wants an event. A subscription stands in the table once for each of its
 * types and tenants: 64 bytes each, so that many of both are refused. */
#define MATCH_SUBS_MAX    1000000
#define MATCH_TYPES_MAX   64
#define MATCH_TENANTS_MAX 64
#define MATCH_CELLS_MAX   1024
/* What one event may hit before doubles are dropped: 32 MB. */
#define MATCH_HITS_MAX    (4 * MATCH_SUBS_MAX)

/* jq: filters and templates, run in a child process (match/jq/jq.h). */
#define JQ_PROGRAM_MAX  (16 * KIB) /* text; more is no filter but a program */
#define JQ_NEST_MAX     128        /* brackets: its parser recurses */
#define JQ_PROGRAMS_MAX 100000     /* different texts, in the server */
#define JQ_COMPILED_MAX                                                        \
	2048         /* of these, ready in the child: 4 to 12 KiB each */
#define JQ_CPU_MS 50 /* one program over one event; spec/webhooks.md */
/* What a sanitizer adds is no fault of the program's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JQ_CPU_TIMES 4
#else
#define JQ_CPU_TIMES 1
#endif
#define JQ_COMPILE_CPU_MS 1000 /* 15 ms as a rule, for jq's own definitions */
#define JQ_MEMORY_MAX     (256 * MIB) /* an event of 1 MiB takes up to 40 */
#define JQ_OUTPUT_MAX     (1 * MIB) /* of a template; the most a body may be */
#define JQ_REASON_MAX     200       /* of an error of jq's */
/* What is run in C instead (match/jq/plain.h): longer ones are not plain. */
#define PLAIN_TEXT_MAX    1024
#define PLAIN_NODES_MAX   48
#define PLAIN_DEPTH_MAX   16
/* One request to the child: with all of its CPU time used it ends in time. */
#define JQ_CHUNK_MAX      64
#define JQ_CHUNK_BYTES    (4 * MIB)
#define JQ_WALL_MS        15000
