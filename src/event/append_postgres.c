
#include "event/append_priv.h"
#include "event/limits.h"
#include "sql.h"

/* Pieces are made well before they are needed: every so many entries. */
#define PIECE_STEP_BITS 22

struct self {
	int64_t pieces_for; /* seq >> PIECE_STEP_BITS of the last making */
	int64_t top;        /* seq of the batch */
	int64_t h[COMMIT_BATCH_MAX], kind[COMMIT_BATCH_MAX];
	int64_t to_sub[COMMIT_BATCH_MAX];
	struct str tenant[COMMIT_BATCH_MAX], id[COMMIT_BATCH_MAX];
	struct str hash[COMMIT_BATCH_MAX], type[COMMIT_BATCH_MAX];
	struct str key[COMMIT_BATCH_MAX], rv[COMMIT_BATCH_MAX];
	struct str attrs[COMMIT_BATCH_MAX], body[COMMIT_BATCH_MAX];
	char rv_text[COMMIT_BATCH_MAX][24];
};

static void *
open_self(void)
{
	struct self *s = mem_get(sizeof(*s));

	s->pieces_for = -1;
	return s;
}

static int
make_pieces(struct self *s, struct db *db, int64_t seq, struct err *e)
{
	struct sql_pieces_make_row row;

	if (seq >> PIECE_STEP_BITS == s->pieces_for)
		return OK;
	if (sql_pieces_make_one(db, &row, e, .upto = seq) < 0)
		return e->code;
	s->pieces_for = seq >> PIECE_STEP_BITS;
	return OK;
}

static int
resync(void *self, struct db *db, int64_t *ret_last_seq, struct err *e)
{
	struct sql_log_last_row row = {0};

	TRY(sql_log_last_one(db, &row, e));
	TRY(make_pieces(self, db, row.seq, e));
	*ret_last_seq = row.seq;
	return OK;
}

static void
bind(struct self *s, size_t i, struct entry *en)
{
	int n;

	s->kind[i] = en->kind;
	s->to_sub[i] = en->to_sub;
	s->h[i] = en->h;
	s->tenant[i] = uuid_str(&en->tenant);
	s->id[i] = uuid_str(&en->event_id);
	s->hash[i] = (struct str){(const char *)en->hash, ENTRY_HASH_LEN};
	s->type[i] = en->type;
	s->key[i] = en->key;
	s->attrs[i] = en->attrs;
	s->body[i] = en->stored;
	s->rv[i] = (struct str){0};
	if (!en->has_rv)
		return;
	n = snprintf(
	    s->rv_text[i], sizeof(s->rv_text[i]), "%lld", (long long)en->rv_us);
	s->rv[i] = (struct str){s->rv_text[i], (size_t)n};
}

static int
append_postgres_answer(
    struct append_batch *b, const struct sql_log_append_row *row, struct err *e)
{
	struct entry *en;

	if (row->ord < 1 || (size_t)row->ord > b->n)
		return err_set(e, ERR_STORE,
		    "the append answered for entry %lld of %zu",
		    (long long)row->ord, b->n);
	en = b->v[row->ord - 1];
	en->seq = row->seq;
	if (!row->old_hash.p)
		en->state = ENTRY_NEW;
	else if (row->old_hash.n == ENTRY_HASH_LEN &&
		 memcmp(row->old_hash.p, en->hash, ENTRY_HASH_LEN) == 0)
		en->state = ENTRY_SAME;
	else
		en->state = ENTRY_DIFFERS;
	return OK;
}

/* One message, which is a transaction when there is none around it. */
static int
append_postgres_put(
    void *self, struct db *db, struct append_batch *b, struct err *e)
{
	struct self *s = self;
	struct sql_log_append_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	size_t seen = 0;

	assert(b->n <= COMMIT_BATCH_MAX);
	for (size_t i = 0; i < b->n; i++)
		bind(s, i, b->v[i]);
	TRY(sql_log_append(db, &rows, e, .kinds = s->kind, .tenants = s->tenant,
	    .event_ids = s->id, .hs = s->h, .hashes = s->hash, .types = s->type,
	    .pkeys = s->key, .rvs = s->rv, .now = b->now_us,
	    .to_subs = s->to_sub, .attrss = s->attrs, .bodies = s->body,
	    .n_each = b->n));
	for (s->top = 0; TRY(sql_log_append_next(rows, &row, e)) > 0; seen++) {
		TRY(append_postgres_answer(b, &row, e));
		if (row.seq > s->top)
			s->top = row.seq;
	}
	return seen == b->n ? OK
			    : err_set(e, ERR_STORE,
				  "the append answered for %zu of %zu entries",
				  seen, b->n);
}

static int
write_batch(void *self, struct db *db, struct append_batch *b, struct err *e)
{
	struct self *s = self;

	TRY(b->fn || b->after ? append_tx(db, s, b, append_postgres_put, e)
			      : append_postgres_put(s, db, b, e));
	/* Committed: trouble with a piece for later must not undo that. */
	(void)make_pieces(s, db, s->top, &(struct err){0});
	return OK;
}

static int
append_postgres_find(void *, struct db *db, int64_t h,
    int64_t ret_seqs[IDS_SAME_MAX], struct err *e)
{
	struct sql_ids_find_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int n = 0;

	TRY(sql_ids_find(db, &rows, e, .h = h));
	while (n < IDS_SAME_MAX && TRY(sql_ids_find_next(rows, &row, e)) > 0)
		ret_seqs[n++] = row.seq;
	return n;
}

static int
retain_ids(struct db *db, const struct retain_cut *cut, struct err *e)
{
	return sql_retain_ids(db, e, .upto = cut->upto, .cut = cut->before_us) <
		       0
		   ? (int)e->code
		   : OK;
}

const struct append_engine APPEND_POSTGRES = {
    .retain_ids = retain_ids,
    .open = open_self,
    .close = free,
    .resync = resync,
    .write = write_batch,
    .find = append_postgres_find,
};
