#include "reader/import.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "feed/opml.h"
#include "http/client/guard.h"
#include "reader/limits.h"
#include "reader/subs.h"
#include "reader/sync.h"

struct importing {
	struct db *db;
	int64_t user, now_us;
	const struct guard *guard;
	struct arena *arena;
	struct map *categories; /* by title: a struct uuid */
	struct map *urls;       /* of the feeds that the person has */
};

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no room for the list");
}

static struct uuid *
remember(struct importing *im, struct str title, struct uuid uid, struct err *e)
{
	struct uuid *u = arena_alloc(im->arena, sizeof(*u));

	if (u)
		*u = uid;
	if (!u || map_put(im->categories, title, u, NULL, e) < 0)
		return NULL;
	return u;
}

static int
load_categories(struct importing *im, struct err *e)
{
	struct sync_category *list = NULL;
	size_t n = 0;
	int rc = sync_categories(im->db, im->user, im->arena, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (!remember(im, list[i].title, list[i].uid, e))
			rc = no_room(e);
	return rc;
}

static int
load_urls(struct importing *im, struct err *e)
{
	struct sync_feed *list = NULL;
	size_t n = 0;
	int rc = sync_feeds(im->db, im->user, im->arena, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = map_put(im->urls, list[i].url, &list[i], NULL, e);
	return rc;
}

/* NULL with OK: one too many, so the feed has none. */
static int
category_of(struct importing *im, struct str title, const struct uuid **ret,
    struct err *e)
{
	struct uuid uid;
	int rc;

	*ret = title.n > 0 ? map_find(im->categories, title) : NULL;
	if (*ret || title.n == 0)
		return OK;
	rc = category_add(im->db, im->user, title, im->now_us, &uid, e);
	if (rc == ERR_LIMIT || rc == ERR_INVALID)
		return OK;
	if (rc < 0)
		return rc;
	*ret = remember(im, title, uid, e);
	return *ret ? OK : no_room(e);
}

/* Its own name and place. */
static int
settle(struct importing *im, struct uuid sub, struct str title,
    const struct uuid *category, struct err *e)
{
	struct subscription_patch p = {
	    .set_title = title.n > 0,
	    .title = title,
	    .set_category = category != NULL,
	    .has_category = category != NULL,
	};

	if (!p.set_title && !p.set_category)
		return OK;
	if (category)
		p.category = *category;
	return subscription_patch(im->db, im->user, sub, &p, im->now_us, e);
}

/*
 * What can be said of it without the store: a list of thousands must not cost
 * as many statements, nor leave feeds behind that nobody has.
 */
static int
check(struct importing *im, struct str url, struct err *e)
{
	int rc = guard_url(im->guard, GUARD_READER, url, e);

	if (rc < 0) {
		e->word = "URL_REFUSED";
		return rc;
	}
	if (!im->urls)
		return OK;
	if (map_find(im->urls, url)) {
		(void)err_set(e, ERR_CONFLICT, "you have this feed already");
		return err_word(e, "ALREADY_SUBSCRIBED");
	}
	if (map_count(im->urls) >= READER_FEEDS_MAX) {
		(void)err_set(e, ERR_CONFLICT, "you have %d feeds already",
		    READER_FEEDS_MAX);
		return err_word(e, "SUBSCRIPTION_LIMIT");
	}
	return OK;
}

static int
subscribe(struct importing *im, struct str url, struct str site,
    struct str title, int64_t *ret_feed, struct uuid *ret_sub, struct err *e)
{
	struct feed_new f = {
	    .url = url,
	    .site_url = site.n > 0 ? site : (struct str){NULL, 0},
	    .title = title.n > 0 ? title : url,
	    .next_fetch_us = im->now_us,
	};
	struct uuid uid;
	int rc = check(im, url, e);

	if (rc < 0)
		return rc;
	rc = feeds_add(im->db, &f, im->now_us, ret_feed, &uid, e);
	if (rc < 0)
		return rc;
	return subscription_add(
	    im->db, im->user, *ret_feed, im->now_us, ret_sub, e);
}

/* OK also for what is refused: the line tells. */
static int
take(struct importing *im, const struct opml_feed *f, struct import_line *line,
    struct err *e)
{
	const struct uuid *category = NULL;
	struct uuid sub;
	int64_t feed;
	int rc;

	*line = (struct import_line){.url = f->url, .title = f->title};
	rc = subscribe(im, f->url, f->site, f->title, &feed, &sub, e);
	if (rc == OK) {
		line->outcome = IMPORT_ADDED;
		rc = map_put(im->urls, line->url, line, NULL, e);
		if (rc < 0)
			return rc;
		rc = category_of(im, f->category, &category, e);
		return rc < 0 ? rc : settle(im, sub, f->title, category, e);
	}
	if (!e->word)
		return rc;
	if (strcmp(e->word, "ALREADY_SUBSCRIBED") == 0) {
		line->outcome = IMPORT_KNOWN;
		return OK;
	}
	line->outcome = IMPORT_REFUSED;
	line->word = e->word;
	line->reason = arena_dup(im->arena, str_of(e->text));
	return line->reason.p ? OK : no_room(e);
}

int
import_opml(struct db *db, int64_t user, const struct guard *g,
    const struct opml *list, int64_t now_us, struct arena *a,
    struct import_result *ret, struct err *e)
{
	struct importing im = {
	    .db = db, .user = user, .now_us = now_us, .guard = g, .arena = a};
	struct import_result r = {.cut = list->cut};
	int rc;

	im.categories = map_new(2 * READER_CATEGORIES_MAX);
	im.urls = map_new(READER_FEEDS_MAX + 1);
	r.lines = arena_array(a, list->n_feeds + 1, sizeof(*r.lines));
	rc = im.categories && im.urls && r.lines ? load_categories(&im, e)
						 : no_room(e);
	if (rc == OK)
		rc = load_urls(&im, e);
	for (const struct opml_feed *f = list->feeds; f && rc == OK;
	     f = f->next) {
		struct import_line *line = &r.lines[r.n++];
		struct err why = {0};

		rc = take(&im, f, line, &why);
		if (rc < 0)
			*e = why;
		r.added += line->outcome == IMPORT_ADDED;
		r.known += line->outcome == IMPORT_KNOWN;
		r.refused += line->outcome == IMPORT_REFUSED;
	}
	map_free(im.categories);
	map_free(im.urls);
	if (rc == OK)
		*ret = r;
	return rc;
}

/* An error's text may quote what was sent, and be cut in mid-character. */
static void
add_text(struct buf *b, struct str s)
{
	s.n = str_utf8_bad(s);
	buf_json(b, s);
}

void
import_json(const struct import_result *r, struct buf *b)
{
	size_t shown = 0;

	buf_fmt(b, "{\"added\":%zu,\"known\":%zu,\"cut\":%s,\"refused\":[",
	    r->added, r->known, r->cut ? "true" : "false");
	for (size_t i = 0; i < r->n; i++) {
		const struct import_line *l = &r->lines[i];

		if (l->outcome != IMPORT_REFUSED)
			continue;
		buf_addz(b, shown++ ? ",{\"url\":" : "{\"url\":");
		add_text(b, l->url);
		buf_addz(b, ",\"title\":");
		add_text(b, l->title);
		buf_fmt(b, ",\"code\":\"%s\",\"message\":", l->word);
		add_text(b, l->reason);
		buf_addc(b, '}');
	}
	buf_addz(b, "]}");
}

int
import_one(struct db *db, int64_t user, const struct guard *g, struct str url,
    struct str title, int64_t category, int64_t now_us, struct arena *a,
    int64_t *ret_feed, struct err *e)
{
	struct importing im = {
	    .db = db, .user = user, .now_us = now_us, .guard = g, .arena = a};
	struct sync_category *list = NULL;
	const struct uuid *place = NULL;
	struct uuid sub;
	size_t n = 0;
	int rc = sync_categories(db, user, a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (list[i].id == category)
			place = &list[i].uid;
	if (rc == OK && category && category != SYNC_NO_CATEGORY && !place)
		return err_at(e, ERR_INVALID, "/category_id",
		    "there is no such category");
	if (rc == OK)
		rc = subscribe(&im, url, STR_EMPTY, title, ret_feed, &sub, e);
	return rc < 0 ? rc : settle(&im, sub, title, place, e);
}

int
export_opml(struct db *db, int64_t user, int64_t now_us, struct arena *a,
    struct buf *to, struct err *e)
{
	struct opml o = {.title = STR("Hikyaku subscriptions")};
	struct opml_feed **tail = &o.feeds;
	struct sync_feed *list = NULL;
	size_t n = 0;
	int rc = sync_feeds(db, user, a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		struct opml_feed *f = arena_alloc(a, sizeof(*f));

		if (!f)
			return no_room(e);
		*f = (struct opml_feed){.title = list[i].title,
		    .url = list[i].url,
		    .site = list[i].site,
		    .category = list[i].category_title};
		*tail = f;
		tail = &f->next;
		o.n_feeds++;
	}
	if (rc == OK)
		opml_write(&o, now_us, to);
	return rc;
}
