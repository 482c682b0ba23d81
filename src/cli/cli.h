/*
 * cli.h - what every verb of the command line has in common.
 *
 * `hikyaku VERB [OPTION]... [OPERAND]...`: the frame finds the verb in a table
 * (a verb may be two words, "event tail"), reads its options, answers --help
 * and --print-config itself, loads the settings, and calls run(). A verb so
 * begins with everything checked, and has an arena for what it makes.
 *
 * A verb returns an exit status: EXIT_OK, EXIT_FAILED (after one line on err
 * that says what and what to do: cli_fail) or EXIT_USAGE. What was asked for
 * goes to `out`, everything else to `err`.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdio.h>

#include "base/base.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "cli/args.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli;

struct verb {
	const char *name;
	const char *operands;  /* for help: "[FILE]"; "" for none */
	size_t least, most;    /* how many of them */
	const char *summary;   /* half a line */
	const char *text;      /* paragraphs for VERB --help, ending in \n */
	const struct opt *own; /* its options, or NULL */
	int (*run)(struct cli *c);
};

struct verbs {
	const struct verb *v;
	size_t n;
};

struct cli {
	const struct verb *verb;
	struct args args;
	struct conf conf;
	struct arena *arena; /* ends with the verb */
	FILE *out, *err;
};

/* The whole program, from argv to exit status. */
int cli_run(const struct verbs *verbs, int argc, char *const *argv,
    char *const *environment, FILE *out, FILE *err);

/* Logs in the form that is set. Verbs begin with LOG_WARN, to the standard
 * error: they answer people. */
void cli_log(const struct cli *c, enum log_level least, int fd);

/* One line on err; EXIT_FAILED. */
int cli_fail(struct cli *c, const struct err *e);

#endif
