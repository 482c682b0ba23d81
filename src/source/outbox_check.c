#include <sqlite3.h>
#include <stdarg.h>
#include <unistd.h>

#include "source/outbox.h"
#include "source/pgwire.h"

#define TEXT_TYPES "|text|character varying|"
#define UUID_TYPES "|uuid" TEXT_TYPES
#define JSON_TYPES "|json|jsonb|text|"
#define TIME_TYPES "|timestamp with time zone|timestamp without time zone|"

static const struct column {
	const char *name;
	const char *types;  /* of PostgreSQL, between bars */
	const char *mended; /* as it should be made */
	bool xid;           /* for that mode alone */
} COLUMNS[] = {
    {"id", "|bigint|integer|", "bigint GENERATED ALWAYS AS IDENTITY", false},
    {"event_id", UUID_TYPES, "uuid NOT NULL DEFAULT gen_random_uuid()", false},
    {"tenant_id", UUID_TYPES, "uuid NOT NULL", false},
    {"event_type", TEXT_TYPES, "text NOT NULL", false},
    {"schema_version", "|integer|smallint|bigint|",
	"integer NOT NULL DEFAULT 1", false},
    {"partition_key", TEXT_TYPES, "text NOT NULL", false},
    {"record_version", TIME_TYPES "text|", "timestamptz", false},
    {"correlation_id", UUID_TYPES, "uuid", false},
    {"producer", JSON_TYPES, "json NOT NULL", false},
    {"payload", JSON_TYPES, "json NOT NULL", false},
    {"occurred_at", TIME_TYPES "text|",
	"timestamptz NOT NULL DEFAULT clock_timestamp()", false},
    {"created_at", TIME_TYPES, "timestamptz NOT NULL DEFAULT clock_timestamp()",
	false},
    {"published_at", TIME_TYPES, "timestamptz", false},
    {"xid", "|xid8|", "xid8 NOT NULL DEFAULT pg_current_xact_id()", true},
};

struct look {
	const struct outbox_opts *o;
	struct outbox_told *t;
	struct pgwire w;
	sqlite3 *db;
	bool has_rows;
	char user[160]; /* quoted */
	struct buf mend;
};

static void
say(struct look *k, bool fault, const char *what, const char *mend)
{
	if (fault)
		k->t->faults++;
	else
		k->t->advice++;
	k->t->say(k->t->ctx, fault, what, mend);
}

