#include "source/outbox_check.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "source/outbox.h"
#include "source/pgwire.h"

static const struct column {
	const char *name;
	const char *types;  /* of PostgreSQL, between bars */
	const char *mended; /* as it should be made */
	bool xid;           /* for that mode alone */
} COLUMNS[] = {
    {"id", "|bigint|integer|", "bigint GENERATED ALWAYS AS IDENTITY", false},
    {"event_id", "|uuid|text|character varying|",
	"uuid NOT NULL DEFAULT gen_random_uuid()", false},
    {"tenant_id", "|uuid|text|character varying|", "uuid NOT NULL", false},
    {"event_type", "|text|character varying|", "text NOT NULL", false},
    {"schema_version", "|integer|smallint|bigint|",
	"integer NOT NULL DEFAULT 1", false},
    {"partition_key", "|text|character varying|", "text NOT NULL", false},
    {"record_version",
	"|timestamp with time zone|timestamp without time zone|text|",
	"timestamptz", false},
    {"correlation_id", "|uuid|text|character varying|", "uuid", false},
    {"producer", "|json|jsonb|text|", "json NOT NULL", false},
    {"payload", "|json|jsonb|text|", "json NOT NULL", false},
    {"occurred_at",
	"|timestamp with time zone|timestamp without time zone|text|",
	"timestamptz NOT NULL DEFAULT clock_timestamp()", false},
    {"created_at", "|timestamp with time zone|timestamp without time zone|",
	"timestamptz NOT NULL DEFAULT clock_timestamp()", false},
    {"published_at", "|timestamp with time zone|timestamp without time zone|",
	"timestamptz", false},
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

PRINTF(4, 5)
static void
outbox_check_tell(
    struct look *k, bool fault, const char *what, const char *fmt, ...)
{
	char mend[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(mend, sizeof(mend), fmt, ap);
	va_end(ap);
	say(k, fault, what, mend);
}

static void
tell_column(struct look *k, const struct column *c, const char *type)
{
	char what[256];

	if (!type) {
		(void)snprintf(
		    what, sizeof(what), "there is no column %s", c->name);
		outbox_check_tell(k, true, what,
		    "ALTER TABLE %s ADD COLUMN %s %s;", k->o->table, c->name,
		    k->db ? "TEXT" : c->mended);
	} else {
		(void)snprintf(
		    what, sizeof(what), "column %s is %.80s", c->name, type);
		outbox_check_tell(k, true, what,
		    "ALTER TABLE %s ALTER COLUMN %s TYPE %.*s;", k->o->table,
		    c->name, (int)strcspn(c->mended, " "), c->mended);
	}
}

/* PostgreSQL ------------------------------------------------------------------ */

/* The first value of the first row; "" when there is none. `%s` is the table
 * as a literal: it is quoted for identifiers and holds no quote of a string. */
static int
outbox_check_ask(struct look *k, const char *before, const char *after,
    char *ret, size_t size, struct err *e)
{
	struct buf sql = BUF(8 * KIB);
	PGresult *res = NULL;
	int rc;

	buf_addz(&sql, before);
	buf_addc(&sql, '\'');
	buf_addz(&sql, k->o->table);
	buf_addc(&sql, '\'');
	buf_addz(&sql, after);
	buf_addc(&sql, '\0');
	assert(!sql.failed);
	rc = pgwire_ask(&k->w, sql.p, NULL, &res, e);
	buf_done(&sql);
	ret[0] = '\0';
	if (rc == OK && res && PQntuples(res) > 0)
		(void)snprintf(ret, size, "%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	return rc;
}

static int
columns_pg(struct look *k, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < COUNT_OF(COLUMNS); i++) {
		const struct column *c = &COLUMNS[i];
		char after[256], type[128], bars[132];

		if (c->xid && !k->o->xid)
			continue;
		(void)snprintf(after, sizeof(after),
		    "::regclass AND attname = '%s' AND attnum > 0"
		    " AND NOT attisdropped",
		    c->name);
		rc = outbox_check_ask(k,
		    "SELECT format_type(atttypid, NULL) FROM pg_attribute"
		    " WHERE attrelid = ",
		    after, type, sizeof(type), e);
		if (rc < 0)
			break;
		(void)snprintf(bars, sizeof(bars), "|%s|", type);
		if (!type[0])
			tell_column(k, c, NULL);
		else if (!strstr(c->types, bars))
			tell_column(k, c, type);
		else if (strcmp(c->name, "payload") == 0 &&
			 strcmp(type, "jsonb") == 0)
			say(k, false,
			    "payload is jsonb: PostgreSQL rewrites the text, so receivers do not get the bytes that were written",
			    "ALTER TABLE … ALTER COLUMN payload TYPE json;");
	}
	return rc;
}

#define INDEX_WHERE                                                            \
	"SELECT EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a ON"       \
	" a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE"            \
	" i.indrelid = "

static const struct rule {
	const char *before, *after; /* answers t or f around the table's name */
	bool fault, xid;
	const char *what, *mend; /* the mend's %s is the table */
} RULES[] = {
    {INDEX_WHERE,
	"::regclass AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1"
	" AND i.indpred IS NULL AND a.attname = 'event_id')",
	true, false, "event_id is not unique",
	"CREATE UNIQUE INDEX ON %s (event_id);"},
    {INDEX_WHERE,
	"::regclass AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1"
	" AND i.indpred IS NULL AND a.attname = 'id')",
	true, false, "id is not unique",
	"ALTER TABLE %s ADD PRIMARY KEY (id);"},
    {INDEX_WHERE,
	"::regclass AND i.indisvalid AND a.attname = 'id' AND"
	" pg_get_expr(i.indpred, i.indrelid) = '(published_at IS NULL)')",
	true, false,
	"there is no index of the rows that wait: each look would read the whole table",
	"CREATE INDEX ON %s (id) WHERE published_at IS NULL;"},
    {INDEX_WHERE,
	"::regclass AND i.indisvalid AND i.indpred IS NULL AND"
	" a.attname = 'xid')",
	true, true, "xid has no index: each look would read the whole table",
	"CREATE INDEX ON %s (xid);"},
    {"SELECT NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attname = 'xid' AND"
     " NOT attisdropped AND attrelid = ",
	"::regclass) OR EXISTS (SELECT 1 FROM pg_attrdef d JOIN pg_attribute a"
	" ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE"
	" a.attname = 'xid' AND pg_get_expr(d.adbin, d.adrelid) ="
	" 'pg_current_xact_id()' AND a.attnotnull AND d.adrelid = __T__)",
	true, true, "xid is not filled in by the database",
	"ALTER TABLE %s ALTER COLUMN xid SET DEFAULT pg_current_xact_id(), ALTER COLUMN xid SET NOT NULL;"},
    {"SELECT coalesce((SELECT bool_and(s.seqcache = 1) FROM pg_depend d JOIN"
     " pg_sequence s ON s.seqrelid = d.objid WHERE d.refclassid ="
     " 'pg_class'::regclass AND d.classid = 'pg_class'::regclass AND"
     " d.refobjid = ",
	"::regclass), true)", true, false,
	"the sequence of id hands out ids in blocks (CACHE over 1): the events of one record could get ids in another order than they were written",
	"ALTER TABLE %s ALTER COLUMN id SET CACHE 1;"},
    {"SELECT has_table_privilege(", "::regclass, 'SELECT')", true, false,
	"this user may not read it", "GRANT SELECT ON %s TO CURRENT_USER;"},
    {"SELECT NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attname ="
     " 'published_at' AND NOT attisdropped AND attrelid = ",
	"::regclass) OR has_column_privilege(__T__, 'published_at', 'UPDATE')",
	true, false, "this user may not set published_at",
	"GRANT UPDATE (published_at) ON %s TO CURRENT_USER;"},
};

/* `after` may name the table once more, as __T__. */
static int
rules_pg(struct look *k, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < COUNT_OF(RULES); i++) {
		const struct rule *r = &RULES[i];
		const char *at = strstr(r->after, "__T__");
		const char *arg = strstr(r->mend, "%s");
		char after[1024], yes[8], mend[512];

		if (r->xid && !k->o->xid)
			continue;
		(void)snprintf(after, sizeof(after), "%.*s%s%s%s%s",
		    at ? (int)(at - r->after) : (int)strlen(r->after), r->after,
		    at ? "'" : "", at ? k->o->table : "",
		    at ? "'::regclass" : "", at ? at + strlen("__T__") : "");
		rc = outbox_check_ask(k, r->before, after, yes, sizeof(yes), e);
		if (rc < 0 || yes[0] == 't')
			continue;
		(void)snprintf(mend, sizeof(mend), "%.*s%s%s",
		    (int)(arg - r->mend), r->mend, k->o->table, arg + 2);
		say(k, r->fault, r->what, mend);
	}
	return rc;
}

static int
check_pg(struct look *k, struct err *e)
{
	char there[8], version[32];
	int64_t n = 0;
	int rc = pgwire_open(&k->w, k->o->url, NULL, e);

	if (rc == OK)
		rc = outbox_check_ask(k, "SELECT to_regclass(", ") IS NOT NULL",
		    there, sizeof(there), e);
	if (rc == OK && there[0] != 't') {
		say(k, true, "there is no such table",
		    "hikyaku outbox schema --postgres | psql …");
		return OK;
	}
	if (rc == OK)
		rc = outbox_check_ask(k,
		    "SELECT current_setting('server_version_num') FROM"
		    " (SELECT ",
		    ") x", version, sizeof(version), e);
	if (rc == OK && k->o->xid && str_int(str_of(version), &n) && n < 130000)
		say(k, true, "this PostgreSQL has no xid8",
		    "PostgreSQL 13 or later, or outbox.mode = polling");
	if (rc == OK)
		rc = columns_pg(k, e);
	return rc == OK ? rules_pg(k, e) : rc;
}

/* SQLite ------------------------------------------------------------------------- */

/* The first value of a statement with one parameter; -1 when there is none. */
static int64_t
value_lite(struct look *k, const char *sql, const char *table, const char *arg)
{
	sqlite3_stmt *st = NULL;
	int64_t v = -1;

	if (sqlite3_prepare_v2(k->db, sql, -1, &st, NULL) == SQLITE_OK) {
		(void)sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
		if (arg)
			(void)sqlite3_bind_text(st, 2, arg, -1, SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW)
			v = sqlite3_column_int64(st, 0);
	}
	(void)sqlite3_finalize(st);
	return v;
}

static void
look_lite(struct look *k, const char *table)
{
	if (value_lite(k, "SELECT count(*) FROM pragma_table_info(?1)", table,
		NULL) <= 0) {
		say(k, true, "there is no such table",
		    "hikyaku outbox schema --sqlite | sqlite3 …");
		return;
	}
	for (size_t i = 0; i < COUNT_OF(COLUMNS); i++)
		if (!COLUMNS[i].xid &&
		    value_lite(k,
			"SELECT count(*) FROM pragma_table_info(?1) WHERE"
			" name = ?2 COLLATE NOCASE",
			table, COLUMNS[i].name) <= 0)
			tell_column(k, &COLUMNS[i], NULL);
	if (value_lite(k,
		"SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'id'"
		" COLLATE NOCASE AND pk = 1 AND type = 'INTEGER' COLLATE NOCASE",
		table, NULL) <= 0)
		say(k, true, "id is not INTEGER PRIMARY KEY",
		    "make the table anew: hikyaku outbox schema --sqlite");
	if (value_lite(k,
		"SELECT count(*) FROM pragma_index_list(?1) l WHERE l.\"unique\""
		" AND NOT l.partial AND (SELECT count(*) FROM"
		" pragma_index_info(l.name)) = 1 AND (SELECT name FROM"
		" pragma_index_info(l.name)) = 'event_id' COLLATE NOCASE",
		table, NULL) <= 0)
		outbox_check_tell(k, true, "event_id is not unique",
		    "CREATE UNIQUE INDEX %s_event_id ON %s (event_id);", table,
		    k->o->table);
	if (value_lite(k,
		"SELECT count(*) FROM pragma_index_list(?1) l JOIN"
		" sqlite_master m ON m.name = l.name WHERE l.partial AND"
		" m.sql LIKE '%published_at IS NULL%'",
		table, NULL) <= 0)
		outbox_check_tell(k, true,
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
	    SQLITE_OK)
		return err_set(
		    e, ERR_AWAY, "%s: %s", path, sqlite3_errmsg(k->db));
	(void)sqlite3_busy_timeout(k->db, OUTBOX_BUSY_MS);
	if (sqlite3_exec(k->db, "SELECT count(*) FROM sqlite_master", NULL,
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
