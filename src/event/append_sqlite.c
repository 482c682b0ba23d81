
#include "event/append_priv.h"
#include "event/ids/ids.h"
#include "seal/digest.h"
#include "sql.h"

#define US_PER_MIN (60 * US_PER_S)
#define AHEAD      4 /* entries whose ids memory is asked for */
#define TOGETHER   8 /* as in sql/event.sql */

struct self {
	struct ids *ids;
	int64_t last;   /* seq of the newest committed entry */
	int64_t minute; /* that has its mark */
	int64_t fresh;  /* new entries of the batch */
};

static void *
open_self(void)
{
	struct self *s = mem_get(sizeof(*s));

	s->ids = ids_new();
	return s;
}

static void
close_self(void *self)
{
	struct self *s = self;

	ids_free(s->ids);
	free(s);
}

static int
resync(void *self, struct db *db, int64_t *ret_last_seq, struct err *e)
{
	struct self *s = self;
	struct sql_log_last_row row;

	if (TRY(sql_log_last_one(db, &row, e)) > 0)
		s->last = row.seq;
	TRY(ids_load(s->ids, db, e));
	s->minute = 0;
	*ret_last_seq = s->last;
	return OK;
}

/* A stored body that is what was received has no hash beside it. */
static bool
same_content(const struct sql_log_get_row *row, struct entry *en)
{
	unsigned char made[ENTRY_HASH_LEN];
	struct str hash = row->hash;

	if (hash.n == 0) {
		digest_short(row->body, made);
		hash = (struct str){(const char *)made, sizeof(made)};
	}
	entry_hash(en);
	return hash.n == ENTRY_HASH_LEN &&
	       memcmp(hash.p, en->hash, ENTRY_HASH_LEN) == 0;
}

/* Whether the entry at seq has this id: 1 and its hash told apart, 0, < 0. */
static int
compare(struct db *db, struct entry *en, int64_t seq, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_log_get_row row;

	TRY(sql_log_get(db, &rows, e, .seq = seq));
	if (TRY(sql_log_get_next(rows, &row, e)) == 0 ||
	    !str_eq(row.tenant, uuid_str(&en->tenant)) ||
	    !str_eq(row.event_id, uuid_str(&en->event_id)))
		return 0;
	en->seq = seq;
	en->state = same_content(&row, en) ? ENTRY_SAME : ENTRY_DIFFERS;
	return 1;
}

static int
known(struct self *s, struct db *db, struct entry *en, struct err *e)
{
	int64_t seqs[IDS_SAME_MAX];
	int n = TRY(ids_find(s->ids, db, en->h, seqs, e));

	for (int i = 0; i < n; i++)
		if (TRY(compare(db, en, seqs[i], e)) > 0)
			return 1;
	return 0;
}

/* New entries that are inserted together: one statement costs less than many. */
struct group {
	struct entry *v[TOGETHER];
	size_t n;
};

static struct sql_log_insert_args
row_of(const struct entry *en, int64_t now_us)
{
	struct str hash =
	    en->unhashed ? STR_EMPTY
			 : (struct str){(const char *)en->hash, ENTRY_HASH_LEN};

	return (struct sql_log_insert_args){
	    .seq = en->seq,
	    .kind = en->kind,
	    .tenant = uuid_str(&en->tenant),
	    .event_id = uuid_str(&en->event_id),
	    .h = en->h,
	    .hash = hash,
	    .type = en->type,
	    .pkey = en->key,
	    .rv = en->has_rv ? &en->rv_us : NULL,
	    .received_at = now_us,
	    .to_sub = en->to_sub ? &en->to_sub : NULL,
	    .attrs = en->attrs,
	    .body = en->stored,
	};
}

static int
insert(struct db *db, struct group *g, int64_t now_us, struct err *e)
{
	UNINIT struct sql_log_insert_args rows[TOGETHER];
	size_t n = g->n;

	for (size_t i = 0; i < n; i++)
		rows[i] = row_of(g->v[i], now_us);
	g->n = 0;
	return sql_log_insert(db, rows, n, e) < 0 ? (int)e->code : OK;
}

/* Inside the transaction. */
static int
fill(void *self, struct db *db, struct append_batch *b, struct err *e)
{
	struct self *s = self;
	int64_t minute = b->now_us / US_PER_MIN;
	struct group g = {.n = 0};

	TRY(ids_write(s->ids, db, e));
	for (size_t i = 0; i < b->n; i++) {
		struct entry *en = b->v[i];

		if (i + AHEAD < b->n)
			ids_hint(s->ids, b->v[i + AHEAD]->h);
		if (TRY(known(s, db, en, e)) > 0)
			continue;
		en->seq = s->last + ++s->fresh;
		en->state = ENTRY_NEW;
		ids_put(s->ids, en->h, en->seq);
		g.v[g.n++] = en;
		if (g.n == TOGETHER)
			TRY(insert(db, &g, b->now_us, e));
	}
	TRY(insert(db, &g, b->now_us, e));
	if (s->fresh > 0 && minute != s->minute &&
	    sql_mark_put(db, e, .minute = minute, .seq = s->last + 1) < 0)
		return e->code;
	return OK;
}

static int
write_batch(void *self, struct db *db, struct append_batch *b, struct err *e)
{
	struct self *s = self;
	int rc;

	s->fresh = 0;
	rc = append_tx(db, s, b, fill, e);
	if (rc < 0) {
		ids_undo(s->ids, (size_t)s->fresh);
		return rc;
	}
	ids_written(s->ids);
	s->last += s->fresh;
	if (s->fresh > 0)
		s->minute = b->now_us / US_PER_MIN;
	return OK;
}

static int
append_sqlite_find(void *self, struct db *db, int64_t h,
    int64_t ret_seqs[IDS_SAME_MAX], struct err *e)
{
	struct self *s = self;

	return ids_find(s->ids, db, h, ret_seqs, e);
}

static int
retain_ids(struct db *db, const struct retain_cut *cut, struct err *e)
{
	return ids_retain(db, cut->first, e);
}

const struct append_engine APPEND_SQLITE = {
    .alone = true,
    .retain_ids = retain_ids,
    .open = open_self,
    .close = close_self,
    .resync = resync,
    .write = write_batch,
    .find = append_sqlite_find,
};
