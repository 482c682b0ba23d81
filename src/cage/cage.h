/*
 * cage.h - processes of ours that work on what strangers send.
 *
 * WHAT. A child of the server, started from the same binary with a word that no
 * help shows: no environment, no file but one socket to the server, no system
 * calls but those that reading, writing and memory need (shut.h; any other is
 * the end), bounded memory, and CPU timers. Whatever goes wrong in it
 * ends it alone, and the server reads from how it ended what went wrong.
 *
 *   server: proc.h ═══ socket: a request, its answer ═══▶ child: cage_main()
 *
 * FRAMES. The child says one byte when it is caged and ready. A request is its
 * length and its bytes; so is an answer. Both ends are the same binary on the
 * same machine, so numbers go as they lie in memory. What is in them is the
 * affair of the kind; what comes from a child is a stranger's.
 *
 * LIFE. A child ends when the server closes its socket, so a server that is
 * killed leaves nobody behind.
 */
#pragma once

#include "base/base.h"

/* How a child of this kind may end, for people; the first that fits. */
struct cage_end {
	int sig, code; /* one of them, the other 0 */
	const char *words;
	bool certain; /* what it worked on is at fault: once is enough */
};

struct cage_kind {
	const char *verb;
	const char *can_not; /* "jq programs can't be run now" */
	const struct cage_end *ends;
	size_t n_ends;
	size_t memory_max;
	int wall_ms;  /* for one request */
	bool forking; /* it makes workers of its own */
	/* Before the cage is shut: what libraries do only once. NULL: no good. */
	void *(*prepare)(void);
	/* Requests and answers, until the socket ends. */
	void (*serve)(void *ctx);
};

#define CAGE_FD          3 /* behind /dev/null three times */
/* In place of an answer's length, by a child that has workers: the one that had
 * the request has ended, and the status that waitpid() gave for it follows. */
#define CAGE_ENDED       UINT32_MAX
/* How it ends when memory is short. Too much CPU ends it by the signal of the
 * timer. */
#define CAGE_EXIT_MEMORY 83

/* In main(): serves when this process is meant to be one of them, and then
 * returns its exit status; -1: it is not. The list ends with NULL. */
int cage_main(
    const struct cage_kind *const *kinds, int argc, char *const *argv);

/* For the kinds, in the child. False: the other end is gone. */
bool cage_read(int fd, void *to, size_t n) MUST_CHECK;
bool cage_write(int fd, const void *from, size_t n) MUST_CHECK;
/* One request into `to`, which has its limit; one answer. */
bool cage_take(struct buf *to) MUST_CHECK;
bool cage_answer(struct str answer) MUST_CHECK;

/* End the process when so much CPU is used from now on, by SIGPROF or, the
 * second, by SIGVTALRM; 0: no more. */
void cage_cpu(int ms);
void cage_cpu_user(int ms);

/* Ends the process; not by _exit(), where a sanitizer would look for leaks,
 * which takes system calls that the cage does not let out. */
_Noreturn void cage_leave(int status);
