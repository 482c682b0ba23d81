/*
 * story.h - what happens in the company, by sql/story.sql.
 *
 * LIFE. A story belongs to one thread, with database connections of its own.
 */
#pragma once

#include "service.h"

struct story {
	sqlite3 *db[SERVICES]; /* of the producers; else NULL */
};

int story_open(struct story *s, const char *dir, struct hk_error *e);
void story_close(struct story *s);

/* Roles, groups, rights, rules, processes. */
int story_settings(struct story *s, struct hk_error *e);
/* The life of the nth record. */
int story_step(struct story *s, int64_t n, struct hk_error *e);
/* Old news, which nobody may believe. */
int story_late(struct story *s, struct hk_error *e);
/* Whoever may decides all that waits; *ret_n says how many. */
int story_decide(struct story *s, int64_t *ret_n, struct hk_error *e);
/* How many events the outboxes have had, and how many of them wait. */
int story_outboxes(struct story *s, int64_t *ret_all, int64_t *ret_waiting,
    struct hk_error *e);
