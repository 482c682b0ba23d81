/* Copies of the store, and leave to deliver after one was restored. */
#include "ops/backup.h"

#include "api/api.h"
#include "api/handlers.h"
#include "api/io.h"
#include "event/append.h"
#include "ops/limits.h"
#include "ops/restored.h"
#include "store/store.h"

int
api_backup_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct str last, restored;
	struct buf *b = &r->out;

	TRY(api_query_none(r, e));
	TRY(backup_last(db, r->arena, &last, e));
	TRY(restored_look(db, r->arena, &restored, e));
	put_open(b, NULL, '{');
	put_z(b, "store", store_name(api->store));
	put_bool(b, "online", !store_shared(api->store));
	backup_show(api->backup, b);
	put_int(b, "lastSeq", append_last_seq(api->append));
	put_raw(b, "last", last.p ? last : STR("null"));
	put_raw(b, "restored", restored.p ? restored : STR("null"));
	put_close(b, '}');
	return OK;
}

int
api_backup_post(struct req *r, struct db *, struct err *e)
{
	struct api *api = r->app;
	struct buf *b;

	if (store_shared(api->store))
		return err_set(e, ERR_CONFLICT,
		    "the data is in PostgreSQL, whose own tools back it up: hikyaku backup says how");
	TRY(backup_start(api->backup, e));
	b = api_object(r);
	backup_show(api->backup, b);
	put_close(b, '}');
	r->status = 202;
	return OK;
}

struct kept {
	int64_t seq, bytes;
	struct str where;
};

const struct member BACKUP_KEPT_BODY[] = {
    {"lastSeq", MEMBER_INT, offsetof(struct kept, seq), 0, INT64_MAX,
	.must = true, .about = "the newest entry that it has"},
    {"bytes", MEMBER_INT, offsetof(struct kept, bytes), 0, INT64_MAX,
	.about = "its size"},
    {"where", MEMBER_TEXT, offsetof(struct kept, where), 1, 1024, .must = true,
	.about = "where it is kept, in words"},
    {.name = NULL},
};

int
api_backup_put(struct req *r, struct db *db, struct err *e)
{
	struct buf note CLEANUP(buf_done) = BUF(BACKUP_NOTE_MAX * 2);
	struct kept k = {0};

	TRY(api_body(r, BACKUP_KEPT_BODY, NULL, &k, e));
	put_open(&note, NULL, '{');
	put_time(&note, "at", clock_now_us());
	put_int(&note, "lastSeq", k.seq);
	put_int(&note, "bytes", k.bytes);
	put_text(&note, "where", k.where);
	put_close(&note, '}');
	TRY(backup_kept(db, buf_str(&note), api_actor(r), e));
	buf_clear(&r->out);
	buf_add(&r->out, buf_str(&note));
	return OK;
}

int
api_resume(struct req *r, struct db *db, struct err *e)
{
	struct buf *b;

	TRY(restored_resume(db, api_actor(r), e));
	b = api_object(r);
	put_bool(b, "resumed", true);
	put_close(b, '}');
	return OK;
}
