#include "base/conf/conf.h"
#include "base/log/log.h"
#include "feed/feed.h"
#include "http/client/guard.h"
#include "http/url.h"
#include "reader/changes.h"
#include "reader/feed_login.h"
#include "reader/feeds.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "reader/subscription.h"
#include "sql.h"

/*
 * Adding a feed (seed 002, 2.1 to 2.8).
 *
 *   TYPED ──a feed──────────────────────────▶ found ──▶ SITE ──▶ ICON ──▶ store
 *     └─a page──▶ NAMED ──it names one──▶ found
 *                   └──none──▶ PATHS, where feeds often lie ──▶ found
 *
 * Who only looks is answered at `found`, or with all that a page names.
 *
 * At each address the store is asked first: a feed that is known is not
 * fetched, only subscribed to. Feed and subscription are one transaction, the
 * articles with their events the next; the person is answered behind it. When
 * we are killed between the two, the feed is fetched like any other. Who has
 * another address instead moves there in a transaction behind these, with
 * what they read and starred: the articles must be there.
 */

/* ---- the end ---- */

static void
reg_free(struct reg *g)
{
	list_remove(&g->f->regs, &g->link);
	if (g->x)
		fetch_free(g->x);
	arena_free(g->arena);
	free(g);
}

static void
answer_reg(struct reg *g, const struct err *why)
{
	struct registration *r = g->r;
	struct log_line l;

	if (!r)
		return;
	log_begin(&l, LOG_INFO,
	    r->look ? "feeds looked for"
	    : why   ? "feed registration failed"
		    : "feed registered");
	log_int(&l, "user_id", r->user);
	url_log(&l, "url", r->url);
	log_int(&l, "http_status", g->http_status);
	log_int(&l, "duration_ms", (clock_mono_us() - g->begin_us) / US_PER_MS);
	if (why) {
		log_str(&l, "error_kind", str_of(why->word ? why->word : ""));
		log_str(&l, "error", str_of(why->text));
	} else if (r->look) {
		log_int(&l, "found", (int64_t)r->n_found);
	} else {
		log_uuid(&l, "feed_id", g->uid);
	}
	log_end(&l);
	r->err = why ? *why : (struct err){.code = OK};
	r->feed = g->feed;
	r->feed_uid = g->uid;
	g->r = NULL;
	(void)atomic_fetch_sub(&g->f->n_regs, 1);
	r->done(r);
}

void
register_end(struct reg *g, const struct err *why)
{
	answer_reg(g, why);
	reg_free(g);
}

/* ---- storing ---- */

/* As the store knows it: feed.feed_url. */
static struct str
key_of(struct reg *g)
{
	return g->login.p ? feed_login_key(g->arena, g->asked, g->user_uid)
			  : g->asked;
}

/* g->stored: its articles are to be written too. */
static int
add_feed(struct db *db, struct reg *g, int64_t now_us, int64_t *ret,
    struct uuid *ret_uid, struct err *e)
{
	const struct feed *parsed = g->x->parsed;
	struct str key = key_of(g);
	struct feed_new n = {.url = key,
	    .address = g->login.p ? g->asked : (struct str){.p = NULL},
	    .site_url = parsed->link,
	    .title = parsed->title.n > 0 ? parsed->title : g->asked,
	    .private = g->private || g->login.p,
	    .next_fetch_us = now_us + 2 * 60 * US_PER_S};

	if (n.site_url.n == 0 || n.site_url.n > URL_MAX)
		n.site_url.p = NULL;
	if (g->icon_mime) {
		n.favicon_mime = str_of(g->icon_mime);
		n.favicon_data = g->icon;
	}
	TRY(feeds_find_by_url(db, key, ret, ret_uid, e));
	g->stored = *ret == 0 || g->instead || g->login.p;
	if (*ret != 0)
		return OK;
	return feeds_add(db, &n, now_us, ret, ret_uid, e);
}

static int
store_fn(struct db *db, void *ctx, struct err *e)
{
	struct reg *g = ctx;
	int64_t now = clock_now_us(), id = g->feed;
	struct uuid uid = g->uid;

	g->stored = false;
	g->j.changed = true;
	if (!g->known)
		TRY(add_feed(db, g, now, &id, &uid, e));
	g->feed = id;
	g->uid = uid;
	if (!g->instead)
		TRY(subscription_add(db, g->user, id,
		    g->f->o.conf->reader_feeds_max, now, NULL, e));
	else if (!g->stored) /* else behind its articles */
		TRY(subscription_move(db, g->user, g->instead, id, now, e));
	if (g->login.p && !(g->instead && g->stored))
		TRY(feed_login_put(&(struct feed_login_of){db, g->f->o.keyring,
				       g->user, id, now},
		    g->login, e));
	if (g->private && !g->stored) {
		int rc = feeds_mark(db, id, true, true, now, e);

		if (rc != ERR_CONFLICT) /* the answer tells */
			TRY(rc);
	}
	if (!g->instead)
		return changes_feed(db, g->user, id, "added", e);
	return OK;
}

