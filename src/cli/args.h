/*
 * args.h - a verb's options and operands, from the command line.
 *
 * Options are long: `--name VALUE` or `--name=VALUE`, flags without a value;
 * -h is --help, `--` ends them and `-` alone is an operand. What a verb takes
 * stands in tables, which help and completion are made from too. A value that
 * belongs to a setting (OPT_CONF) is checked and kept by base/conf.
 *
 * Given twice, the last counts; of lists and headers all do. A list may be
 * named in the singular, `--type a --type b` is `--types a,b`; what is true or
 * false is switched off by `--no-name`.
 *
 * Values are borrowed from argv.
 */
#pragma once

#include "base/base.h"

enum opt_type {
	OPT_FLAG,
	OPT_TEXT,
	OPT_LIST, /* words with commas between */
	OPT_INT,  /* least..most */
	OPT_CONF, /* sets `key` */
	OPT_BOOL, /* --name or --no-name */
	OPT_PAIR, /* "Name: value", of an object */
	OPT_JSON, /* a value as it is */
	OPT_DOC,  /* a file that holds the value; - is the standard input */
};

struct opt {
	const char *name; /* without the dashes; NULL ends a table */
	enum opt_type type;
	const char *value; /* what help calls it: "FILE" */
	const char *help;
	const char *key;
	const char *member; /* what the API calls it: args_body() */
	bool query;         /* a parameter of the query, not of the body */
	int64_t least, most;
};

extern const struct opt OPTS_COMMON[]; /* what every verb takes */
extern const struct opt OPTS_REACH[];  /* whoever talks to a server */
extern const struct opt OPTS_ASK[];    /* whoever shows what it answered */
extern const struct opt OPTS_LIST[];   /* or a list of it */

#define ARGS_MAX     64
#define OPERANDS_MAX 32768 /* files: as many as a shell hands over */

struct args {
	struct {
		const struct opt *opt;
		const char *value; /* "" for a flag; NULL: switched off */
	} given[ARGS_MAX];
	const char *operands[OPERANDS_MAX]; /* NULL behind the last */
	size_t n_given, n_operands;
};

#define ARGS_TABLES 4

/* Tables may be NULL. ERR_INVALID with the one line that the user gets. */
int args_read(struct args *a, const struct opt *const tables[ARGS_TABLES],
    int argc, char *const *argv, struct err *e) MUST_CHECK;

const char *args_text(const struct args *a, const char *name); /* or NULL */
bool args_flag(const struct args *a, const char *name);
int64_t args_int(const struct args *a, const char *name, int64_t absent);
/*
 * Those that were given and are members of a request, into a JSON object that
 * was begun: texts, numbers, true for a flag, arrays. Documents are not read.
 */
void args_body(const struct args *a, struct buf *b);
/* Those that were given and are parameters, behind a path: ?name=value&…; with
 * `all` the members, too, for a request that has no body. */
void args_query(const struct args *a, bool all, struct buf *b);
/* The whole object, in the arena. ERR_LIMIT. */
int args_json(const struct args *a, struct arena *arena, struct str *ret,
    struct err *e) MUST_CHECK;
