#include "reader/reterm.h"

#include "doc/limits.h"
#include "doc/terms.h"
#include "reader/limits.h"
#include "sql.h"

int
reterm_any(struct db *db, bool *ret, struct err *e)
{
	struct sql_reterm_any_row row;

	*ret = TRY(sql_reterm_any_one(db, &row, e)) > 0;
	return OK;
}

static struct str
make_words(struct db *db, struct arena *a, const struct sql_reterm_items_row *r)
{
	struct buf b CLEANUP(buf_done) = BUF(2 * TERMS_BYTES_MAX);
	struct terms t = {.engine = db_engine(db), .out = &b};

	terms_begin(&t);
	terms_add(&t, r->title);
	terms_add(&t, r->author);
	terms_add_html(&t, r->content);
	terms_add_html(&t, r->summary);
	return arena_dup(a, buf_str(&b));
}

int
reterm_step(struct db *db, int64_t *ret, struct err *e)
{
	struct sql_item_terms_put_args put[RETERM_STEP];
	struct arena *a CLEANUP(arena_freep) =
	    arena_new(RETERM_STEP * 3 * TERMS_BYTES_MAX);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_reterm_take_row left;
	struct sql_reterm_items_row row = {0};
	int64_t last = 0;
	size_t n = 0;

	*ret = 0;
	if (TRY(sql_reterm_take_one(db, &left, e)) == 0)
		return OK;
	TRY(sql_reterm_items(
	    db, &rows, e, .upto = left.upto, .most = RETERM_STEP));
	while (n < RETERM_STEP && TRY(sql_reterm_items_next(rows, &row, e))) {
		put[n++] = (struct sql_item_terms_put_args){
		    .uid = arena_dup(a, row.uid),
		    .terms = make_words(db, a, &row)};
		last = row.id;
	}
	rows_close(rows);
	rows = NULL;
	TRY(sql_item_terms_put(db, put, n, e));
	if (n < RETERM_STEP)
		TRY(sql_reterm_end(db, e));
	else
		TRY(sql_reterm_put(db, e, .upto = last - 1));
	*ret = (int64_t)n;
	return OK;
}