PRINTF(3, 4)
static void
tell(struct look *k, const char *what, const char *fmt, ...)
{
	char mend[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(mend, sizeof(mend), fmt, ap);
	va_end(ap);
	say(k, true, what, mend);
}

/* Of a table with rows: without NOT NULL where they would have no value. */
static const char *
made_as(const struct look *k, const struct column *c, char ret[96])
{
	const char *must = strstr(c->mended, " NOT NULL");

	if (k->db)
		return "TEXT";
	if (!must || !k->has_rows || strstr(c->mended, "DEFAULT"))
		return c->mended;
	(void)snprintf(ret, 96, "%.*s", (int)(must - c->mended), c->mended);
	return ret;
}

/* Its default goes before the type and comes behind it: it may not fit. */
static void
tell_type(
    struct look *k, const struct column *c, const char *bars, const char *what)
{
	const char *initial = strstr(c->mended, "DEFAULT ");
	bool own = strstr(c->mended, "IDENTITY") == NULL;
	const char *from = strcmp(bars, "|bytea|") == 0
			       ? "convert_from(%s, 'UTF8')"
			       : "%s::text";
	char value[64], drop[96] = "", set[160] = "";
	const char *at = strstr(from, "%s");

	(void)snprintf(value, sizeof(value), "%.*s%s%s", (int)(at - from), from,
	    c->name, at + 2);
	if (own)
		(void)snprintf(drop, sizeof(drop),
		    "ALTER COLUMN %s DROP DEFAULT, ", c->name);
	if (own && initial)
		(void)snprintf(set, sizeof(set), ", ALTER COLUMN %s SET %s",
		    c->name, initial);
	tell(k, what,
	    "ALTER TABLE %s %sALTER COLUMN %s TYPE %.*s USING %s::%.*s%s;",
	    k->o->table, drop, c->name, (int)strcspn(c->mended, " "), c->mended,
	    value, (int)strcspn(c->mended, " "), c->mended, set);
}

/* `bars`: the type that it has, between bars; "" when it is not there. */
static void
tell_column(struct look *k, const struct column *c, const char *bars)
{
	char what[256], as[96];

	if (!*bars) {
		(void)snprintf(
		    what, sizeof(what), "there is no column %s", c->name);
		tell(k, what, "ALTER TABLE %s ADD COLUMN %s %s;", k->o->table,
		    c->name, made_as(k, c, as));
	} else {
		(void)snprintf(what, sizeof(what), "column %s is %.*s", c->name,
		    (int)strcspn(bars + 1, "|"), bars + 1);
		tell_type(k, c, bars, what);
	}
}

/* PostgreSQL ------------------------------------------------------------------ */

/* %t is the table, %u this user; valid until the next one. */
static const char *
mend_of(struct look *k, const char *form)
{
	struct buf *b = &k->mend;

	buf_clear(b);
	for (; *form; form++) {
		if (form[0] != '%') {
			buf_addc(b, *form);
			continue;
		}
		form++;
		if (*form == 't')
			buf_addz(b, k->o->table);
		else
			buf_addz(b, k->user);
	}
	buf_addc(b, '\0');
	return b->failed ? "" : b->p;
}

static int
columns_pg(struct look *k, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	TRY(pgwire_ask(&k->w,
	    "SELECT attname, '|' || format_type(atttypid, NULL) || '|' FROM"
	    " pg_attribute WHERE attrelid = $1::regclass AND attnum > 0"
	    " AND NOT attisdropped",
	    k->o->table, &res, e));
	for (size_t i = 0; i < COUNT_OF(COLUMNS); i++) {
		const struct column *c = &COLUMNS[i];
		int at = 0, n = PQntuples(res);
		const char *bars;

		if (c->xid && !k->o->xid)
			continue;
		while (at < n && strcmp(PQgetvalue(res, at, 0), c->name) != 0)
			at++;
		bars = at < n ? PQgetvalue(res, at, 1) : "";
		if (!strstr(c->types, bars) || !*bars)
			tell_column(k, c, bars);
		else if (strcmp(c->name, "payload") == 0 &&
			 strcmp(bars, "|jsonb|") == 0)
			say(k, false,
			    "payload is jsonb: PostgreSQL rewrites the text, so receivers do not get the bytes that were written",
			    mend_of(k,
				"ALTER TABLE %t ALTER COLUMN payload TYPE json;"));
	}
	return OK;
}

#define INDEX_WHERE                                                            \
	"SELECT EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a ON"       \
	" a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE"            \
	" i.indrelid = $1::regclass AND i.indisvalid AND "
#define UNIQUE_ALONE                                                           \
	"i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL AND "
#define NO_COLUMN(name)                                                        \
	"SELECT NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attname ="        \
	" '" name "' AND NOT attisdropped AND attrelid = $1::regclass) OR "

static const struct rule {
	const char *sql;         /* answers t when all is well */
	bool xid;                /* for that mode alone */
	const char *what, *mend; /* mend_of() */
} RULES[] = {
    {INDEX_WHERE UNIQUE_ALONE "a.attname = 'event_id')", false,
	"event_id is not unique", "CREATE UNIQUE INDEX ON %t (event_id);"},
    {INDEX_WHERE UNIQUE_ALONE "a.attname = 'id')", false, "id is not unique",
	"CREATE UNIQUE INDEX ON %t (id);"},
    {INDEX_WHERE
	"a.attname = 'id' AND"
	" pg_get_expr(i.indpred, i.indrelid) = '(published_at IS NULL)')",
	false,
	"there is no index of the rows that wait: each look would read the whole table",
	"CREATE INDEX ON %t (id) WHERE published_at IS NULL;"},
    {INDEX_WHERE "i.indpred IS NULL AND a.attname = 'xid')", true,
	"xid has no index: each look would read the whole table",
	"CREATE INDEX ON %t (xid);"},
    {NO_COLUMN("xid") "EXISTS (SELECT 1 FROM pg_attrdef d JOIN pg_attribute a"
		      " ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE"
		      " a.attname = 'xid' AND pg_get_expr(d.adbin, d.adrelid) ="
		      " 'pg_current_xact_id()' AND a.attnotnull AND"
		      " d.adrelid = $1::regclass)",
	true, "xid is not filled in by the database",
	"UPDATE %t SET xid = pg_current_xact_id() WHERE xid IS NULL; ALTER TABLE %t ALTER COLUMN xid SET DEFAULT pg_current_xact_id(), ALTER COLUMN xid SET NOT NULL;"},
    {"SELECT coalesce((SELECT bool_and(s.seqcache = 1) FROM pg_depend d JOIN"
     " pg_sequence s ON s.seqrelid = d.objid WHERE d.refclassid ="
     " 'pg_class'::regclass AND d.classid = 'pg_class'::regclass AND"
     " d.refobjid = $1::regclass), true)",
	false,
	"the sequence of id hands out ids in blocks (CACHE over 1): the events of one record could get ids in another order than they were written",
	"DO $$ DECLARE s regclass; BEGIN FOR s IN SELECT d.objid FROM pg_depend d JOIN pg_sequence q ON q.seqrelid = d.objid WHERE d.refobjid = '%t'::regclass LOOP EXECUTE 'ALTER SEQUENCE ' || s || ' CACHE 1'; END LOOP; END $$;"},
    {"SELECT has_table_privilege($1::regclass, 'SELECT')", false,
	"this user may not read it", "GRANT SELECT ON %t TO %u;"},
    {NO_COLUMN("published_at") "has_column_privilege($1::regclass,"
			       " 'published_at', 'UPDATE')",
	false, "this user may not set published_at",
	"GRANT UPDATE (published_at) ON %t TO %u;"},
};

/* Whether the statement, whose parameter is the table, answers t. */
static int
holds(struct look *k, const char *sql, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	TRY(pgwire_ask(&k->w, sql, k->o->table, &res, e));
	return PQntuples(res) > 0 && PQgetvalue(res, 0, 0)[0] == 't';
}

static int
rules_pg(struct look *k, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(RULES); i++) {
		const struct rule *r = &RULES[i];
		if ((r->xid && !k->o->xid) || TRY(holds(k, r->sql, e)))
			continue;
		say(k, true, r->what, mend_of(k, r->mend));
	}
	return OK;
}

