#include <assert.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/str.h"
#include "base/version.h"
#include "doc/caged.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "http/client/guard.h"
#include "http/url.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/feeds.h"
#include "reader/subscription.h"
#include "reader/typed.h"

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
 * we are killed between the two, the feed is fetched like any other.
 */

enum step { TYPED, NAMED, PATHS, SITE, ICON };

struct reg {
	struct fetcher *f;
	struct registration *r; /* NULL: whoever waited was told */
	int64_t user, instead;  /* of r, which may be gone */
	bool private;           /* the same */
	struct link link;
	struct arena *arena;
	struct follow follow;
	struct client_header accept;
	enum step step;
	int64_t begin_us, until_us; /* monotonic */
	struct str urls[TYPED_MAX];
	size_t n_urls, tried, icons_tried;
	struct discover *page; /* NULL: none was seen */
	struct str page_url, asked;
	struct err why; /* what to say when nothing is found */
	int http_status;

	struct fetch *x; /* the feed that was found */
	const char *icon_mime;
	struct str icon;

	struct fetch_job j; /* feed and subscription */
	bool known, stored;
	int64_t feed;
	struct uuid uid;
};

static void try_next(struct reg *g);
static void find_icon(struct reg *g);

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
answer(struct reg *g, const struct err *why)
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
	if (why) {
		r->err = *why;
	} else {
		r->err = (struct err){.code = OK};
		r->feed = g->feed;
		r->feed_uid = g->uid;
	}
	g->r = NULL;
	(void)atomic_fetch_sub(&g->f->n_regs, 1);
	r->done(r);
}

static void
fail(struct reg *g, const struct err *why)
{
	answer(g, why);
	reg_free(g);
}

/* "URL is so: what". The first that went wrong is what the person asked for. */
static void
say_once(struct reg *g, const char *word, const char *is, const char *what)
{
	if (g->why.code != OK)
		return;
	(void)err_set(&g->why, ERR_INVALID, "%.*s %s%s",
	    g->asked.n < 120 ? (int)g->asked.n : 120, g->asked.p, is, what);
	(void)err_word(&g->why, word);
}

/* Who only looks is told, and that is all. */
static void
tell_found(struct reg *g, const struct discover_feed *list, size_t n)
{
	struct err e;

	if (look_found(g->r, list, n, &e) < 0) {
		fail(g, &e);
		return;
	}
	answer(g, NULL);
	reg_free(g);
}

/* ---- storing ---- */

static int
store_fn(struct db *db, void *ctx, struct err *e)
{
	struct reg *g = ctx;
	struct fetch *x = g->x;
	int64_t now = clock_now_us(), id = g->feed;
	struct uuid uid = g->uid;
	int rc = OK;

	g->stored = false;
	if (!g->known) {
		struct feed_new n = {.url = g->asked,
		    .site_url = x->parsed->link,
		    .title =
			x->parsed->title.n > 0 ? x->parsed->title : g->asked,
		    .favicon_mime = {.p = NULL},
		    .favicon_data = {.p = NULL},
		    .private = g->private,
		    .next_fetch_us = now + 2 * 60 * US_PER_S};

		if (n.site_url.n == 0 || n.site_url.n > URL_MAX)
			n.site_url.p = NULL;
		if (g->icon_mime) {
			n.favicon_mime = str_of(g->icon_mime);
			n.favicon_data = g->icon;
		}
		rc = feeds_find_by_url(db, g->asked, &id, &uid, e);
		if (rc == OK && id == 0) {
			rc = feeds_add(db, &n, now, &id, &uid, e);
			g->stored = true;
		}
	}
	if (rc == OK && g->instead == id)
		rc = OK; /* it is the one that they have */
	else if (rc == OK && g->instead)
		rc = subscription_move(db, g->user, g->instead, id, now, e);
	else if (rc == OK)
		rc = subscription_add(db, g->user, id, now, NULL, e);
	if (rc == OK && g->private && !g->stored) {
		rc = feeds_mark(db, id, true, true, now, e);
		rc = rc == ERR_CONFLICT ? OK : rc; /* the answer tells */
	}
	if (rc == OK) {
		g->feed = id;
		g->uid = uid;
	}
	return rc;
}

static void
stored(struct fetcher *f, struct fetch_note *n)
{
	struct reg *g = MAIL_OF(n, struct reg, j.note);
	struct fetch *x = g->x;

	(void)f;
	if (g->j.job.err.code != OK) {
		fail(g, &g->j.job.err);
		return;
	}
	if (!g->stored) {
		answer(g, NULL);
		reg_free(g);
		return;
	}
	g->x = NULL; /* it will come back by register_stored() */
	x->reg = g;
	x->id = g->feed;
	x->uid = g->uid;
	x->url = g->asked;
	x->moved = false;
	x->before.interval_min = 60;
	store_parsed(x);
}

