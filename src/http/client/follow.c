#include "http/client/follow.h"

#include "http/client/limits.h"
#include "markup/href.h"

struct follows {
	struct client *client;
	const char *proxy;
	struct list running, waiting;
	bool closed;
};

/* ---- where a redirect leads ---- */

static void
add_escaped(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == ' ')
			buf_addz(b, "%20");
		else
			buf_addc(b, s.p[i]);
}

/* "/a/./b/../c" is "/a/c" (RFC 3986, 5.2.4), from byte `from` on, in place. */
static void
remove_dots(struct buf *b, size_t from)
{
	size_t out = from, i = from, n = b->n;
	char *p = b->p;

	while (i < n && p[i] != '?') {
		size_t end = i + 1;

		while (end < n && p[end] != '/' && p[end] != '?')
			end++;
		if (end - i == 2 && p[i + 1] == '.') {
			if (end == n || p[end] == '?')
				p[out++] = '/';
		} else if (end - i == 3 && p[i + 1] == '.' && p[i + 2] == '.') {
			while (out > from && p[--out] != '/')
				;
			if (end == n || p[end] == '?')
				p[out++] = '/';
		} else {
			memmove(p + out, p + i, end - i);
			out += end - i;
		}
		i = end;
	}
	if (out == from)
		p[out++] = '/';
	memmove(p + out, p + i, n - i);
	b->n = out + (n - i);
}

size_t
follow_resolve(const struct url *base, struct str ref, char ret[URL_TEXT_MAX])
{
	struct buf b CLEANUP(buf_done) = BUF(URL_TEXT_MAX - 1);
	struct str rest = str_trim(ref), dir = base->path;
	size_t from = 0;

	ref = str_cut(&rest, '#');
	if (str_starts(ref, STR("//"))) {
		buf_addz(&b, base->https ? "https:" : "http:");
	} else if (href_scheme(ref).n == 0) {
		from = url_origin(base, ret);
		buf_add(&b, (struct str){ret, from});
		if (ref.n == 0)
			ref = base->query;
		else if (ref.p[0] == '/')
			dir = STR_EMPTY;
		else if (ref.p[0] != '?')
			while (dir.n > 0 && dir.p[dir.n - 1] != '/')
				dir.n--;
		add_escaped(&b, dir);
	}
	add_escaped(&b, ref);
	if (b.failed)
		return 0;
	if (from > 0)
		remove_dots(&b, from);
	memcpy(ret, b.p, b.n);
	ret[b.n] = '\0';
	return b.n;
}

struct str
follow_header(struct str head, const char *name)
{
	struct str found = {.p = NULL};

	while (head.n > 0) {
		struct str line = str_cut(&head, '\n'), value = line;

		if (str_has(line, ':') &&
		    str_eq_nocase(str_cut(&value, ':'), str_of(name)))
			found = str_trim(value);
	}
	return found;
}

void
follow_headers(struct str head, const char *name, struct buf *to)
{
	while (head.n > 0) {
		struct str line = str_cut(&head, '\n'), value = line;

		if (!str_has(line, ':') ||
		    !str_eq_nocase(str_cut(&value, ':'), str_of(name)))
			continue;
		buf_addz(to, to->n > 0 ? ", " : "");
		buf_add(to, str_trim(value));
	}
}

/* ---- one host at a time ---- */

static bool
busy(const struct follows *fs, const char *host)
{
	list_each (struct follow, f, &fs->running, link)
		if (strcmp(f->host, host) == 0)
			return true;
	return false;
}

bool
follow_free_host(const struct follows *fs, struct str url)
{
	struct url u;
	struct err e;

	return url_parse(url, &u, &e) < 0 || !busy(fs, u.host);
}

static void
launch(struct follow *f)
{
	struct follows *fs = f->all;

	list_add(&fs->running, &f->link);
	f->send.url = (struct str){f->at, f->n_at};
	f->send.connect_ms = f->send.total_ms < FOLLOW_CONNECT_MS
				 ? f->send.total_ms
				 : FOLLOW_CONNECT_MS;
	client_start(fs->client, &f->send);
}

static void
launch_waiting(struct follows *fs)
{
	list_each (struct follow, f, &fs->waiting, link)
		if (!fs->closed && !busy(fs, f->host)) {
			list_remove(&fs->waiting, &f->link);
			launch(f);
		}
}

static void
set_place(struct follow *f, const struct url *u)
{
	f->n_at = url_show(u, f->at);
	(void)snprintf(f->host, sizeof(f->host), "%s", u->host);
}

/* ---- answers ---- */

static bool
is_redirect(const struct follow *f, int status)
{
	return f->send.method == GET &&
	       (status == 301 || status == 302 || status == 303 ||
		   status == 307 || status == 308);
}

static bool
same_origin(const struct url *a, const struct url *b)
{
	return a->https == b->https && a->port == b->port &&
	       strcmp(a->host, b->host) == 0;
}

