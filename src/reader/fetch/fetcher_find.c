#include "base/conf/conf.h"
#include "doc/caged.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "http/url.h"
#include "reader/feed_login.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"

/* Which feed an address leads to, and its picture: see fetcher_register.c. */

static void find_icon(struct reg *g);

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

/* Who only looks is told, and that is all. Copied: what the fetcher has of it
 * goes, the answer stays. */
static void
tell_found(struct reg *g, const struct discover_feed *list, size_t n)
{
	struct registration *r = g->r;

	r->found = arena_array(r->look, n, sizeof(*r->found));
	r->n_found = n;
	for (size_t i = 0; i < n; i++) {
		r->found[i] = list[i];
		r->found[i].url = arena_dup(r->look, list[i].url);
		r->found[i].title = arena_dup(r->look, list[i].title);
	}
	register_end(g, NULL);
}

/* A feed that was read, as a page would name it. */
static struct discover_feed
look_feed(const struct feed *parsed, struct str at)
{
	struct discover_feed one = {
	    .url = at, .title = parsed->title, .kind = DISCOVER_RSS};

	if (parsed->format == FEED_JSON)
		one.kind = DISCOVER_JSON;
	else if (parsed->format == FEED_ATOM1 || parsed->format == FEED_ATOM03)
		one.kind = DISCOVER_ATOM;
	return one;
}

/* ---- asking ---- */

static void got(struct follow *fo, const struct follow_answer *a);

/* May the login go there? */
static bool
own_place(const struct reg *g, struct str url)
{
	return g->login.p && feed_login_same_origin(url, g->urls[0]);
}

/* False when there is no time left for it. */
static bool
ask_for(struct reg *g, struct str url, size_t most, int64_t until_us)
{
	int64_t left = (until_us - clock_mono_us()) / US_PER_MS;

	if (left < 1)
		return false;
	if (left > g->f->o.conf->fetch_timeout_ms)
		left = g->f->o.conf->fetch_timeout_ms;
	g->headers[0] = (struct client_header){STR("Accept"),
	    g->step == ICON ? STR("image/*,*/*;q=0.5") : STR(FETCH_ACCEPT)};
	g->follow = (struct follow){.done = got};
	if (own_place(g, url)) {
		g->headers[1] = (struct client_header){STR("Authorization"),
		    feed_login_header(g->arena, g->login)};
		g->follow.n_own = 1;
	}
	g->follow.send = (struct client_send){.method = GET,
	    .url = url,
	    .headers = g->headers,
	    .n_headers = 1 + g->follow.n_own,
	    .keep_max = most,
	    .total_ms = (int)left,
	    .user_agent = FETCHER_AGENT};
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
	if (g->login.p && !own_place(g, url)) {
		g->why.code = OK;
		say_once(g, "FEED_NOT_DETECTED",
		    "is at another server than the user name and password are for: "
		    "add that address itself",
		    "");
		return false;
	}
	if (!g->r->look && register_known(g))
		return true;
	return ask_for(
	    g, g->asked, (size_t)g->f->o.conf->fetch_max_size, g->until_us);
}

/* .p NULL: `from` is no URL. */
static struct str
resolve(struct reg *g, struct str from, const char *path)
{
	char text[URL_TEXT_MAX];
	struct url u;
	struct err e;

	if (url_parse(from, &u, &e) < 0)
		return (struct str){.p = NULL};
	return arena_dup(g->arena,
	    (struct str){text, follow_resolve(&u, str_of(path), text)});
}

void
find_next(struct reg *g)
{
	struct str url = {.p = NULL};
	size_t i = g->tried++;

	if (g->step == NAMED &&
	    (i >= g->page->n_feeds || i >= REGISTER_FEEDS_MAX)) {
		g->step = PATHS;
		i = 0;
		g->tried = 1;
	}
	if (g->step == TYPED && i < g->n_urls)
		url = g->urls[i];
	else if (g->step == NAMED)
		url = g->page->feeds[i].url;
	else if (g->step == PATHS && DISCOVER_PATHS[i])
		url = resolve(g, g->page_url, DISCOVER_PATHS[i]);
	if (!url.p || !ask_feed(g, url)) {
		say_once(g, "FEED_UNREACHABLE", "did not answer in time", "");
		register_end(g, &g->why);
	}
}

/* ---- what was there ---- */

static void
note_failure(struct reg *g, const struct follow_answer *a)
{
	char status[16];

	(void)snprintf(status, sizeof(status), "%d", a->last.status);
	if (a->result == FOLLOW_FAILED && a->last.result == CLIENT_REFUSED)
		say_once(g, "URL_REFUSED", "is refused: ", a->last.error);
	else if (a->result != FOLLOW_ANSWERED)
		say_once(
		    g, "FEED_UNREACHABLE", "can't be fetched: ", a->last.error);
	else if (a->last.status == 401)
		say_once(g, "FEED_UNREACHABLE",
		    g->login.p ? "does not take this user name and password"
			       : "wants a user name and password",
		    ": its server answered 401");
	else
		say_once(g, "FEED_UNREACHABLE",
		    "can't be fetched: its server answered ", status);
}