void
register_stored(struct reg *g, const struct err *why)
{
	/* The feed is there and will be fetched, whatever became of this. */
	(void)why;
	answer(g, NULL);
	reg_free(g);
}

static void
store(struct reg *g)
{
	struct err e;

	g->j.note.take = stored;
	g->j.job = (struct append_job){.fn = store_fn, .ctx = g};
	if (fetcher_post(g->f, &g->j, &e) < 0)
		fail(g, &e);
}

/* Is the feed at this URL ours already? Then that is all. */
static bool
take_known(struct reg *g, struct str url)
{
	int64_t id = 0;
	struct uuid uid;
	struct err e;

	if (feeds_find_by_url(g->f->db, url, &id, &uid, &e) < 0 || id == 0)
		return false;
	g->known = true;
	g->feed = id;
	g->uid = uid;
	store(g);
	return true;
}

/* ---- asking ---- */

static void got(struct follow *fo, const struct follow_answer *a);

/* False when there is no time left for it. */
static bool
ask(struct reg *g, struct str url, size_t most, int64_t until_us)
{
	int64_t left = (until_us - clock_mono_us()) / US_PER_MS;

	if (left < 1)
		return false;
	if (left > g->f->o.conf->fetch_timeout_ms)
		left = g->f->o.conf->fetch_timeout_ms;
	g->accept = (struct client_header){STR("Accept"),
	    g->step == ICON ? STR("image/*,*/*;q=0.5") : STR(FETCH_ACCEPT)};
	g->follow = (struct follow){.method = GET,
	    .url = url,
	    .headers = &g->accept,
	    .n_headers = 1,
	    .body_max = most,
	    .total_ms = (int)left,
	    .user_agent = FETCHER_AGENT,
	    .done = got};
	follow_start(g->f->follows, &g->follow);
	return true;
}

/* The one way to write a URL, for finding it again. */
static struct str
canonical(struct reg *g, struct str url)
{
	char text[URL_TEXT_MAX];
	struct url u;
	struct err e;

	if (url_parse(url, &u, &e) < 0)
		return arena_dup(g->arena, url);
	return arena_dup(g->arena, (struct str){text, url_show(&u, text)});
}

static bool
ask_feed(struct reg *g, struct str url)
{
	g->asked = canonical(g, url);
	if (!g->asked.p)
		return false;
	if (!g->r->look && take_known(g, g->asked))
		return true;
	return ask(
	    g, g->asked, (size_t)g->f->o.conf->fetch_max_size, g->until_us);
}

/* The usual place number i, seen from the page; .p NULL: no more. */
static struct str
usual_place(struct reg *g, size_t i)
{
	char text[URL_TEXT_MAX];
	struct url u;
	struct err e;

	if (!DISCOVER_PATHS[i] || url_parse(g->page_url, &u, &e) < 0)
		return (struct str){.p = NULL};
	return arena_dup(
	    g->arena, (struct str){text,
			  follow_resolve(&u, str_of(DISCOVER_PATHS[i]), text)});
}

static void
try_next(struct reg *g)
{
	for (;;) {
		struct str url = {.p = NULL};
		size_t i = g->tried++;

		if (g->step == TYPED && i < g->n_urls) {
			url = g->urls[i];
		} else if (g->step == NAMED && i < g->page->n_feeds &&
			   i < REGISTER_FEEDS_MAX) {
			url = g->page->feeds[i].url;
		} else if (g->step == PATHS) {
			url = usual_place(g, i);
		} else if (g->step == NAMED) {
			g->step = PATHS;
			g->tried = 0;
			continue;
		}
		if (!url.p || !ask_feed(g, url)) {
			say_once(g, "FEED_UNREACHABLE",
			    "did not answer in time", "");
			fail(g, &g->why);
		}
		return;
	}
}

/* ---- what was there ---- */

static void
note_failure(struct reg *g, const struct follow_answer *a)
{
	char status[16];

	(void)snprintf(status, sizeof(status), "%d", a->status);
	if (a->result == FOLLOW_FAILED && a->why == CLIENT_REFUSED)
		say_once(g, "URL_REFUSED", "is refused: ", a->error);
	else if (a->result != FOLLOW_ANSWERED)
		say_once(g, "FEED_UNREACHABLE", "can't be fetched: ", a->error);
	else
		say_once(g, "FEED_UNREACHABLE",
		    "can't be fetched: its server answered ", status);
}

