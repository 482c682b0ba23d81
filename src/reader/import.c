#include "reader/import.h"

#include "feed/opml.h"
#include "http/client/guard.h"
#include "reader/category.h"
#include "reader/changes.h"
#include "reader/feeds.h"
#include "reader/limits.h"
#include "reader/secret_url.h"
#include "reader/subscription.h"
#include "reader/sync.h"

struct importing {
	const struct sync *s;
	const struct import_rules *rules;
	int64_t now_us;
	/* What the person has, and what they got by this list. For one feed
	 * nobody asks: then it is empty, and the store says so. */
	struct sync_categories categories;
	struct str *urls;
	size_t n_urls;
};

/* NULL with OK: one too many, so the feed has none. */
static int
category_of(struct importing *im, struct str title, const struct uuid **ret,
    struct err *e)
{
	struct sync_categories *all = &im->categories;
	struct sync_category made = {.title = title};
	int rc;

	*ret = NULL;
	for (size_t i = 0; i < all->n; i++)
		if (str_eq(all->v[i].title, title))
			*ret = &all->v[i].uid;
	if (*ret || title.n == 0)
		return OK;
	rc = category_add(
	    im->s->db, im->s->user, title, im->now_us, &made.uid, e);
	if (rc == OK) { /* so there is room for it */
		all->v[all->n] = made;
		*ret = &all->v[all->n++].uid;
	}
	return rc == ERR_CONFLICT || rc == ERR_INVALID ? OK : rc;
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
	    .quiet = true,
	};

	if (!p.set_title && !p.set_category)
		return OK;
	if (category)
		p.category = *category;
	return subscription_patch(
	    im->s->db, im->s->user, sub, &p, im->now_us, e);
}

/*
 * What can be said of it without the store: a list of thousands must not cost
 * as many statements, nor leave feeds behind that nobody has.
 */
static int
import_check(struct importing *im, struct str url, struct err *e)
{
	int rc = guard_url(im->rules->guard, GUARD_READER, url, e);

	if (rc < 0) {
		e->word = "URL_REFUSED";
		return rc;
	}
	for (size_t i = 0; i < im->n_urls; i++)
		if (str_eq(im->urls[i], url)) {
			(void)err_set(
			    e, ERR_CONFLICT, "you have this feed already");
			return err_word(e, "ALREADY_SUBSCRIBED");
		}
	if ((int64_t)im->n_urls >= im->rules->feeds_max) {
		(void)err_set(
		    e, ERR_CONFLICT, "you have %zu feeds already", im->n_urls);
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

	TRY(import_check(im, url, e));
	TRY(feeds_add(im->s->db, &f, im->now_us, ret_feed, &uid, e));
	return subscription_add(im->s->db, im->s->user, *ret_feed,
	    im->rules->feeds_max, im->now_us, ret_sub, e);
}

/* OK also for what is refused: the line tells. */
static int
import_take(struct importing *im, const struct opml_feed *f,
    struct import_line *line, struct err *e)
{
	const struct uuid *category = NULL;
	struct uuid sub;
	int64_t feed;
	int rc;

	*line = (struct import_line){.url = f->url, .title = f->title};
	rc = subscribe(im, f->url, f->site, f->title, &feed, &sub, e);
	if (rc == OK) {
		line->outcome = IMPORT_ADDED;
		im->urls[im->n_urls++] = f->url;
		TRY(category_of(im, f->category, &category, e));
		return settle(im, sub, f->title, category, e);
	}
	if (!e->word)
		return rc;
	if (strcmp(e->word, "ALREADY_SUBSCRIBED") == 0) {
		line->outcome = IMPORT_KNOWN;
		return OK;
	}
	line->outcome = IMPORT_REFUSED;
	line->word = e->word;
	line->reason = arena_dup(im->s->arena, str_of(e->text));
	return OK;
}

int
import_opml(const struct sync *who, const struct import_rules *rules,
    const struct opml *list, int64_t now_us, struct import_result *ret,
    struct err *e)
{
	struct importing im = {.s = who, .rules = rules, .now_us = now_us};
	struct import_result r = {.cut = list->cut,
	    .lines =
		arena_array(who->arena, list->n_feeds + 1, sizeof(*r.lines))};
	struct sync_feeds feeds;

	TRY(sync_categories(who, &im.categories, e));
	TRY(sync_feeds(who, false, &feeds, e));
	im.urls = arena_array(
	    who->arena, feeds.n + list->n_feeds + 1, sizeof(*im.urls));
	for (; im.n_urls < feeds.n; im.n_urls++)
		im.urls[im.n_urls] = feeds.v[im.n_urls].url;
	for (const struct opml_feed *f = list->feeds; f; f = f->next) {
		struct import_line *line = &r.lines[r.n++];
		struct err why = {0};
		int rc = import_take(&im, f, line, &why);

		if (rc < 0) {
			*e = why;
			return rc;
		}
		r.added += line->outcome == IMPORT_ADDED;
		r.known += line->outcome == IMPORT_KNOWN;
		r.refused += line->outcome == IMPORT_REFUSED;
	}
	*ret = r;
	return r.added ? changes_feed(who->db, who->user, 0, "added", e) : OK;
}

/* An error's text may quote what was sent, and be cut in mid-character. */
static struct str
whole(struct str s)
{
	s.n = str_utf8_bad(s);
	return s;
}

void
import_json(const struct import_result *r, struct buf *b)
{
	put_open(b, NULL, '{');
	put_int(b, "added", (int64_t)r->added);
	put_int(b, "known", (int64_t)r->known);
	put_bool(b, "cut", r->cut);
	put_open(b, "refused", '[');
	for (size_t i = 0; i < r->n; i++) {
		const struct import_line *l = &r->lines[i];

		if (l->outcome != IMPORT_REFUSED)
			continue;
		put_open(b, NULL, '{');
		put_name(b, "url");
		secret_url_json(whole(l->url), b);
		put_text(b, "title", whole(l->title));
		put_z(b, "code", l->word);
		put_text(b, "message", whole(l->reason));
		put_close(b, '}');
	}
	put_close(b, ']');
	put_close(b, '}');
}

int
import_one(const struct sync *who, const struct import_rules *rules,
    struct str url, struct str title, int64_t now_us, int64_t *ret_feed,
    struct err *e)
{
	struct importing im = {.s = who, .rules = rules, .now_us = now_us};
	struct uuid sub;

	TRY(subscribe(&im, url, STR_EMPTY, title, ret_feed, &sub, e));
	TRY(settle(&im, sub, title, NULL, e));
	return changes_feed(who->db, who->user, *ret_feed, "added", e);
}

int
import_export(
    const struct sync *who, int64_t now_us, struct buf *to, struct err *e)
{
	struct opml o = {.title = STR("Hikyaku subscriptions")};
	struct opml_feed **tail = &o.feeds;
	struct sync_feeds list = {0};

	TRY(sync_feeds(who, false, &list, e));
	for (size_t i = 0; i < list.n; i++) {
		struct opml_feed *f = arena_alloc(who->arena, sizeof(*f));

		*f = (struct opml_feed){.title = list.v[i].title,
		    .url = list.v[i].url,
		    .site = list.v[i].site,
		    .category = list.v[i].category_title};
		*tail = f;
		tail = &f->next;
		o.n_feeds++;
	}
	opml_write(&o, now_us, to);
	return OK;
}
