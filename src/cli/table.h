/*
 * table.h - a list of JSON objects for people: columns as wide as their widest
 * cell. Width counts characters, not bytes.
 *
 * A cell is what the column's pointer leads to: a text, a number, yes or no, the
 * words of an array with commas between; "-" when there is nothing.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

#include "base/base.h"

struct arena;
struct json;

#define TABLE_COLUMNS_MAX 10

struct column {
	const char *head; /* NULL ends */
	const char *at;   /* JSON pointer: "/lag/events" */
	struct str (*cell)(const struct json *item); /* instead */
};

struct table;

struct table *table_new(struct arena *a, const struct column *columns);
/* What it shows is borrowed until table_print(); NULL is the heads. */
void table_add(struct table *t, const struct json *item);
void table_print(const struct table *t, FILE *to);

#endif