static void
note_not_feed(struct reg *g, struct str type, const struct err *parse)
{
	char what[120];

	(void)snprintf(what, sizeof(what), "%.*s",
	    type.n < 100 ? (int)type.n : 100, type.p);
	if (g->page && g->page->is_feed)
		say_once(g, "FEED_UNREADABLE",
		    "looks like a feed and can't be read: ", parse->text);
	else if (g->page)
		say_once(g, "FEED_NOT_DETECTED",
		    "is no feed, and names none that works: ", parse->text);
	else
		say_once(g, "FEED_NOT_DETECTED",
		    "is neither a feed nor a page: ", what);
}

/* Did it end its reader, or is there none now? Others need not be tried. */
static bool
note_unread(struct reg *g, const struct err *e)
{
	const char *word = e->code < 0 && e->word ? e->word : "";

	if (strcmp(word, CAGED_ENDED) == 0)
		say_once(g, "FEED_UNREADABLE", "can't be read: ", e->text);
	else if (strcmp(word, CAGED_AWAY) == 0 && g->why.code == OK)
		g->why = *e;
	else
		return false;
	return true;
}

static void
found(struct reg *g)
{
	struct fetch *x = g->x;

	if (g->r->look) {
		struct discover_feed one = look_feed(
		    x->parsed, x->final_url.p ? x->final_url : g->asked);

		tell_found(g, &one, 1);
		return;
	}
	if (x->moved && !str_eq(x->final_url, g->asked)) {
		struct str moved = canonical(g, x->final_url);

		if (moved.p)
			g->asked = moved;
		if (take_known(g, g->asked))
			return;
	}
	g->tried = 0;
	g->until_us = clock_mono_us() + REGISTER_ICON_MS * US_PER_MS;
	find_icon(g);
}

static void
look_at_page(
    struct reg *g, const struct follow_answer *a, const struct err *parse)
{
	struct str type = follow_header(a->head, "content-type");
	struct feed_from from = {
	    .url = a->url, .content_type = type.p ? type : STR_EMPTY};
	struct err e = {0};

	if (caged_page(g->f->caged, g->arena, a->body, &from, &g->page, &e) ==
	    OK)
		g->page_url = arena_dup(g->arena, a->url);
	if (!note_unread(g, &e))
		note_not_feed(g, from.content_type, parse);
	if (!g->page || g->page->is_feed || !g->page_url.p) {
		fail(g, &g->why);
		return;
	}
	if (g->r->look && g->page->n_feeds > 0) {
		tell_found(g, g->page->feeds, g->page->n_feeds);
		return;
	}
	g->step = NAMED;
	g->tried = 0;
	try_next(g);
}

static void
look_at_feed(struct reg *g, const struct follow_answer *a)
{
	struct fetch *x = fetch_new(g->f);
	struct feed_from from = {.content_type = STR_EMPTY};
	struct err e = {0};

	if (!x) {
		(void)err_set(&e, ERR_AWAY, "no memory to add a feed");
		fail(g, &e);
		return;
	}
	fetch_look(x, a);
	from.url = x->final_url.p ? x->final_url : g->asked;
	if (x->content_type.p)
		from.content_type = x->content_type;
	if (x->body.p && caged_feed(g->f->caged, x->heavy, x->body, &from,
			     &x->parsed, &e) == OK) {
		x->at_us = clock_now_us();
		digest_sha256(x->body, x->hash);
		g->x = x;
		found(g);
		return;
	}
	fetch_free(x);
	if (note_unread(g, &e))
		fail(g, &g->why);
	else if (g->step == TYPED)
		look_at_page(g, a, &e);
	else
		try_next(g);
}

/* ---- the icon ---- */

static struct str
icon_url(struct reg *g, size_t i)
{
	char text[URL_TEXT_MAX];
	struct str site = g->x->parsed->link.n ? g->x->parsed->link : g->asked;
	struct url u;
	struct err e;

	if (g->page)
		return i < g->page->n_icons && i < REGISTER_ICONS_MAX
			   ? g->page->icons[i].url
			   : (struct str){.p = NULL};
	if (i > 0 || url_parse(site, &u, &e) < 0)
		return (struct str){.p = NULL};
	return arena_dup(g->arena,
	    (struct str){text, follow_resolve(&u, STR("/favicon.ico"), text)});
}

static void
find_icon(struct reg *g)
{
	struct str site = g->x->parsed->link, url;

	if (!g->page && g->step != SITE && g->step != ICON && site.n > 0) {
		g->step = SITE;
		if (ask(g, site, DISCOVER_IN_MAX, g->until_us))
			return;
	}
	g->step = ICON;
	url = icon_url(g, g->icons_tried++);
	if (!url.p || !ask(g, url, FAVICON_MAX, g->until_us))
		store(g);
}

