/*
 * restored.h - a store that is a copy, and delivers nothing until it may.
 *
 * WHY A COPY IS MARKED. What was delivered after a copy was made is not known
 * to it: a server that starts on it would deliver that once more, and if the
 * old one still runs, everything twice. So each copy has the mark `restored`
 * in its meta table before it is kept, however it comes back. A server that
 * finds the mark takes events and answers, but delivers, relays and fetches
 * nothing until somebody gives leave (restored_resume), which the audit has.
 *
 * LIFE. A server looks at its start, and the jobs thread from time to time: when
 * leave was given, by whomever, it builds its parts anew (cli/verb/serve.c).
 */
#pragma once

#include "base/base.h"

struct arena;
struct db;

/* Marks this store as a copy; `note` is JSON that says of what. */
int restored_mark(struct db *db, struct str note, struct err *e) MUST_CHECK;
/* That note; .p NULL: leave was given, or it is no copy. */
int restored_look(
    struct db *db, struct arena *a, struct str *ret, struct err *e) MUST_CHECK;
/* Leave to deliver. ERR_ABSENT when nothing is held. Inside a transaction. */
int restored_resume(struct db *db, struct str by, struct err *e) MUST_CHECK;
