#include "reader/sync.h"
#include "sql.h"

int
sync_set(const struct sync *s, const struct sync_ids *ids,
    enum sync_state state, bool value, int64_t now_us, struct err *e)
{
	static int64_t (*const run[])(struct db * db,
	    const struct sql_sync_read_args *a,
	    struct err *e) = {[SYNC_READ] = sql_sync_read_run,
	    [SYNC_STARRED] = sql_sync_star_run};
	struct buf json CLEANUP(buf_done) = BUF(SYNC_IDS_JSON);

	TRY(sync_ids_json(&json, ids, e));
	if (ids->n > 0)
		TRY(run[state](s->db,
		    &(struct sql_sync_read_args){.user = s->user,
			.ids = buf_str(&json),
			.value = value,
			.now = now_us},
		    e));
	return OK;
}

int
sync_turn_star(
    const struct sync *s, int64_t item, int64_t now_us, struct err *e)
{
	if (TRY(sql_sync_star_turn(
		s->db, e, .user = s->user, .item = item, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such article");
	return OK;
}

int
sync_play(const struct sync *s, int64_t item, struct str played, int64_t now_us,
    struct err *e)
{
	if (TRY(sql_sync_play(s->db, e, .user = s->user, .item = item,
		.played = played, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such article");
	return OK;
}

int
sync_set_options(const struct sync *s, int64_t feed,
    const struct sync_options *o, int64_t now_us, struct err *e)
{
	if (TRY(sql_sync_options(s->db, e, .user = s->user, .feed = feed,
		.hidden = o->hidden, .paused = o->paused,
		.uncached = o->uncached, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed");
	return OK;
}

int
sync_hide_category(const struct sync *s, int64_t category, bool hidden,
    int64_t now_us, struct err *e)
{
	if (TRY(sql_sync_hide_category(s->db, e, .user = s->user,
		.category = category, .hidden = hidden, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such category");
	return OK;
}

int
sync_flush(const struct sync *s, int64_t now_us, struct err *e)
{
	TRY(sql_sync_flush(s->db, e, .user = s->user, .now = now_us));
	return OK;
}

int
sync_flushed(const struct sync *s, int64_t *ret, struct err *e)
{
	struct sql_sync_flushed_row row = {.at = 0};

	TRY(sql_sync_flushed_one(s->db, &row, e, .user = s->user));
	*ret = row.at;
	return OK;
}

int
sync_fetch_soon(
    const struct sync *s, int64_t feed, int64_t now_us, struct err *e)
{
	return (int)sql_sync_due(
	    s->db, e, .user = s->user, .feed = feed, .now = now_us);
}

int
sync_fetch_now(
    const struct sync *s, int64_t feed, int64_t now_us, struct err *e)
{
	TRY(sql_feed_resume(s->db, e, .feed = feed, .now = now_us));
	return sync_fetch_soon(s, feed, now_us, e);
}
