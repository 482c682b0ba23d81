/*
 * jq.h - filters and templates written in jq.
 *
 * A program sees one event and says yes or no (a filter), or makes one JSON
 * text of it (a template). The first output counts, as in `jq -n first(f)`;
 * false, null and no output at all are no. An error is neither: whoever asked
 * has to say what becomes of the event.
 *
 * WHERE THEY RUN. Plain comparisons (plain.h) run here, in C, and cost less
 * than a microsecond. All others run in a child process (jq_child.h) that is
 * started when first needed: strangers write them, and libjq can neither be
 * interrupted nor trusted with memory. Programs go there when first used, and
 * are compiled once in its life, which takes 15 ms: jq reads its own definitions
 * each time.
 *
 * WHEN ONE MISBEHAVES. It takes the process that runs it along. There is
 * another at once, with all programs as they were, and the items are run
 * again, one by one. Who then takes more than JQ_CPU_MS of CPU once, or ends
 * the process in another way twice, OVERRAN on this input, with the reason. The
 * others get their answers, and the program is run again on the next input: one
 * event must not switch it off. On the same input it is not run again for a
 * second, so that many who share a program and an event wait for it once.
 *
 * NUMBERS. jq 1.6 counts in doubles: whole numbers above 2^53 come out of a
 * template rounded, and are compared rounded.
 *
 * LIFE. One thread's. Calls block: as a rule for some microseconds a program,
 * at most JQ_CPU_MS for each and twice that and a restart for a bad one.
 * When the child can't be run at all they fail with ERR_AWAY (retry_after_s).
 */
#pragma once

#include "base/base.h"

struct jq;

enum jq_verdict {
	JQ_FALSE,
	JQ_TRUE,
	JQ_ERROR,   /* the program raised an error over this input */
	JQ_OVERRAN, /* it took too much over it, or ended its process */
};

struct jq_said {
	enum jq_verdict verdict;
	struct str why; /* ERROR, OVERRAN; jq's until the next jq_filter() */
};

struct jq_item {
	int program;
	struct str input; /* JSON; equal ones in a row are sent once */
};

/* self_exe is "/proc/self/exe": this binary, which must call
 * cage_main() with JQ_CHILD (jq_child.h). It must live as long. */
struct jq *jq_new(const char *self_exe);
void jq_free(struct jq *j);

/* Can this be saved? ERR_INVALID with the place of the fault. */
int jq_check(struct jq *j, struct str program, struct err *e) MUST_CHECK;

/* The id of a program; the same text has the same. Each call is undone by one
 * jq_forget(). What jq_check() refuses fails when it is run. */
int jq_program(
    struct jq *j, struct str program, int *ret_id, struct err *e) MUST_CHECK;
void jq_forget(struct jq *j, int id);

/* What is said of each item. On failure ret is of no meaning. */
int jq_filter(struct jq *j, const struct jq_item *items, size_t n,
    struct jq_said *ret, struct err *e) MUST_CHECK;

/*
 * The JSON text that a template makes, up to JQ_OUTPUT_MAX. ERR_INVALID with
 * the reason when it fails or has no output, ERR_LIMIT when it overran.
 */
int jq_render(struct jq *j, int program, struct str input, struct arena *a,
    struct str *ret, struct err *e) MUST_CHECK;

/* The child's process id; 0: there is none. For tests and for `doctor`. */
int jq_child_pid(const struct jq *j);
