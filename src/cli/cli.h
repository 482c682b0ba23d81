/*
 * cli.h - what every verb of the command line has in common.
 *
 * `hikyaku VERB [OPTION]... [OPERAND]...`: the frame finds the verb in a table
 * (a verb may be two words, "event tail"), reads its options, answers -h, --help
 * and --print-config itself, loads the settings, and calls run(). A verb so
 * begins with everything checked, and has an arena for what it makes.
 *
 * A verb returns OK, or an error whose line says what and what to do: the frame
 * shows it, and the exit status is EXIT_FAILED, or EXIT_USAGE by cli_usage().
 * What was asked for goes to `out`, everything else to `err`. Whoever was
 * reached for it (reach.h) is left when it ends.
 */
#pragma once

#include <signal.h>

#include "base/conf/conf.h"
#include "base/log/log.h"
#include "cli/args.h"
#include "cli/reach.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli;
struct column;
struct store_opts;

struct verb {
	const char *name;
	const char *operands;   /* for help: "[FILE]"; "" for none */
	size_t least, most;     /* how many of them */
	const char *summary;    /* half a line */
	const char *text;       /* paragraphs for VERB --help, ending in \n */
	const struct opt *own;  /* its options, or NULL */
	const struct opt *kind; /* those of verbs that show the same, or NULL */
	const struct opt *reach; /* OPTS_REACH: any server will do; NULL: no */
	int (*run)(struct cli *c, struct err *e);

	/* Of a verb that is a request (ask.h). */
	const char *api;              /* "POST /v1/things/{}" */
	const struct column *columns; /* its answer is a list */
	const char *said;             /* is told behind the operand */
	const char *well; /* where the answer has true when it went well */
};

struct verbs {
	const struct verb *v;
	size_t n;
};

struct cli {
	const struct verbs *verbs;
	const struct verb *verb;
	struct args args;
	struct conf conf;
	struct arena *arena; /* ends with the verb */
	struct reach reach;
	int status;  /* when it is not what run() says */
	bool colour; /* term.h */
	FILE *out, *err;
};

/* The whole program, from argv to exit status. */
int cli_run(const struct verbs *verbs, int argc, char *const *argv,
    char *const *environment, FILE *out, FILE *err);

/* The tables of a verb's options. */
void cli_options(const struct verb *v, const struct opt *ret[ARGS_TABLES]);
/* Help for the words of a verb or a group, or for all. */
int cli_help(struct cli *c, size_t n, const char *const *words,
    struct err *e) MUST_CHECK;

/* Logs in the form that is set. Verbs begin with LOG_WARN, to the standard
 * error: they answer people. */
void cli_log(const struct cli *c, enum log_level least, int fd);

/* For a verb whose words are wrong: an error, and EXIT_USAGE. */
int cli_usage(struct cli *c, struct err *e, const char *what);

/* A file, or the standard input (NULL, "-"); the buffer's limit is the bound. */
int cli_input(const char *path, struct buf *b, struct err *e) MUST_CHECK;
/* SIGINT and SIGTERM, blocked from now on: for whoever waits for them. */
void cli_signals(sigset_t *ret);
/* Where the store is, by the settings. */
struct store_opts cli_store(const struct cli *c);
