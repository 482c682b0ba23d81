/*
 * base.h - the few words every file may use without asking.
 *
 * A str is a borrowed run of bytes. An err says what failed, in words a user
 * can act on, and where in their input. Both are plain values.
 *
 * It brings the everyday part of its room: strings, memory, arenas, buffers,
 * lists, maps, JSON both ways, ids, times, units and asserts. Nobody includes
 * one of those by itself.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/banned.h"

#define MUST_CHECK   __attribute__((warn_unused_result))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
/* Releases zero every local; not this one, which is large and written. */
#define UNINIT       __attribute__((uninitialized))
#define COUNT_OF(a)  (sizeof(a) / sizeof((a)[0]))
/* fn(&v) when v goes out of scope, however that happens. */
#define CLEANUP(fn)  __attribute__((cleanup(fn)))

/* Never owned, never assumed NUL-terminated. */
struct str {
	const char *p;
	size_t n;
};
/* A header, a parameter of a query. */
struct str_pair {
	struct str name, value;
};
#define STR(lit)   ((struct str){.p = (lit), .n = sizeof(lit) - 1})
#define STR_ARG(s) (int)(s).n, (s).p /* for "%.*s" */
#define STR_EMPTY  ((struct str){.p = "", .n = 0})

/*
 * Each code is something that a caller does differently; http/server/reply.c turns
 * them into statuses.
 */
enum err_code {
	OK = 0,
	ERR_INVALID = -1,   /* understood, but a value is wrong */
	ERR_SYNTAX = -2,    /* not even well formed */
	ERR_LIMIT = -3,     /* a bound of ours was reached */
	ERR_STORE = -5,     /* the database said no; trying again is no use */
	ERR_AWAY = -6,      /* the database is not there now; try again later */
	ERR_FULL = -7,      /* the disk is full; try again later */
	ERR_UNCERTAIN = -8, /* a commit was sent, its answer never came */
	ERR_ABSENT = -9,    /* no such thing */
	ERR_CONFLICT = -10, /* it is there already, and differs */
	ERR_DENIED = -11,   /* known, but not allowed */
	ERR_UNKNOWN = -12,  /* nobody we know: who are you? */
	ERR_BUSY = -13,     /* too much at once; the caller should slow down */
	ERR_IO = -14,       /* a system call failed */
	ERR_SEALED = -15,   /* at rest, and no key of ours opens it */
};

/* The value of a call that may fail; if it did, its code is returned. What is
 * held then is held by CLEANUP, or nothing is. */
#define TRY(call)                                                              \
	({                                                                     \
		__auto_type try_rc = (call);                                   \
		if (try_rc < 0)                                                \
			return (int)try_rc;                                    \
		try_rc;                                                        \
	})

/* Lives on the stack of whoever starts the work. No allocation, no globals. */
struct err {
	enum err_code code;
	int retry_after_s; /* with AWAY, FULL, BUSY: when to come back */
	char text[256];
	char at[128];     /* JSON pointer to the culprit, or "" */
	const char *word; /* for programs; NULL: the name of its code */
	bool inside;      /* the text tells of the store: for the log alone */
};

/* Records the failure and returns code, so that a failing line is one line. */
#define err_set(e, code, ...) err_at(e, code, "", __VA_ARGS__)
/* The same, with the JSON pointer of the value that is wrong. */
int err_at(struct err *e, enum err_code code, const char *at, const char *fmt,
    ...) PRINTF(4, 5);
/* Behind one of the two: what programs are to know it by. Returns its code. */
int err_word(struct err *e, const char *word);
/* clang-tidy can't look into base_err.c: for it, a failure is seen to be one. */
#ifdef __clang_analyzer__
#define err_at(e, code, ...) ((err_at)(e, code, __VA_ARGS__), (int)(code))
#endif

/* These need what stands above. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/put.h"
#include "base/str.h"
#include "base/uuid.h"
