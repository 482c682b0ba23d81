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
	char mend[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(mend, sizeof(mend), fmt, ap);
	va_end(ap);
	say(k, true, what, mend);
}

/* `bars`: the type that it has, between bars; "" when it is not there. */
static void
tell_column(struct look *k, const struct column *c, const char *bars)
{
	char what[256];

	if (!*bars) {
		(void)snprintf(
		    what, sizeof(what), "there is no column %s", c->name);
		tell(k, what, "ALTER TABLE %s ADD COLUMN %s %s;", k->o->table,
		    c->name, k->db ? "TEXT" : c->mended);
	} else {
		(void)snprintf(what, sizeof(what), "column %s is %.*s", c->name,
		    (int)strcspn(bars + 1, "|"), bars + 1);
		tell(k, what, "ALTER TABLE %s ALTER COLUMN %s TYPE %.*s;",
		    k->o->table, c->name, (int)strcspn(c->mended, " "),
		    c->mended);
	}
}

/* PostgreSQL ------------------------------------------------------------------ */

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
			    "ALTER TABLE … ALTER COLUMN payload TYPE json;");
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
	const char *what, *mend; /* the mend's %s is the table */
} RULES[] = {
    {INDEX_WHERE UNIQUE_ALONE "a.attname = 'event_id')", false,
	"event_id is not unique", "CREATE UNIQUE INDEX ON %s (event_id);"},
    {INDEX_WHERE UNIQUE_ALONE "a.attname = 'id')", false, "id is not unique",
	"ALTER TABLE %s ADD PRIMARY KEY (id);"},
    {INDEX_WHERE
	"a.attname = 'id' AND"
	" pg_get_expr(i.indpred, i.indrelid) = '(published_at IS NULL)')",
	false,
	"there is no index of the rows that wait: each look would read the whole table",
	"CREATE INDEX ON %s (id) WHERE published_at IS NULL;"},
    {INDEX_WHERE "i.indpred IS NULL AND a.attname = 'xid')", true,
	"xid has no index: each look would read the whole table",
	"CREATE INDEX ON %s (xid);"},
    {NO_COLUMN("xid") "EXISTS (SELECT 1 FROM pg_attrdef d JOIN pg_attribute a"
		      " ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE"
		      " a.attname = 'xid' AND pg_get_expr(d.adbin, d.adrelid) ="
		      " 'pg_current_xact_id()' AND a.attnotnull AND"
		      " d.adrelid = $1::regclass)",
	true, "xid is not filled in by the database",
	"ALTER TABLE %s ALTER COLUMN xid SET DEFAULT pg_current_xact_id(), ALTER COLUMN xid SET NOT NULL;"},
    {"SELECT coalesce((SELECT bool_and(s.seqcache = 1) FROM pg_depend d JOIN"
     " pg_sequence s ON s.seqrelid = d.objid WHERE d.refclassid ="
     " 'pg_class'::regclass AND d.classid = 'pg_class'::regclass AND"
     " d.refobjid = $1::regclass), true)",
	false,
	"the sequence of id hands out ids in blocks (CACHE over 1): the events of one record could get ids in another order than they were written",
	"ALTER TABLE %s ALTER COLUMN id SET CACHE 1;"},
    {"SELECT has_table_privilege($1::regclass, 'SELECT')", false,
	"this user may not read it", "GRANT SELECT ON %s TO CURRENT_USER;"},
    {NO_COLUMN("published_at") "has_column_privilege($1::regclass,"
			       " 'published_at', 'UPDATE')",
	false, "this user may not set published_at",
	"GRANT UPDATE (published_at) ON %s TO CURRENT_USER;"},
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
		const char *arg = strstr(r->mend, "%s");

		if ((r->xid && !k->o->xid) || TRY(holds(k, r->sql, e)))
			continue;
		tell(k, r->what, "%.*s%s%s", (int)(arg - r->mend), r->mend,
		    k->o->table, arg + 2);
	}
	return OK;
}