/* The shell's line that makes the table, where this connection leads. */
static void
tell_absent_pg(struct look *k)
{
	const char *table = k->o->bare, *options = PQoptions(k->w.pg);
	bool more = options && *options;

	tell(k, "there is no such table",
	    "hikyaku outbox schema --postgres --table %s | %s%s%spsql -h '%s' -p %s -U '%s' -d '%s'",
	    table, more ? "PGOPTIONS='" : "", more ? options : "",
	    more ? "' " : "", PQhost(k->w.pg), PQport(k->w.pg), PQuser(k->w.pg),
	    PQdb(k->w.pg));
}

static int
learn_pg(struct look *k, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;
	char sql[OUTBOX_TABLE_MAX + 64];

	TRY(pgwire_ask(
	    &k->w, "SELECT quote_ident(current_user)", NULL, &res, e));
	(void)snprintf(k->user, sizeof(k->user), "%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	res = NULL;
	if (!TRY(holds(
		k, "SELECT has_table_privilege($1::regclass, 'SELECT')", e)))
		return OK;
	(void)snprintf(
	    sql, sizeof(sql), "SELECT EXISTS (SELECT 1 FROM %s)", k->o->table);
	TRY(pgwire_ask(&k->w, sql, NULL, &res, e));
	k->has_rows = PQgetvalue(res, 0, 0)[0] == 't';
	return OK;
}

static int
check_pg(struct look *k, struct err *e)
{
	TRY(pgwire_open(&k->w, k->o->url, "hikyaku outbox check", NULL, e));
	if (!TRY(holds(k, "SELECT to_regclass($1) IS NOT NULL", e))) {
		tell_absent_pg(k);
		return OK;
	}
	TRY(learn_pg(k, e));
	if (k->o->xid && PQserverVersion(k->w.pg) < 130000)
		say(k, true, "this PostgreSQL has no xid8",
		    "-- PostgreSQL 13 or later, or outbox.mode = polling");
	TRY(columns_pg(k, e));
	return rules_pg(k, e);
}

/* SQLite ------------------------------------------------------------------------- */

/* Whether the statement, whose parameters these are, counts any. */
static bool
any_lite(struct look *k, const char *sql, const char *table, const char *arg)
{
	sqlite3_stmt *st = NULL;
	bool any = false;

	if (sqlite3_prepare_v2(k->db, sql, -1, &st, NULL) == SQLITE_OK) {
		(void)sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
		if (arg)
			(void)sqlite3_bind_text(st, 2, arg, -1, SQLITE_STATIC);
		any = sqlite3_step(st) == SQLITE_ROW &&
		      sqlite3_column_int64(st, 0) > 0;
	}
	(void)sqlite3_finalize(st);
	return any;
}

/*
 * A column can't become the key: a table anew, with the rows in their order.
 * The old one stays, with what else it has.
 */
static void
tell_anew(struct look *k, const char *table, bool has_id)
{
	struct buf cols CLEANUP(buf_done) = BUF(2 * KIB);
	struct buf names CLEANUP(buf_done) = BUF(2 * KIB);

	for (size_t i = 1; i < COUNT_OF(COLUMNS); i++) {
		const char *name = COLUMNS[i].name;

		if (COLUMNS[i].xid)
			continue;
		buf_fmt(&cols, ", %s TEXT%s%s", name,
		    strcmp(name, "event_id") == 0 ? " UNIQUE" : "",
		    strcmp(name, "schema_version") == 0 ? " DEFAULT 1" : "");
		buf_fmt(&names, "%s%s", names.n ? ", " : "", name);
	}
	tell(k, "id is not INTEGER PRIMARY KEY",
	    "ALTER TABLE \"%s\" RENAME TO \"%s_before\"; CREATE TABLE \"%s\" (id INTEGER PRIMARY KEY AUTOINCREMENT%.*s); CREATE INDEX \"%s_waiting\" ON \"%s\" (id) WHERE published_at IS NULL; INSERT INTO \"%s\" (%.*s) SELECT %.*s FROM \"%s_before\" ORDER BY %s;",
	    table, table, table, STR_ARG(buf_str(&cols)), table, table, table,
	    STR_ARG(buf_str(&names)), STR_ARG(buf_str(&names)), table,
	    has_id ? "id" : "rowid");
}

static void
indexes_lite(struct look *k, const char *table)
{
	if (!any_lite(k,
		"SELECT count(*) FROM pragma_index_list(?1) l WHERE l.\"unique\""
		" AND NOT l.partial AND (SELECT count(*) FROM"
		" pragma_index_info(l.name)) = 1 AND (SELECT name FROM"
		" pragma_index_info(l.name)) = 'event_id' COLLATE NOCASE",
		table, NULL))
		tell(k, "event_id is not unique",
		    "CREATE UNIQUE INDEX \"%s_event_id\" ON %s (event_id);",
		    table, k->o->table);
	if (!any_lite(k,
		"SELECT count(*) FROM pragma_index_list(?1) l JOIN"
		" sqlite_master m ON m.name = l.name WHERE l.partial AND"
		" m.sql LIKE '%published_at IS NULL%'",
		table, NULL))
		tell(k,
		    "there is no index of the rows that wait: each look would read the whole table",
		    "CREATE INDEX \"%s_unpublished\" ON %s (id) WHERE published_at IS NULL;",
		    table, k->o->table);
}

static void
look_lite(struct look *k, const char *table, const char *path)
{
	static const char HAS[] =
	    "SELECT count(*) FROM pragma_table_info(?1) WHERE"
	    " name = ?2 COLLATE NOCASE";

	if (!any_lite(
		k, "SELECT count(*) FROM pragma_table_info(?1)", table, NULL)) {
		tell(k, "there is no such table",
		    "hikyaku outbox schema --sqlite --table %s | sqlite3 '%s'",
		    table, path);
		return;
	}
	for (size_t i = 1; i < COUNT_OF(COLUMNS); i++)
		if (!COLUMNS[i].xid &&
		    !any_lite(k, HAS, table, COLUMNS[i].name))
			tell_column(k, &COLUMNS[i], "");
	if (any_lite(k,
		"SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'id'"
		" COLLATE NOCASE AND pk = 1 AND type = 'INTEGER' COLLATE NOCASE",
		table, NULL))
		indexes_lite(k, table);
	else
		tell_anew(k, table, any_lite(k, HAS, table, "id"));
	if (sqlite3_db_readonly(k->db, "main") == 1)
		say(k, true, "this user may not set published_at",
		    "-- chmod or chown the file and its folder");
}

static int
check_lite(struct look *k, const char *path, struct err *e)
{
	if (strchr(k->o->bare, '.'))
		return err_set(e, ERR_INVALID,
		    "%s.table has no schema in a SQLite file", k->o->name);
	if (access(path, F_OK) != 0)
		return err_set(e, ERR_ABSENT, "%s is not there", path);
	if (sqlite3_open_v2(path, &k->db, SQLITE_OPEN_READWRITE, NULL) !=
		SQLITE_OK ||
	    sqlite3_busy_timeout(k->db, OUTBOX_BUSY_MS) != SQLITE_OK ||
	    sqlite3_exec(k->db, "SELECT count(*) FROM sqlite_master", NULL,
		NULL, NULL) != SQLITE_OK)
		return err_set(
		    e, ERR_AWAY, "%s: %s", path, sqlite3_errmsg(k->db));
	look_lite(k, k->o->bare, path);
	return OK;
}

int
outbox_check(const struct outbox_opts *o, struct outbox_told *t, struct err *e)
{
	struct look k = {.o = o, .t = t, .mend = BUF(2 * KIB)};
	const char *path = outbox_file(o->url);
	int rc = path ? check_lite(&k, path, e) : check_pg(&k, e);

	buf_done(&k.mend);
	pgwire_close(&k.w);
	(void)sqlite3_close(k.db);
	return rc;
}
