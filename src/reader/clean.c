#include "reader/clean.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "reader/items_priv.h"
#include "reader/limits.h"
#include "sql.h"

struct gone {
	struct sql_clean_item_args ids[CLEAN_STEP];
	struct sql_clean_count_args feeds[CLEAN_STEP];
	struct sql_clean_tomb_args tombs[CLEAN_STEP];
	unsigned char identity[CLEAN_STEP][DIGEST_LEN];
	size_t n;
};

int
clean_any(struct db *db, int64_t cut_us, bool *ret, struct err *e)
{
	struct sql_clean_any_row row;
	int rc = sql_clean_any_one(db, &row, e, .cut = cut_us);

	*ret = rc > 0;
	return rc < 0 ? rc : OK;
}

static void
bury(struct gone *g, const struct sql_clean_old_row *r, int64_t now_us)
{
	unsigned char hash[DIGEST_LEN] = {0};
	size_t i = g->n++;

	if (r->content_hash.n == DIGEST_LEN)
		memcpy(hash, r->content_hash.p, DIGEST_LEN);
	item_identity(r->guid, r->link, hash, g->identity[i]);
	g->ids[i].id = r->id;
	g->feeds[i].feed = r->feed;
	g->tombs[i] = (struct sql_clean_tomb_args){.feed = r->feed,
	    .identity = long_hash(g->identity[i]),
	    .now = now_us};
}

static int
find_old(struct db *db, struct clean *c, int64_t now_us, struct gone *g,
    struct err *e)
{
	struct sql_clean_old_row row;
	struct rows *rows = NULL;
	int n = 0, rc = sql_clean_old(db, &rows, e, .cut = c->cut_us,
		       .at = c->at, .id = c->id, .most = CLEAN_STEP);

	while (rc >= 0 && (rc = sql_clean_old_next(rows, &row, e)) > 0) {
		c->next_at = row.created_at;
		c->next_id = row.id;
		n++;
		if (!row.starred)
			bury(g, &row, now_us);
	}
	rows_close(rows);
	c->more = n == CLEAN_STEP;
	return rc;
}

int
clean_step(struct db *db, struct clean *c, int64_t now_us, struct err *e)
{
	struct gone *g = mem_get(sizeof(*g));
	int rc;

	c->next_at = c->at;
	c->next_id = c->id;
	rc = find_old(db, c, now_us, g, e);
	if (rc == OK) {
		c->removed = sql_clean_item(db, g->ids, g->n, e);
		rc = c->removed < 0 ? (int)e->code : OK;
	}
	if (rc == OK && (size_t)c->removed < g->n)
		rc = err_set(e, ERR_CONFLICT,
		    "somebody starred one of them at this moment");
	if (rc == OK && (sql_clean_terms(db, g->ids, g->n, e) < 0 ||
			    sql_clean_tomb(db, g->tombs, g->n, e) < 0 ||
			    sql_clean_count(db, g->feeds, g->n, e) < 0))
		rc = e->code;
	free(g);
	return rc;
}

void
clean_next(struct clean *c)
{
	c->at = c->next_at;
	c->id = c->next_id;
}
