#include "api/api.h"
#include "api/apps/miniflux.h"
#include "feed/limits.h"

/* Files beside an entry, and how far each was played. */

/* How far the file at this place was played. */
static int64_t
played(const struct json *list, int64_t place)
{
	const struct json *at = list ? list->child : NULL;
	int64_t seconds = 0;

	while (at && place-- > 0)
		at = at->next;
	return at && json_int(at, &seconds) ? seconds : 0;
}

static const struct json *
played_of(struct arena *a, const struct sync_item *it)
{
	struct json *list = NULL;
	struct err e;

	return it->played.n > 0 && json_parse(a, it->played, &list, &e) == OK
		   ? list
		   : NULL;
}

static void
put_file(struct req *r, const struct sync_item *it, const struct json *file,
    int64_t place)
{
	struct app_file f = app_file(file);
	struct buf *b = &r->out;

	put_open(b, NULL, '{');
	put_int(b, "id", it->id * FEED_ENCLOSURES_MAX + place);
	put_int(b, "user_id", r->who.user);
	put_int(b, "entry_id", it->id);
	put_text(b, "url", f.url);
	put_text(b, "mime_type", f.type);
	put_int(b, "size", f.length);
	put_int(b, "media_progression", played(played_of(r->arena, it), place));
	put_close(b, '}');
}

void
miniflux_put_files(struct req *r, const struct sync_item *it)
{
	const struct json *at = app_files(r->arena, it);

	put_open(&r->out, "enclosures", '[');
	for (int64_t n = 0; at; at = at->next, n++)
		put_file(r, it, at, n);
	put_close(&r->out, ']');
}

/* By the param; r->ctx is how far it was played, when that changes. */
static int
find_file(struct req *r, struct db *db, struct sync_item *ret,
    const struct json **ret_file, int64_t *ret_place, struct err *e)
{
	int64_t id, place;

	TRY(app_id(r, 0, &id, e));
	TRY(miniflux_item(r, db, id / FEED_ENCLOSURES_MAX, ret, e));
	*ret_place = place = id % FEED_ENCLOSURES_MAX;
	*ret_file = app_files(r->arena, ret);
	while (*ret_file && place-- > 0)
		*ret_file = (*ret_file)->next;
	return *ret_file ? OK
			 : err_set(e, ERR_ABSENT, "there is no such enclosure");
}

int
api_mf_enclosure(struct req *r, struct db *db, struct err *e)
{
	const struct json *file = NULL;
	struct sync_item it;
	int64_t place;

	TRY(find_file(r, db, &it, &file, &place, e));
	put_file(r, &it, file, place);
	return OK;
}

int
api_mf_enclosure_put(struct req *r, struct db *db, struct err *e)
{
	struct buf list CLEANUP(buf_done) = BUF(22 * FEED_ENCLOSURES_MAX + 2);
	const struct json *file = NULL, *old;
	int64_t *seconds = r->ctx, place;
	struct sync_item it;
	struct json *j;

	if (!db) {
		r->ctx = seconds = arena_alloc(r->arena, sizeof(*seconds));
		TRY(miniflux_body(r, &j, e));
		if (!json_int(json_get(j, "media_progression"), seconds) ||
		    *seconds < 0)
			return json_wrong(e, "/media_progression",
			    "must be a number of seconds");
		return api_write(r, api_mf_enclosure_put, e);
	}
	TRY(find_file(r, db, &it, &file, &place, e));
	old = played_of(r->arena, &it);
	put_open(&list, NULL, '[');
	for (int64_t i = 0; i < FEED_ENCLOSURES_MAX; i++)
		put_int(&list, NULL, i == place ? *seconds : played(old, i));
	put_close(&list, ']');
	TRY(sync_play(
	    APP_SYNC(r, db), it.id, buf_str(&list), clock_now_us(), e));
	return miniflux_nothing(r);
}