static void
got_site(struct reg *g, const struct follow_answer *a)
{
	struct str type = follow_header(a->head, "content-type");
	struct feed_from from = {
	    .url = a->url, .content_type = type.p ? type : STR_EMPTY};
	struct discover *d = NULL;
	struct err e;

	if (a->result == FOLLOW_ANSWERED && a->status == 200 &&
	    caged_page(g->f->caged, g->arena, a->body, &from, &d, &e) == OK &&
	    !d->is_feed)
		g->page = d;
	find_icon(g);
}

static void
got_icon(struct reg *g, const struct follow_answer *a)
{
	struct err e;

	if (a->result == FOLLOW_ANSWERED && a->status == 200 &&
	    caged_icon(g->f->caged, a->body, &g->icon_mime, &e) == OK) {
		g->icon = arena_dup(g->arena, a->body);
		if (!g->icon.p)
			g->icon_mime = NULL;
	}
	if (g->icon_mime)
		store(g);
	else
		find_icon(g);
}

/* An answer, whatever it was asked for. */
static void
got(struct follow *fo, const struct follow_answer *a)
{
	struct reg *g = MAIL_OF(fo, struct reg, follow);

	if (!g->r ||
	    (a->result == FOLLOW_FAILED && a->why == CLIENT_CANCELLED)) {
		struct err e;

		(void)err_set(&e, ERR_AWAY, "the server is stopping");
		fail(g, &e);
		return;
	}
	if (g->step == SITE) {
		got_site(g, a);
	} else if (g->step == ICON) {
		got_icon(g, a);
	} else if (a->result == FOLLOW_ANSWERED && a->status == 200) {
		g->http_status = a->status;
		look_at_feed(g, a);
	} else {
		g->http_status = a->status;
		note_failure(g, a);
		/* What answers over https is not asked over http as well. */
		if (g->step == TYPED && a->result == FOLLOW_ANSWERED)
			fail(g, &g->why);
		else
			try_next(g);
	}
}

/* ---- the start ---- */

static int
check(struct reg *g, struct err *e)
{
	int rc = typed_urls(g->arena, g->r->url, g->urls, &g->n_urls, e);

	for (size_t i = 0; i < g->n_urls && rc == OK; i++) {
		rc = guard_url(g->f->o.guard, GUARD_READER, g->urls[i], e);
		if (rc < 0) {
			(void)err_word(e, "URL_REFUSED");
			e->at[0] = '\0';
		}
	}
	return rc;
}

static void
begin(struct fetcher *f, struct registration *r)
{
	struct reg *g = calloc(1, sizeof(*g));
	struct err e = {0};

	if (g)
		g->arena = arena_new(FEED_ARENA_MAX);
	if (!g || !g->arena) {
		free(g);
		(void)err_set(&r->err, ERR_AWAY, "no memory to add a feed");
		(void)atomic_fetch_sub(&f->n_regs, 1);
		r->done(r);
		return;
	}
	g->f = f;
	g->r = r;
	g->user = r->user;
	g->instead = r->instead;
	g->private = r->private;
	g->asked = STR_EMPTY;
	g->begin_us = clock_mono_us();
	g->until_us = g->begin_us + REGISTER_MS * US_PER_MS;
	list_add(&f->regs, &g->link);
	if (check(g, &e) < 0)
		fail(g, &e);
	else
		try_next(g);
}

void
register_run(struct fetcher *f)
{
	struct link *k;

	while (f->regs.n < REGISTER_MAX && (k = list_first(&f->regs_waiting))) {
		list_remove(&f->regs_waiting, k);
		begin(f, LINK_OF(k, struct registration, link));
	}
}

void
register_drop(struct fetcher *f)
{
	struct err e = {0};
	struct link *k;

	(void)err_set(&e, ERR_AWAY, "the server is stopping");
	e.retry_after_s = 1;
	while ((k = list_first(&f->regs_waiting))) {
		struct registration *r = LINK_OF(k, struct registration, link);

		list_remove(&f->regs_waiting, k);
		r->err = e;
		(void)atomic_fetch_sub(&f->n_regs, 1);
		r->done(r);
	}
	/* What is being asked or written ends by itself. */
	for (k = list_first(&f->regs); k; k = list_next(&f->regs, k))
		answer(LINK_OF(k, struct reg, link), &e);
}

static void
take(struct fetcher *f, struct fetch_note *n)
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
	r->note.job = false;
	r->note.take = take;
	r->link = (struct link){.prev = NULL};
	if (!mailbox_post(f->box, &r->note.mail)) {
		(void)atomic_fetch_sub(&f->n_regs, 1);
		return err_set(e, ERR_AWAY, "the server is stopping");
	}
	client_wake(f->client);
	return OK;
}