static int
check_pg(struct look *k, struct err *e)
{
	TRY(pgwire_open(&k->w, k->o->url, "hikyaku outbox check", NULL, e));
	if (!TRY(holds(k, "SELECT to_regclass($1) IS NOT NULL", e))) {
		say(k, true, "there is no such table",
		    "hikyaku outbox schema --postgres | psql …");
		return OK;
	}
	if (k->o->xid && PQserverVersion(k->w.pg) < 130000)
		say(k, true, "this PostgreSQL has no xid8",
		    "PostgreSQL 13 or later, or outbox.mode = polling");
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

static void
look_lite(struct look *k, const char *table)
{
	if (!any_lite(
		k, "SELECT count(*) FROM pragma_table_info(?1)", table, NULL)) {
		say(k, true, "there is no such table",
		    "hikyaku outbox schema --sqlite | sqlite3 …");
		return;
	}
	for (size_t i = 0; i < COUNT_OF(COLUMNS); i++)
		if (!COLUMNS[i].xid &&
		    !any_lite(k,
			"SELECT count(*) FROM pragma_table_info(?1) WHERE"
			" name = ?2 COLLATE NOCASE",
			table, COLUMNS[i].name))
			tell_column(k, &COLUMNS[i], "");
	if (!any_lite(k,
		"SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'id'"
		" COLLATE NOCASE AND pk = 1 AND type = 'INTEGER' COLLATE NOCASE",
		table, NULL))
		say(k, true, "id is not INTEGER PRIMARY KEY",
		    "make the table anew: hikyaku outbox schema --sqlite");
	if (!any_lite(k,
		"SELECT count(*) FROM pragma_index_list(?1) l WHERE l.\"unique\""
		" AND NOT l.partial AND (SELECT count(*) FROM"
		" pragma_index_info(l.name)) = 1 AND (SELECT name FROM"
		" pragma_index_info(l.name)) = 'event_id' COLLATE NOCASE",
		table, NULL))
		tell(k, "event_id is not unique",
		    "CREATE UNIQUE INDEX %s_event_id ON %s (event_id);", table,
		    k->o->table);
	if (!any_lite(k,
		"SELECT count(*) FROM pragma_index_list(?1) l JOIN"
		" sqlite_master m ON m.name = l.name WHERE l.partial AND"
		" m.sql LIKE '%published_at IS NULL%'",
		table, NULL))
		tell(k,
		    "there is no index of the rows that wait: each look would read the whole table",
		    "CREATE INDEX %s_unpublished ON %s (id) WHERE published_at IS NULL;",
		    table, k->o->table);
	if (sqlite3_db_readonly(k->db, "main") == 1)
		say(k, true, "this user may not set published_at",
		    "chmod or chown the file and its folder");
}

static int
check_lite(struct look *k, const char *path, struct err *e)
{
	struct str name = {.p = k->o->table + 1};
	char table[OUTBOX_TABLE_MAX];

	name.n = strlen(name.p) - 1;
	if (memchr(name.p, '"', name.n))
		return err_set(e, ERR_INVALID,
		    "outbox.table has no schema in a SQLite file");
	(void)snprintf(table, sizeof(table), "%.*s", STR_ARG(name));
	if (access(path, F_OK) != 0)
		return err_set(e, ERR_ABSENT, "%s is not there", path);
	if (sqlite3_open_v2(path, &k->db, SQLITE_OPEN_READWRITE, NULL) !=
		SQLITE_OK ||
	    sqlite3_busy_timeout(k->db, OUTBOX_BUSY_MS) != SQLITE_OK ||
	    sqlite3_exec(k->db, "SELECT count(*) FROM sqlite_master", NULL,
		NULL, NULL) != SQLITE_OK)
		return err_set(
		    e, ERR_AWAY, "%s: %s", path, sqlite3_errmsg(k->db));
	look_lite(k, table);
	return OK;
}

int
outbox_check(const struct outbox_opts *o, struct outbox_told *t, struct err *e)
{
	struct look k = {.o = o, .t = t};
	const char *path = outbox_file(o->url);
	int rc = path ? check_lite(&k, path, e) : check_pg(&k, e);

	pgwire_close(&k.w);
	(void)sqlite3_close(k.db);
	return rc;
}
