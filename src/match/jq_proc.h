/*
 * jq_proc.h - the jq child as its server sees it: started, asked, buried.
 *
 * One request, one answer, within a time. When a program ends the worker its
 * keeper says so and has another (jq_child.h); whatever else goes wrong ends
 * both, and the next request starts anew. A child that dies and dies again, with no
 * program to blame, is started less and less often.
 *
 * LIFE. One thread. The process is started by the first request. It inherits a
 * socket and nothing else (posix_spawn: the server has threads), and ends
 * when that is closed, so a server that is killed leaves nobody behind.
 */
#ifndef MATCH_JQ_PROC_H
#define MATCH_JQ_PROC_H

#include <sys/types.h>

#include "base/base.h"

struct buf;

struct jq_proc {
	const char *exe;
	pid_t pid; /* 0: none */
	int fd;
	unsigned life;   /* counts the children */
	unsigned deaths; /* in a row, without an answer or a culprit */
	int64_t not_before_ms;
	const char *how; /* the last one ended: "took more than …" */
	bool certain;    /* that is its program's fault, once is enough */
};

/* Answers of jq_proc_ask() that are no error: */
#define JQ_PROC_DIED 1 /* see `how` */

/* ERR_AWAY with the seconds to wait when it can't be started now. */
int jq_proc_start(struct jq_proc *p, struct err *e) MUST_CHECK;
/* The child must be there. ERR_AWAY when there is no answer in time. */
int jq_proc_ask(struct jq_proc *p, struct str request, struct buf *ret_answer,
    struct err *e) MUST_CHECK;
void jq_proc_blamed(struct jq_proc *p); /* a culprit was found */
void jq_proc_stop(struct jq_proc *p);

#endif
