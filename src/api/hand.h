/*
 * hand.h - asking the engine, also when another node has it.
 *
 * What is asked of the engine (deliver/engine/deliver.h) is asked here first.
 * When this node does not deliver, and shares its store with others, the
 * question goes on to the one that does as an errand (node/errand.h): in JSON,
 * with all that it takes to ask it there; and its answer comes back into the
 * struct that was asked with. Whoever asks sees no difference but the time.
 *
 * Events that a worker fetched are named in the answer, not carried: their
 * bodies are in the log, which the asker can read (their `letter` is NULL). What
 * is known of a single delivery stays with its node: of a look comes `front`
 * alone.
 */
#pragma once

#include "deliver/engine/deliver.h"

struct api;
struct db;
struct errand_task;

/* As deliver_post(): false when nobody can be asked at all. */
bool hand_post(struct api *api, struct deliver_ask *q) MUST_CHECK;

/* errands_opts.owns and .run, whose arg is the api. */
bool hand_owns(void *api);
void hand_run(void *api, struct errand_task *t, struct db *db);
