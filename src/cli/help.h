/*
 * help.h - what --help shows, made from the table of verbs.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/cli.h"

/* All verbs, or those of a group ("event"); "" means all. */
void help_all(const struct verbs *verbs, const char *group, FILE *to);
void help_verb(const struct verb *v, FILE *to);

#endif
