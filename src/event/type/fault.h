/*
 * fault.h - what is wrong with an event: all of it, up to FAULTS_MAX.
 *
 * Whoever checks adds what it finds and goes on; whoever asked refuses the
 * event with the list, or takes it and warns. A fault that is `told` alone is
 * never a reason to refuse: a type that is deprecated.
 *
 * LIFE. The list and its texts are the arena's.
 */
#pragma once

#include "base/base.h"

struct fault {
	struct fault *next;
	struct str at; /* JSON pointer */
	struct str text;
	bool told;
};

struct faults {
	struct arena *arena;
	struct fault *first, *last;
	size_t n, refuse; /* all; those that are not told alone */
};

/* One more is looked for: there is room, also in the arena. */
bool faults_room(const struct faults *f);
void faults_add(struct faults *f, const struct err *e, bool told);
/* ERR_INVALID of the first that refuses, which there is. */
int faults_say(const struct faults *f, struct err *e) MUST_CHECK;
/* "name":[{"pointer","message"}…] */
void faults_put(const struct faults *f, const char *name, struct buf *b);