static void
stored(struct fetcher *, struct fetch_job *j)
{
	struct reg *g = MAIL_OF(j, struct reg, j);
	struct fetch *x = g->x;

	if (g->instead)
		g->f->hubs.more = true;
	if (j->job.err.code != OK || !g->stored) {
		register_end(g, j->job.err.code != OK ? &j->job.err : NULL);
		return;
	}
	g->x = NULL; /* it ends when that does: fetcher_store.c */
	x->reg = g;
	x->id = g->feed;
	x->uid = g->uid;
	x->url = g->asked;
	x->own = g->login.p != NULL;
	x->moved = false;
	x->before.interval_min = 60;
	fetch_store_parsed(x);
}

void
register_store(struct reg *g)
{
	struct err e;

	g->j.ctx = g;
	if (fetcher_post(g->f, &g->j, store_fn, stored, &e) < 0)
		register_end(g, &e);
}

void
register_stored(struct reg *g, const struct err *why)
{
	if (!g->instead || why) {
		register_end(g, g->instead ? why : NULL);
		return;
	}
	g->known = true;
	register_store(g);
}

/* Is the feed at this address ours already? Then that is all. One that nobody
 * has is not fetched: who moves there with their marks needs it as it is now,
 * and a login is to be tried. */
bool
register_known(struct reg *g)
{
	struct sql_feed_by_url_row row;
	struct err e;

	if (sql_feed_by_url_one(
		g->f->db, g->arena, &row, &e, .url = key_of(g)) <= 0 ||
	    ((g->instead || g->login.p) && row.subscribers == 0))
		return false;
	g->known = true;
	g->feed = row.id;
	g->uid = uuid_of(row.uid);
	register_store(g);
	return true;
}

/* ---- the start ---- */

static int
check_typed(struct reg *g, struct err *e)
{
	TRY(typed_urls(g->arena, g->r->url, g->urls, &g->n_urls, e));
	for (size_t i = 0; i < g->n_urls; i++)
		if (guard_url(g->f->o.guard, GUARD_READER, g->urls[i], e) < 0) {
			e->at[0] = '\0';
			return err_word(e, "URL_REFUSED");
		}
	if (g->login.p)
		g->n_urls =
		    1; /* not over http as well, which nobody asked for */
	return OK;
}

static void
begin_reg(struct fetcher *f, struct registration *r)
{
	struct reg *g = mem_get(sizeof(*g));
	struct err e = {0};

	g->arena = arena_new(FEED_ARENA_MAX);
	g->f = f;
	g->r = r;
	g->user = r->user;
	g->instead = r->instead;
	g->private = r->private;
	g->user_uid = r->user_uid;
	if (r->login.p)
		g->login = arena_dup(g->arena, r->login);
	g->asked = STR_EMPTY;
	g->begin_us = clock_mono_us();
	g->until_us = g->begin_us + REGISTER_MS * US_PER_MS;
	list_add(&f->regs, &g->link);
	if (check_typed(g, &e) < 0)
		register_end(g, &e);
	else
		find_next(g);
}

void
register_run(struct fetcher *f)
{
	struct registration *r;

	while (f->regs.n < REGISTER_MAX &&
	       (r = list_take(&f->regs_waiting, struct registration, link)))
		begin_reg(f, r);
}

void
register_drop(struct fetcher *f)
{
	struct registration *r;
	struct err e = {0};

	(void)err_set(&e, ERR_AWAY, "the server is stopping");
	e.retry_after_s = 1;
	while ((r = list_take(&f->regs_waiting, struct registration, link))) {
		r->err = e;
		(void)atomic_fetch_sub(&f->n_regs, 1);
		r->done(r);
	}
	/* What is being asked or written ends by itself. */
	list_each (struct reg, g, &f->regs, link)
		answer_reg(g, &e);
}

static void
take_registration(struct fetcher *f, struct fetch_note *n)
{
	list_add(
	    &f->regs_waiting, &MAIL_OF(n, struct registration, note)->link);
}

int
fetcher_register(struct fetcher *f, struct registration *r, struct err *e)
{
	if (atomic_fetch_add(&f->n_regs, 1) >=
	    REGISTER_MAX + REGISTER_QUEUE_MAX) {
		(void)atomic_fetch_sub(&f->n_regs, 1);
		(void)err_set(e, ERR_AWAY, "too many feeds are being added");
		e->retry_after_s = 5;
		return ERR_AWAY;
	}
	r->note.take = take_registration;
	r->link = (struct link){.prev = NULL};
	if (!mailbox_post(f->box, &r->note.mail)) {
		(void)atomic_fetch_sub(&f->n_regs, 1);
		return err_set(e, ERR_AWAY, "the server is stopping");
	}
	client_wake(f->client);
	return OK;
}
