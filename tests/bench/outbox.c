/*
 * outbox - the least that a relay can do, as the ceiling of bench/outbox.py.
 *
 *   outbox URL FOLDER ROWS BATCH
 *
 * On the same libraries and the same tables: reads BATCH rows FOR UPDATE, puts
 * them into the log's table of a SQLite store in one transaction, sets their
 * published_at, commits; until ROWS are done. Nothing is checked, looked up,
 * counted or told. Says {"rate": …, "cpu_us": …}.
 */
#include <libpq-fe.h>
#include <sys/resource.h>

#include "seal/digest.h"
#include "sql.h"
#include "store/store.h"

static void
die(const char *what, const char *why)
{
	(void)fprintf(stderr, "outbox: %s: %s\n", what, why);
	exit(1);
}

static PGresult *
run(PGconn *pg, const char *sql, const char *param)
{
	PGresult *res =
	    PQexecParams(pg, sql, param ? 1 : 0, NULL, &param, NULL, NULL, 0);
	ExecStatusType st = PQresultStatus(res);

	if (st != PGRES_COMMAND_OK && st != PGRES_TUPLES_OK)
		die(sql, PQerrorMessage(pg));
	return res;
}

static void
append(struct db *db, const PGresult *res, int64_t *seq, struct buf *b)
{
	struct err e = {0};
	int64_t now = clock_now_us();

	if (db_begin(db, &e) < 0)
		die("begin", e.text);
	for (int i = 0; i < PQntuples(res); i++) {
		unsigned char digest[DIGEST_LEN];
		struct uuid id, tenant;
		int64_t h;

		if (!uuid_parse(str_of(PQgetvalue(res, i, 1)), &id) ||
		    !uuid_parse(str_of(PQgetvalue(res, i, 2)), &tenant))
			die("row", "no uuid");
		buf_clear(b);
		buf_fmt(b,
		    "{\"eventId\":\"%s\",\"tenantId\":\"%s\",\"eventType\":"
		    "\"%s\",\"schemaVersion\":%s,\"occurredAt\":\"%s\","
		    "\"correlationId\":\"%s\",\"producer\":%s,\"sequence\":{"
		    "\"partitionKey\":\"%s\"},\"payload\":%s}",
		    PQgetvalue(res, i, 1), PQgetvalue(res, i, 2),
		    PQgetvalue(res, i, 3), PQgetvalue(res, i, 4),
		    PQgetvalue(res, i, 9), PQgetvalue(res, i, 6),
		    PQgetvalue(res, i, 7), PQgetvalue(res, i, 5),
		    PQgetvalue(res, i, 8));
		digest_sha256(uuid_str(&id), digest);
		memcpy(&h, digest, sizeof(h));
		if (sql_log_insert(db,
			&(struct sql_log_insert_args){.seq = ++*seq,
			    .kind = 0,
			    .tenant = uuid_str(&tenant),
			    .event_id = uuid_str(&id),
			    .h = h,
			    .hash = (struct str){(char *)digest, 16},
			    .type = str_of(PQgetvalue(res, i, 3)),
			    .pkey = str_of(PQgetvalue(res, i, 5)),
			    .rv = NULL,
			    .received_at = now,
			    .to_sub = NULL,
			    .attrs = (struct str){.p = NULL},
			    .body = buf_str(b)},
			1, &e) < 0)
			die("insert", e.text);
	}
	if (db_commit(db, &e) < 0)
		die("commit", e.text);
}

static void
mark(PGconn *pg, const PGresult *res, struct buf *b)
{
	buf_clear(b);
	buf_addc(b, '{');
	for (int i = 0; i < PQntuples(res); i++) {
		if (i > 0)
			buf_addc(b, ',');
		buf_addz(b, PQgetvalue(res, i, 0));
	}
	buf_addc(b, '}');
	buf_addc(b, '\0');
	PQclear(run(pg,
	    "UPDATE outbox_events SET published_at = clock_timestamp()"
	    " WHERE id = ANY ($1::bigint[])",
	    b->p));
}

int
main(int argc, char **argv)
{
	struct buf b = BUF(16 * MIB);
	int64_t rows = argc == 5 ? strtoll(argv[3], NULL, 10) : 0, n = 0;
	struct store_opts o = {.dir = argv[2]};
	struct store *store = NULL;
	struct db *db = NULL;
	struct err e = {0};
	struct rusage u;
	int64_t began, took, seq = 0;
	int steps;
	PGconn *pg;

	if (rows < 1)
		die("usage", "outbox URL FOLDER ROWS BATCH");
	pg = PQconnectdb(argv[1]);
	if (PQstatus(pg) != CONNECTION_OK)
		die("connect", PQerrorMessage(pg));
	if (store_open(&o, &store, &e) < 0 ||
	    store_migrate(store, &steps, &e) < 0 ||
	    db_open(store, DB_WRITE, &db, &e) < 0)
		die("store", e.text);
	began = clock_mono_us();
	while (n < rows) {
		PGresult *res;

		PQclear(run(pg, "BEGIN", NULL));
		res = run(pg,
		    "SELECT id, event_id, tenant_id, event_type,"
		    " schema_version, partition_key, correlation_id, producer,"
		    " payload, occurred_at FROM outbox_events"
		    " WHERE published_at IS NULL ORDER BY id LIMIT $1"
		    " FOR UPDATE",
		    argv[4]);
		append(db, res, &seq, &b);
		mark(pg, res, &b);
		PQclear(run(pg, "COMMIT", NULL));
		n += PQntuples(res);
		PQclear(res);
	}
	took = clock_mono_us() - began;
	(void)getrusage(RUSAGE_SELF, &u);
	(void)printf("{\"rate\": %.0f, \"cpu_us\": %.2f}\n",
	    (double)n * 1e6 / (double)took,
	    ((double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) /
		(double)n);
	PQfinish(pg);
	db_close(db);
	store_close(store);
	buf_done(&b);
	return 0;
}
