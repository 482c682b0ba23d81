/*
 * jq_run.h - libjq: programs by number, and running them.
 *
 * For the jq child alone: whatever a program does wrong ends the process,
 * with a status that says what it was (JQ_CHILD).
 */
#ifndef MATCH_JQ_JQ_RUN_H
#define MATCH_JQ_JQ_RUN_H

#include "base/base.h"

struct jq_cmd;
struct jq_run;

/*
 * Does all that libjq and libc do only once, before the cage is shut (glibc
 * reads the time zone from a file when dates are first used). NULL: it failed.
 */
struct jq_run *jq_run_new(void);

/* Compiles it now, and not when it is first run. */
void jq_run_compile(struct jq_run *r, int32_t id);

/* Commands between the two add to one answer; false: it is no good. */
void jq_run_begin(struct jq_run *r);
bool jq_run_command(
    struct jq_run *r, const struct jq_cmd *cmd, struct str text);
bool jq_run_end(struct jq_run *r, struct str *ret);

#endif
