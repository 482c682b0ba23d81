#include "reader/clean.h"

#include "base/str.h"
#include "reader/items_priv.h"
#include "reader/limits.h"
#include "sql.h"

struct gone {
	int64_t ids[CLEAN_STEP], feeds[CLEAN_STEP];
	unsigned char identity[CLEAN_STEP][DIGEST_LEN];
	struct str identities[CLEAN_STEP];
	size_t n;
};

int
clean_any(struct db *db, int64_t cut_us, bool *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_clean_any(db, &rows, e, .cut = cut_us);

	if (rc == OK)
		rc = rows_next(rows, e);
	*ret = rc > 0;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static void
take(struct gone *g, const struct sql_clean_old_row *r)
{
	unsigned char hash[DIGEST_LEN] = {0};

	if (r->content_hash.n == DIGEST_LEN)
		memcpy(hash, r->content_hash.p, DIGEST_LEN);
	item_identity(r->guid, r->link, hash, g->identity[g->n]);
	g->identities[g->n] =
	    (struct str){(const char *)g->identity[g->n], DIGEST_LEN};
	g->ids[g->n] = r->id;
	g->feeds[g->n++] = r->feed;
}

static int
find_old(struct db *db, struct clean *c, struct gone *g, struct err *e)
{
	struct sql_clean_old_row row;
	struct rows *rows = NULL;
	int n = 0, rc = sql_clean_old(db, &rows, e, .cut = c->cut_us,
		       .at = c->at, .id = c->id, .most = CLEAN_STEP);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_clean_old_get(rows, &row);
		c->next_at = row.created_at;
		c->next_id = row.id;
		n++;
		if (!row.starred)
			take(g, &row);
	}
	rows_close(rows);
	c->more = n == CLEAN_STEP;
	return rc < 0 ? rc : OK;
}

static int
remove_each(struct db *db, const struct gone *g, int64_t now_us,
    int64_t *ret_removed, struct err *e)
{
	for (size_t i = 0; i < g->n; i++) {
		int64_t n = sql_clean_item(db, e, .id = g->ids[i]);

		if (n > 0 &&
		    (sql_clean_terms(db, e, .id = g->ids[i]) < 0 ||
			sql_clean_tomb(db, e, .feed = g->feeds[i],
			    .identity = g->identities[i], .now = now_us) < 0 ||
			sql_clean_count(db, e, .feed = g->feeds[i]) < 0))
			n = -1;
		if (n < 0)
			return e->code;
		*ret_removed += n;
	}
	return OK;
}

/* The words of an article go with its row there. */
static int
remove_many(struct db *db, const struct gone *g, int64_t now_us,
    int64_t *ret_removed, struct err *e)
{
	struct rows *rows = NULL;
	int rc;

	if (sql_clean_tomb_many(db, e, .now = now_us, .feeds = g->feeds,
		.identities = g->identities, .n_each = g->n) < 0)
		return e->code;
	rc = sql_clean_items_many(db, &rows, e, .ids = g->ids, .n_each = g->n);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret_removed = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
clean_step(struct db *db, struct clean *c, int64_t now_us, struct err *e)
{
	struct gone *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return err_set(e, ERR_NOMEM, "no memory for old articles");
	c->removed = 0;
	c->next_at = c->at;
	c->next_id = c->id;
	rc = find_old(db, c, g, e);
	if (rc == OK && g->n > 0)
		rc = db_engine(db) == STORE_POSTGRES
			 ? remove_many(db, g, now_us, &c->removed, e)
			 : remove_each(db, g, now_us, &c->removed, e);
	free(g);
	return rc;
}

void
clean_next(struct clean *c)
{
	c->at = c->next_at;
	c->id = c->next_id;
}
