/*
 * temp_test.h - a migrated store for tests, gone when they end.
 *
 * SQLite in a folder of its own, or, for temp_open(true), the PostgreSQL
 * database of HK_TEST_PG, emptied; NULL when that is not set.
 */
#ifndef STORE_TEMP_TEST_H
#define STORE_TEMP_TEST_H

#include <stdlib.h>

#include "base/base.h"
#include "sql.h"

struct temp {
	char dir[64];
	struct store *store;
};

static inline void
temp_close(struct temp *t)
{
	char command[128];

	if (!t)
		return;
	store_close(t->store);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", t->dir);
	if (system(command) != 0)
		abort();
	free(t);
}

static inline struct temp *
temp_open(bool postgres)
{
	const char *url = postgres ? getenv("HK_TEST_PG") : NULL;
	struct temp *t;
	struct err e = {0};
	int steps;

	if (postgres && !url)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/hk-test-XXXXXX");
	if (!mkdtemp(t->dir) ||
	    store_open(&(struct store_opts){.dir = t->dir, .url = url},
		&t->store, &e) < 0 ||
	    store_migrate(t->store, &steps, &e) < 0) {
		(void)fprintf(stderr, "no store: %s\n", e.text);
		abort();
	}
	return t;
}

#endif
