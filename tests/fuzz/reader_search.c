/*
 * Whatever is typed is a query that SQLite takes, or no word; and a text is
 * found by itself in quotes. Cursors are taken when they are from here.
 */
#include <sqlite3.h>

#include "doc/limits.h"
#include "doc/terms.h"
#include "reader/item_cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static sqlite3 *db;
static sqlite3_stmt *put, *ask, *del;

static void
open_db(void)
{
	if (db)
		return;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_exec(db,
		"CREATE VIRTUAL TABLE x USING fts5 (terms, tokenize = 'ascii',"
		" columnsize = 0)",
		NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO x (rowid, terms) VALUES (1, ?)",
		-1, &put, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "DELETE FROM x", -1, &del, NULL) !=
		SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT count(*) FROM x WHERE terms MATCH ?",
		-1, &ask, NULL) != SQLITE_OK)
		abort();
}

static int
run(sqlite3_stmt *s, const struct buf *b)
{
	int rc, got = 0;

	if (b)
		(void)sqlite3_bind_text(
		    s, 1, b->p ? b->p : "", (int)b->n, SQLITE_STATIC);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		got = sqlite3_column_int(s, 0);
	else if (rc != SQLITE_DONE)
		abort();
	(void)sqlite3_reset(s);
	return got;
}

/* 'word' or 'word':*, with & and <-> and parentheses between. */
static void
check_tsquery(struct str s)
{
	size_t quotes = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\'')
			quotes++;
		else if (quotes % 2 == 0)
			assert(strchr("()&<->:* ", s.p[i]) && s.p[i]);
		else
			assert((unsigned char)s.p[i] >= 0x80 ||
			       (s.p[i] >= '0' && s.p[i] <= '9') ||
			       (s.p[i] >= 'a' && s.p[i] <= 'z'));
	}
	assert(quotes % 2 == 0);
}

static void
search(struct str s)
{
	struct buf b = BUF(1 * MIB), text = BUF(1 * MIB), own = BUF(1 * MIB);
	struct terms t = {.engine = STORE_SQLITE, .out = &text};
	struct err e = {0};

	terms_add(&t, s);
	if (terms_query(STORE_SQLITE, s, &b, &e) == OK)
		(void)run(ask, &b);
	else
		assert(e.code == ERR_INVALID && e.at[0]);
	buf_clear(&b);
	if (terms_query(STORE_POSTGRES, s, &b, &e) == OK)
		check_tsquery(buf_str(&b));
	buf_addc(&own, '"');
	buf_add(&own, s);
	buf_addc(&own, '"');
	buf_clear(&b);
	if (!str_has(s, '"') && !b.failed &&
	    terms_query(STORE_SQLITE, buf_str(&own), &b, &e) == OK) {
		(void)run(put, &text);
		assert(run(ask, &b) == 1);
		(void)run(del, NULL);
	}
	text.n = 0;
	t.n = 0;
	terms_add_html(&t, s);
	assert(t.n <= TERMS_MAX);
	buf_done(&own);
	buf_done(&text);
	buf_done(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = {(const char *)data, n};
	char token[ITEM_CURSOR_LEN + 1];
	struct item_place p = {-1, -1};
	struct err e = {0};

	if (item_cursor_parse(s, ITEM_BY_DATE, &p, &e) == OK) {
		item_cursor_format(ITEM_BY_DATE, p, token);
		assert(str_eq(s, str_of(token)));
	} else {
		assert(e.code == ERR_INVALID && p.at == -1);
	}
	if (n > 4096)
		return 0;
	open_db();
	search(s);
	return 0;
}
