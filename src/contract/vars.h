/*
 * vars.h - texts with variables: `v1,{id}.{timestamp}.{body}`.
 *
 * Headers, bodies, signed strings, keys, log lines and health check URLs of a
 * preset are such texts. A brace that is followed by a letter opens a
 * variable; any other brace is a brace, so that JSON can be written as it is.
 *
 * WHY CHECKED WHEN SAVED. A mistyped variable that is found at the first
 * delivery is found by the wrong person at the wrong time. vars_compile()
 * refuses names it doesn't know, and names that have no place in the text at
 * hand: a secret or a one-time code stands in a header that is marked secret
 * and nowhere else, {body} in what is signed, {response} in a log line.
 *
 * A compiled text is a value that borrows from the arena.
 */
#pragma once

#include "base/base.h"

/* Where a text stands; vars.tbl says which variables may stand there. */
enum vars_place {
	VARS_HEADER = 1,
	VARS_SECRET = 2, /* a header marked secret */
	VARS_BODY = 4,   /* values are written as JSON */
	VARS_SIGN = 8,
	VARS_URL = 16, /* in a host one DNS label, else percent-encoded */
	VARS_KEY = 32,
	VARS_LOG = 64,
};
#define VARS_HUB 128U /* no place: it is of a subscription's `hub` */

enum var {
#define VAR(id, name, places, help) VAR_##id,
#include "contract/vars.tbl"
#undef VAR
	VAR_COUNT,
	VAR_LITERAL,
};

struct vars_piece {
	enum var var;
	struct str text; /* VAR_LITERAL */
};

struct vars {
	struct str text; /* as written */
	bool hub;        /* a variable of it is of a subscription's `hub` */
	struct vars_piece *pieces;
	size_t n;
};

/* `at` is the JSON pointer of the text. */
int vars_compile(struct arena *a, struct str text, enum vars_place place,
    const char *at, struct vars *ret, struct err *e) MUST_CHECK;
bool vars_has(const struct vars *v, enum var var);
bool vars_find(struct str name, enum var *ret);
