#include "reader/clean.h"

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

	*ret = TRY(sql_clean_any_one(db, &row, e, .cut = cut_us)) > 0;
	return OK;
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
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_clean_old_row row;
	int n = 0;

	TRY(sql_clean_old(db, &rows, e, .cut = c->cut_us, .at = c->at,
	    .id = c->id, .most = CLEAN_STEP));
	while (TRY(sql_clean_old_next(rows, &row, e))) {
		c->next_at = row.created_at;
		c->next_id = row.id;
		n++;
		if (!row.starred)
			bury(g, &row, now_us);
	}
	c->more = n == CLEAN_STEP;
	return OK;
}

static void
gone_free(struct gone **g)
{
	free(*g);
}

int
clean_step(struct db *db, struct clean *c, int64_t now_us, struct err *e)
{
	struct gone *g CLEANUP(gone_free) = mem_get(sizeof(*g));

	c->next_at = c->at;
	c->next_id = c->id;
	TRY(find_old(db, c, now_us, g, e));
	c->removed = TRY(sql_clean_item(db, g->ids, g->n, e));
	if ((size_t)c->removed < g->n)
		return err_set(e, ERR_CONFLICT,
		    "somebody starred one of them at this moment");
	TRY(sql_clean_terms(db, g->ids, g->n, e));
	TRY(sql_clean_tomb(db, g->tombs, g->n, e));
	TRY(sql_clean_count(db, g->feeds, g->n, e));
	return OK;
}

void
clean_next(struct clean *c)
{
	c->at = c->next_at;
	c->id = c->next_id;
}
