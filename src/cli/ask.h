/*
 * ask.h - verbs that are one request of the API each, told by a table.
 *
 * `api` of a verb is a method and a path, "POST /v1/subscriptions/{}/test". An
 * operand stands for {}, and with several operands each is asked for. Options
 * with a member are the body's, or the query's where there is no body; --file
 * gives a body that the options then change; --unset names members that are
 * null in it, which for the API is their default.
 *
 * The answer is a list when the verb has columns, a line when it has something
 * to say, else a document (show.h); --json shows it as it came.
 */
#pragma once

#include "cli/cli.h"

int verb_ask(struct cli *c, struct err *e) MUST_CHECK;
/* The body that options, --file and --unset make, in the verb's arena. */
int ask_body(struct cli *c, struct str *ret, struct err *e) MUST_CHECK;
/* A path with the operand in the place of {}, and the query of the options. */
int ask_path(struct cli *c, struct str path, const char *operand, bool all,
    struct str *ret, struct err *e) MUST_CHECK;
/* A document, as --json says. */
void ask_show(struct cli *c, const struct json *j);
