/*
 * proc.h - a caged child as its server sees it: started, asked, buried.
 *
 * One request, one answer, within a time. A child that makes workers says when
 * one of them ended and has another (CAGE_ENDED); whatever else goes wrong ends
 * the child, and the next request starts anew. A child that dies and dies
 * again, with nothing to blame for it, is started less and less often.
 *
 * LIFE. One thread. The process is started by the first request. It inherits a
 * socket and nothing else (posix_spawn: the server has threads), and ends
 * when that is closed, so a server that is killed leaves nobody behind.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct cage_kind;

struct proc {
	const struct cage_kind *kind;
	const char *exe; /* "/proc/self/exe": this binary */
	pid_t pid;       /* 0: none */
	int fd;
	unsigned life;   /* counts the children */
	unsigned deaths; /* in a row, without an answer or a culprit */
	int64_t not_before_ms;
	int64_t until_ms; /* the answer must be there */
	const char *how;  /* the last one ended: "took more than …" */
	bool certain;     /* what it worked on is at fault, once is enough */
};

/* Answers of proc_ask() that are no error: */
#define PROC_DIED 1 /* see `how` */

/* ERR_AWAY with the seconds to wait when it can't be started now. */
int proc_start(struct proc *p, struct err *e) MUST_CHECK;
/* The child must be there. ERR_AWAY when there is no answer in time. */
int proc_ask(struct proc *p, struct str request, struct buf *ret_answer,
    struct err *e) MUST_CHECK;
#define PROC_PARTS_MAX 2
/* The same in parts: what is sent together is one request, then *ret_bytes of an
 * answer are there, all of which must be received; or proc_stop(). */
int proc_send(struct proc *p, const struct str *parts, size_t n,
    uint32_t *ret_bytes, struct err *e) MUST_CHECK;
int proc_receive(struct proc *p, char *to, size_t n, struct err *e) MUST_CHECK;
void proc_blamed(struct proc *p); /* a culprit was found */
void proc_stop(struct proc *p);