/* From f->at to where the answer sends us. False: f->error says why not. */
static bool
move_on(struct follow *f, const struct client_answer *a, struct str to)
{
	char next[URL_TEXT_MAX];
	struct url base, u;
	struct err e;
	size_t n;

	if (f->hops == FOLLOW_HOPS_MAX) {
		(void)snprintf(f->error, sizeof(f->error),
		    "it redirects over and over: more than %d times",
		    FOLLOW_HOPS_MAX);
		return false;
	}
	if (url_parse((struct str){f->at, f->n_at}, &base, &e) < 0)
		return false;
	n = follow_resolve(&base, to, next);
	if (n == 0 || url_parse((struct str){next, n}, &u, &e) < 0) {
		(void)snprintf(f->error, sizeof(f->error),
		    "it redirects to something that is no URL (%.*s)",
		    to.n < 120 ? (int)to.n : 120, to.p);
		return false;
	}
	f->permanent = (f->permanent || f->hops == 0) &&
		       (a->status == 301 || a->status == 308);
	f->hops++;
	f->send.query = STR_EMPTY;
	if (!same_origin(&base, &u)) {
		f->send.n_headers -= f->n_own;
		f->n_own = 0;
	}
	set_place(f, &u);
	return true;
}

static void
finish(struct follow *f, struct follow_answer *r)
{
	r->url = (struct str){f->at, f->n_at};
	r->hops = f->hops;
	r->permanent = f->permanent && f->hops > 0;
	r->last.took_us = f->took_us;
	f->done(f, r); /* f may be gone, or started again */
}

static void
follow_answered(struct client_send *s, const struct client_answer *a)
{
	struct follow *f = MAIL_OF(s, struct follow, send);
	struct follows *fs = f->all;
	struct follow_answer r = {.result = FOLLOW_ANSWERED, .last = *a};
	int64_t left_ms = s->total_ms - a->took_us / US_PER_MS;
	struct str to = is_redirect(f, a->status)
			    ? follow_header(a->head, "location")
			    : (struct str){.p = NULL};

	list_remove(&fs->running, &f->link);
	f->took_us += a->took_us;
	s->total_ms = left_ms < 1 ? 1 : (int)left_ms;
	f->error[0] = '\0';
	if (a->result != CLIENT_ANSWERED) {
		r.result = FOLLOW_FAILED;
	} else if (to.p && move_on(f, a, to) && !fs->closed) {
		if (busy(fs, f->host))
			list_add(&fs->waiting, &f->link);
		else
			launch(f);
		launch_waiting(fs);
		return;
	} else if (to.p) {
		r.result = FOLLOW_LOST;
		r.last.error = f->error;
	} else if (a->body_cut) {
		(void)snprintf(f->error, sizeof(f->error),
		    "the answer is over %zu bytes", s->keep_max);
		r.result = FOLLOW_TOO_LARGE;
		r.last.error = f->error;
	}
	launch_waiting(fs);
	finish(f, &r);
}

void
follow_start(struct follows *fs, struct follow *f)
{
	struct client_send *s = &f->send;
	struct url u;
	struct err e;

	assert(f->done && f->send.total_ms > 0);
	f->all = fs;
	f->hops = 0;
	f->permanent = false;
	f->took_us = 0;
	f->host[0] = f->error[0] = '\0';
	s->use = GUARD_READER;
	s->head_max = CLIENT_HEAD_MAX;
	s->decode = true;
	s->proxy = fs->proxy;
	s->done = follow_answered;
	if (url_parse(s->url, &u, &e) == OK) {
		set_place(f, &u);
	} else { /* for the client to refuse */
		f->n_at = s->url.n < URL_TEXT_MAX ? s->url.n : URL_TEXT_MAX - 1;
		memcpy(f->at, s->url.p, f->n_at);
		f->at[f->n_at] = '\0';
	}
	if (fs->closed || (f->host[0] && busy(fs, f->host)))
		list_add(&fs->waiting, &f->link);
	else
		launch(f);
}

/* ---- life ---- */

struct follows *
follows_new(struct client *c, const char *proxy)
{
	struct follows *fs = mem_get(sizeof(*fs));

	fs->client = c;
	fs->proxy = proxy;
	list_init(&fs->running);
	list_init(&fs->waiting);
	return fs;
}

void
follows_close(struct follows *fs)
{
	struct follow *w;

	fs->closed = true;
	list_each (struct follow, f, &fs->running, link)
		client_cancel(fs->client, &f->send);
	while ((w = list_take(&fs->waiting, struct follow, link))) {
		struct follow_answer r = {.result = FOLLOW_FAILED,
		    .last = {.result = CLIENT_CANCELLED,
			.head = STR_EMPTY,
			.body = STR_EMPTY,
			.retry_after_ms = -1,
			.error = "cancelled"}};

		finish(w, &r);
	}
}

void
follows_free(struct follows *fs)
{
	if (fs)
		assert(fs->running.n == 0 && fs->waiting.n == 0);
	free(fs);
}
