/*
 * jq_wire.h - what the server and its jq child say to each other.
 *
 * One request (cage.h) is a list of commands, each a struct jq_cmd and its
 * bytes; one answer is a struct jq_ans with its bytes for each command that
 * has one.
 */
#pragma once

#include "match/limits.h"

enum jq_op {
	JQ_OP_PROGRAM, /* the text of program `id`; compiled when it is run */
	JQ_OP_DROP,    /* program `id` is not needed any more */
	JQ_OP_INPUT,   /* the JSON that those behind it work on */
	JQ_OP_FILTER,  /* answered: jq_verdict, the reason when it failed */
	JQ_OP_RENDER,  /* answered: JQ_TRUE and JSON, or JQ_ERROR and reason */
	JQ_OP_CHECK,   /* answered: JQ_TRUE, or JQ_ERROR and what jq says */
};

struct jq_cmd {
	uint32_t op;
	int32_t id;
	uint32_t bytes;
};

struct jq_ans {
	uint32_t verdict;
	uint32_t bytes;
};

/* A request has a chunk and what each of its programs is written in. */
#define JQ_REQUEST_MAX                                                         \
	((size_t)JQ_CHUNK_BYTES + JQ_OUTPUT_MAX +                              \
	    JQ_CHUNK_MAX * (JQ_PROGRAM_MAX + 4 * sizeof(struct jq_cmd)) +      \
	    JQ_PROGRAMS_MAX * sizeof(struct jq_cmd))
#define JQ_ANSWER_MAX                                                          \
	(JQ_OUTPUT_MAX + JQ_CHUNK_MAX * (JQ_REASON_MAX + sizeof(struct jq_ans)))
