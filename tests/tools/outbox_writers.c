/*
 * outbox_writers - applications that write records and an outbox, badly timed.
 *
 *   outbox_writers URL WRITERS KEYS SEED
 *
 * Each writer has a connection and runs transactions until stdin ends: it
 * locks one to three records by writing them, gives each a new version, and
 * puts a row with that version into outbox_events. In between it sleeps at
 * random. Some transactions take their transaction id early and write late,
 * some stay open for long, so that they hold the oldest snapshot down, and one
 * in five is rolled back. At the end it says how many were committed.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WRITERS_MAX 64

static const char *url;
static long keys;
static atomic_bool stop;
static atomic_long committed, undone, rows;

struct writer {
	pthread_t thread;
	uint64_t rng;
	PGconn *pg;
};

static long
dice(struct writer *w, long n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (long)((w->rng >> 11) % (uint64_t)n);
}

static void
doze(struct writer *w, long most_us)
{
	long us = dice(w, most_us + 1);
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	(void)nanosleep(&t, NULL);
}

static void
run_sql(struct writer *w, const char *sql)
{
	PGresult *res = PQexec(w->pg, sql);
	ExecStatusType st = PQresultStatus(res);

	if (st != PGRES_COMMAND_OK && st != PGRES_TUPLES_OK) {
		(void)fprintf(stderr, "%s: %s", sql, PQerrorMessage(w->pg));
		exit(1);
	}
	PQclear(res);
}

static void
write_record(struct writer *w, long key)
{
	char sql[1024];

	/* The record's lock first, then its row: the id is given under it. */
	(void)snprintf(sql, sizeof(sql),
	    "UPDATE record SET version = version + 1 WHERE key = %ld", key);
	run_sql(w, sql);
	doze(w, 3000);
	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO outbox_events (tenant_id, event_type, partition_key,"
	    " producer, payload) SELECT"
	    " '11111111-1111-4111-8111-111111111111', 'writer.tick',"
	    " 'k%ld', '{\"service\":\"w\",\"instanceId\":\"1\"}',"
	    " json_build_object('k', key, 'v', version)"
	    " FROM record WHERE key = %ld",
	    key, key);
	run_sql(w, sql);
}

static void
transaction(struct writer *w)
{
	long n = 1 + dice(w, 3), key = 0, kind = dice(w, 100);

	run_sql(w, "BEGIN");
	if (kind < 30) { /* an early id, a late write */
		run_sql(w, "SELECT pg_current_xact_id()");
		doze(w, 40000);
	}
	if (kind >= 98) { /* and one that holds xmin down */
		run_sql(w, "SELECT pg_current_xact_id()");
		doze(w, 1500000);
	}
	/* Keys go up, so that nobody waits in a circle. */
	for (long i = 0; i < n && key < keys; i++) {
		key += 1 + dice(w, keys / 3);
		if (key > keys)
			break;
		write_record(w, key);
		doze(w, 5000);
	}
	if (kind >= 40 && kind < 60) {
		run_sql(w, "ROLLBACK");
		atomic_fetch_add(&undone, 1);
	} else {
		run_sql(w, "COMMIT");
		atomic_fetch_add(&committed, 1);
		atomic_fetch_add(&rows, n);
	}
}

static void *
work(void *arg)
{
	struct writer *w = arg;

	w->pg = PQconnectdb(url);
	if (PQstatus(w->pg) != CONNECTION_OK) {
		(void)fputs(PQerrorMessage(w->pg), stderr);
		exit(1);
	}
	while (!atomic_load(&stop)) {
		transaction(w);
		doze(w, 10000);
	}
	PQfinish(w->pg);
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct writer writers[WRITERS_MAX];
	long n = argc == 5 ? strtol(argv[2], NULL, 10) : 0;
	char c;

	if (n < 1 || n > WRITERS_MAX) {
		(void)fputs(
		    "usage: outbox_writers URL WRITERS KEYS SEED\n", stderr);
		return 2;
	}
	url = argv[1];
	keys = strtol(argv[3], NULL, 10);
	for (long i = 0; i < n; i++) {
		writers[i].rng = 88172645463325252U ^
				 (strtoull(argv[4], NULL, 10) * 2654435761U +
				     (uint64_t)i * 40503U + 1);
		if (pthread_create(
			&writers[i].thread, NULL, work, &writers[i]) != 0)
			return 1;
	}
	while (read(0, &c, 1) > 0)
		;
	atomic_store(&stop, true);
	for (long i = 0; i < n; i++)
		(void)pthread_join(writers[i].thread, NULL);
	(void)printf("%ld committed, %ld rolled back\n",
	    atomic_load(&committed), atomic_load(&undone));
	return 0;
}
