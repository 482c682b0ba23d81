/*
 * table.h - a list for people: columns as wide as their widest cell.
 *
 * Cells are borrowed until table_print(). Width counts characters, not bytes.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

#include "base/base.h"

struct arena;

#define TABLE_COLUMNS_MAX 10

struct table;

/* `heads` are the columns' names; NULL when there is no memory. */
struct table *table_new(
    struct arena *a, const char *const *heads, size_t columns);
/* One cell after the other, row by row. False when there is no memory. */
bool table_add(struct table *t, struct str cell);
void table_print(const struct table *t, FILE *to);

#endif
