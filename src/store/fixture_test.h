/*
 * fixture_test.h - a fresh store for a unit test, on either engine.
 *
 * For tests alone: include it behind cmocka.h. SQLite lives in a temporary
 * folder, PostgreSQL in a schema of its own in the database of HK_TEST_PG
 * (tools/pgtemp makes one), so test programs may run side by side.
 */
#pragma once

#include <libpq-fe.h>
#include <unistd.h>

#include "store/store.h"

struct fixture {
	char dir[64];
	char url[1024]; /* "" on SQLite */
	char schema[32];
	struct store *store;
};

/* The url of the PostgreSQL to test on; NULL when there is none. */
static inline const char *
fixture_postgres(void)
{
	const char *url = getenv("HK_TEST_PG");

	return url && *url ? url : NULL;
}

/* As somebody else, behind the store's back. The first value, as a number. */
static inline long
fixture_admin(const char *sql)
{
	PGconn *c = PQconnectdb(fixture_postgres());
	PGresult *res = PQexec(c, sql);
	long first = 0;

	if (PQresultStatus(res) == PGRES_FATAL_ERROR)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
	if (PQntuples(res) > 0)
		first = strtol(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	PQfinish(c);
	return first;
}

static inline struct store_opts
fixture_opts(const struct fixture *f, const char *fault)
{
	return (struct store_opts){
	    .dir = f->dir, .url = f->url, .fault = fault};
}

static inline void
fixture_make(struct fixture *f, enum store_engine engine)
{
	char sql[128];
	const char *url = fixture_postgres();

	*f = (struct fixture){.dir = "/tmp/hk-test-XXXXXX"};
	assert_non_null(mkdtemp(f->dir));
	if (engine == STORE_SQLITE)
		return;
	assert_non_null(url);
	(void)snprintf(
	    f->schema, sizeof(f->schema), "hk_%s", f->dir + strlen("/tmp/hk-"));
	(void)snprintf(f->url, sizeof(f->url),
	    "%s%coptions=-csearch_path%%3D\"%s\"&application_name=%s", url,
	    strchr(url, '?') ? '&' : '?', f->schema, f->schema);
	(void)snprintf(sql, sizeof(sql), "CREATE SCHEMA \"%s\"", f->schema);
	(void)fixture_admin(sql);
}

/* Migrated and open. */
static inline void
fixture_open(struct fixture *f, enum store_engine engine, const char *fault)
{
	struct err e = {.text = ""};
	struct store_opts o;
	int steps;

	fixture_make(f, engine);
	o = fixture_opts(f, fault);
	if (store_open(&o, &f->store, &e) < 0 ||
	    store_migrate(f->store, &steps, &e) < 0)
		fail_msg("%s", e.text);
}

static inline void
fixture_close(struct fixture *f)
{
	static const char *const FILES[] = {"hikyaku.db", "hikyaku.db-wal",
	    "hikyaku.db-shm", "lock", "seal.key", "seal.salt"};
	char text[160];

	store_close(f->store);
	for (size_t i = 0; i < COUNT_OF(FILES); i++) {
		(void)snprintf(text, sizeof(text), "%s/%s", f->dir, FILES[i]);
		(void)unlink(text);
	}
	(void)rmdir(f->dir);
	if (!f->schema[0])
		return;
	(void)snprintf(text, sizeof(text),
	    "SET client_min_messages = warning; DROP SCHEMA \"%s\" CASCADE",
	    f->schema);
	(void)fixture_admin(text);
}