static void
note_not_feed(struct reg *g, struct str type, const struct err *parse)
{
	char what[101];

	(void)snprintf(what, sizeof(what), "%.*s", STR_ARG(type));
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
	if (x->moved && !str_eq(x->final_url, g->asked) &&
	    (!g->login.p || own_place(g, x->final_url))) {
		g->asked = canonical(g, x->final_url);
		if (register_known(g))
			return;
	}
	g->tried = 0;
	g->until_us = clock_mono_us() + REGISTER_ICON_MS * US_PER_MS;
	find_icon(g);
}

static int
read_page(struct reg *g, const struct follow_answer *a, struct discover **ret,
    struct err *e)
{
	struct str type = follow_header(a->last.head, "content-type");
	struct buf links CLEANUP(buf_done) = BUF(DISCOVER_LINKS_MAX);
	struct feed_from from = {
	    .url = a->url, .content_type = type.p ? type : STR_EMPTY};

	follow_headers(a->last.head, "link", &links);
	if (!links.failed && str_utf8_bad(buf_str(&links)) == links.n)
		from.links = buf_str(&links);
	return caged_page(g->f->caged, g->arena, a->last.body, &from, ret, e);
}

static void
look_at_page(
    struct reg *g, const struct follow_answer *a, const struct err *parse)
{
	struct str type = follow_header(a->last.head, "content-type");
	struct err e = {0};

	if (read_page(g, a, &g->page, &e) == OK)
		g->page_url = arena_dup(g->arena, a->url);
	if (!note_unread(g, &e))
		note_not_feed(g, type.p ? type : STR_EMPTY, parse);
	if (!g->page || g->page->is_feed || !g->page_url.p) {
		register_end(g, &g->why);
		return;
	}
	if (g->r->look && g->page->n_feeds > 0) {
		tell_found(g, g->page->feeds, g->page->n_feeds);
		return;
	}
	/* One page that sends its readers on is followed. */
	if (g->page->n_feeds == 0 && g->page->refresh.n > 0 && !g->sent_on) {
		g->sent_on = true;
		if (ask_feed(g, g->page->refresh))
			return;
	}
	g->step = NAMED;
	g->tried = 0;
	find_next(g);
}

static void
look_at_feed(struct reg *g, const struct follow_answer *a)
{
	struct fetch *x = fetch_new(g->f);
	struct feed_from from = {.content_type = STR_EMPTY};
	struct err e = {0};

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
		register_end(g, &g->why);
	else if (g->step == TYPED)
		look_at_page(g, a, &e);
	else
		find_next(g);
}

/* ---- the icon ---- */

static struct str
icon_url(struct reg *g, size_t i)
{
	struct str site = g->x->parsed->link.n ? g->x->parsed->link : g->asked;

	if (g->page)
		return i < g->page->n_icons && i < REGISTER_ICONS_MAX
			   ? g->page->icons[i].url
			   : (struct str){.p = NULL};
	return i > 0 ? (struct str){.p = NULL}
		     : resolve(g, site, "/favicon.ico");
}

static void
find_icon(struct reg *g)
{
	struct str site = g->x->parsed->link, url;

	if (!g->page && g->step != SITE && g->step != ICON && site.n > 0) {
		g->step = SITE;
		if (ask_for(g, site, DISCOVER_IN_MAX, g->until_us))
			return;
	}
	g->step = ICON;
	url = icon_url(g, g->icons_tried++);
	if (!url.p || !ask_for(g, url, FAVICON_MAX, g->until_us))
		register_store(g);
}

static void
got_site(struct reg *g, const struct follow_answer *a)
{
	struct discover *d = NULL;
	struct err e;

	if (a->result == FOLLOW_ANSWERED && a->last.status == 200 &&
	    read_page(g, a, &d, &e) == OK && !d->is_feed)
		g->page = d;
	find_icon(g);
}

static void
got_icon(struct reg *g, const struct follow_answer *a)
{
	struct err e;

	if (a->result == FOLLOW_ANSWERED && a->last.status == 200 &&
	    caged_icon(g->f->caged, a->last.body, &g->icon_mime, &e) == OK)
		g->icon = arena_dup(g->arena, a->last.body);
	if (g->icon_mime)
		register_store(g);
	else
		find_icon(g);
}

/* An answer, whatever it was asked for. */
static void
got(struct follow *fo, const struct follow_answer *a)
{
	struct reg *g = MAIL_OF(fo, struct reg, follow);

	if (!g->r || (a->result == FOLLOW_FAILED &&
			 a->last.result == CLIENT_CANCELLED)) {
		struct err e;

		(void)err_set(&e, ERR_AWAY, "the server is stopping");
		register_end(g, &e);
		return;
	}
	if (g->step == SITE) {
		got_site(g, a);
		return;
	}
	if (g->step == ICON) {
		got_icon(g, a);
		return;
	}
	g->http_status = a->last.status;
	if (a->result == FOLLOW_ANSWERED && a->last.status == 200) {
		look_at_feed(g, a);
	} else {
		note_failure(g, a);
		/* What answers over https is not asked over http as well. */
		if (g->step == TYPED && a->result == FOLLOW_ANSWERED)
			register_end(g, &g->why);
		else
			find_next(g);
	}
}
