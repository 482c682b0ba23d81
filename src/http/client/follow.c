#include "http/client/follow.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/client/limits.h"

struct follows {
	struct client *client;
	const char *proxy;
	struct list running, waiting;
	bool closed;
};

/* ---- where a redirect leads ---- */

static bool
has_scheme(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = (char)(s.p[i] | 0x20);

		if (s.p[i] == ':')
			return i > 0;
		if (!(c >= 'a' && c <= 'z') &&
		    !(i > 0 && ((s.p[i] >= '0' && s.p[i] <= '9') ||
				   strchr("+-.", s.p[i]))))
			return false;
	}
	return false;
}

/* Appends, with blanks escaped; 0 when there is no room. */
static size_t
follow_put(char *to, size_t at, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (at + 4 > URL_TEXT_MAX)
			return 0;
		if (s.p[i] == ' ') {
			to[at++] = '%';
			to[at++] = '2';
			to[at++] = '0';
		} else {
			to[at++] = s.p[i];
		}
	}
	return at;
}

/* "/a/./b/../c" is "/a/c" (RFC 3986, 5.2.4), from byte `from` on, in place. */
static size_t
without_dots(char *p, size_t from, size_t n)
{
	size_t out = from, i = from;

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
	return out + (n - i);
}

size_t
follow_resolve(const struct url *base, struct str ref, char ret[URL_TEXT_MAX])
{
	struct url root = *base;
	struct str dir = base->path;
	size_t at, from;

	ref = str_trim(ref);
	for (size_t i = 0; i < ref.n; i++)
		if (ref.p[i] == '#')
			ref.n = i;
	if (has_scheme(ref)) {
		at = follow_put(ret, 0, ref);
		ret[at] = '\0';
		return at;
	}
	root.path = root.query = STR_EMPTY;
	at = url_show(&root, ret);
	if (str_starts(ref, STR("//"))) {
		at = follow_put(
		    ret, 0, base->https ? STR("https:") : STR("http:"));
		at = follow_put(ret, at, ref);
		ret[at] = '\0';
		return at;
	}
	from = at;
	if (ref.n == 0 || ref.p[0] == '?') {
		at = follow_put(ret, at, base->path);
		at = at ? follow_put(ret, at, ref.n ? ref : base->query) : 0;
	} else if (ref.p[0] == '/') {
		at = follow_put(ret, at, ref);
	} else {
		while (dir.n > 0 && dir.p[dir.n - 1] != '/')
			dir.n--;
		at = follow_put(ret, at, dir);
		at = at ? follow_put(ret, at, ref) : 0;
	}
	if (at == 0)
		return 0;
	at = without_dots(ret, from, at);
	ret[at] = '\0';
	return at;
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

/* ---- one host at a time ---- */

static bool
busy(const struct follows *fs, const char *host)
{
	for (struct link *k = list_first(&fs->running); k;
	     k = list_next(&fs->running, k))
		if (strcmp(LINK_OF(k, struct follow, link)->host, host) == 0)
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
	int64_t left = f->total_ms - f->took_us / US_PER_MS;

	list_add(&fs->running, &f->link);
	f->running = true;
	f->send.url = (struct str){f->at, f->n_at};
	f->send.total_ms = left < 1 ? 1 : (int)left;
	f->send.connect_ms = f->send.total_ms < FOLLOW_CONNECT_MS
				 ? f->send.total_ms
				 : FOLLOW_CONNECT_MS;
	client_start(fs->client, &f->send);
}

static void
launch_waiting(struct follows *fs)
{
	struct link *k = list_first(&fs->waiting), *next;

	for (; k && !fs->closed; k = next) {
		struct follow *f = LINK_OF(k, struct follow, link);

		next = list_next(&fs->waiting, k);
		if (busy(fs, f->host))
			continue;
		list_remove(&fs->waiting, k);
		launch(f);
	}
}

/* ---- answers ---- */

static bool
is_redirect(const struct follow *f, int status)
{
	return f->method == GET &&
	       (status == 301 || status == 302 || status == 303 ||
		   status == 307 || status == 308);
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
	n = url_show(&u, f->at);
	f->n_at = n;
	(void)snprintf(f->host, sizeof(f->host), "%s", u.host);
	return true;
}

static void
finish(struct follow *f, struct follow_answer *r)
{
	r->url = (struct str){f->at, f->n_at};
	r->hops = f->hops;
	r->permanent = f->permanent && f->hops > 0;
	r->took_us = f->took_us;
	f->done(f, r); /* f may be gone, or started again */
}

static void
follow_answered(struct client_send *s, const struct client_answer *a)
{
	struct follow *f = MAIL_OF(s, struct follow, send);
	struct follows *fs = f->all;
	struct follow_answer r = {.result = FOLLOW_ANSWERED,
	    .why = a->result,
	    .status = a->status,
	    .head = a->head,
	    .body = a->body,
	    .retry_after_ms = a->retry_after_ms,
	    .wire_bytes = a->wire_bytes,
	    .error = a->error};
	struct str to = is_redirect(f, a->status)
			    ? follow_header(a->head, "location")
			    : (struct str){.p = NULL};

	list_remove(&fs->running, &f->link);
	f->running = false;
	f->took_us += a->took_us;
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
		r.error = f->error;
	} else if (a->body_cut) {
		(void)snprintf(f->error, sizeof(f->error),
		    "the answer is over %zu bytes", f->body_max);
		r.result = FOLLOW_TOO_LARGE;
		r.error = f->error;
	}
	launch_waiting(fs);
	finish(f, &r);
}

void
follow_start(struct follows *fs, struct follow *f)
{
	struct url u;
	struct err e;

	assert(f->done && f->total_ms > 0);
	f->all = fs;
	f->hops = 0;
	f->permanent = f->running = false;
	f->took_us = 0;
	f->host[0] = f->error[0] = '\0';
	f->send = (struct client_send){.method = f->method,
	    .query = f->query.p ? f->query : STR_EMPTY,
	    .headers = f->headers,
	    .n_headers = f->n_headers,
	    .body = f->body.p ? f->body : STR_EMPTY,
	    .use = GUARD_READER,
	    .keep_max = f->body_max,
	    .head_max = CLIENT_HEAD_MAX,
	    .decode = true,
	    .user_agent = f->user_agent,
	    .proxy = fs->proxy,
	    .done = follow_answered};
	f->n_at = f->url.n < URL_TEXT_MAX ? f->url.n : URL_TEXT_MAX - 1;
	memcpy(f->at, f->url.p, f->n_at);
	f->at[f->n_at] = '\0';
	/* What is no URL is for the client to refuse. */
	if (url_parse(f->url, &u, &e) == OK) {
		char text[URL_TEXT_MAX];

		(void)snprintf(f->host, sizeof(f->host), "%s", u.host);
		f->n_at = url_show(&u, text);
		memcpy(f->at, text, f->n_at + 1);
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
	struct link *k;

	fs->closed = true;
	for (k = list_first(&fs->running); k; k = list_next(&fs->running, k))
		client_cancel(
		    fs->client, &LINK_OF(k, struct follow, link)->send);
	while ((k = list_first(&fs->waiting))) {
		struct follow *f = LINK_OF(k, struct follow, link);
		struct follow_answer r = {.result = FOLLOW_FAILED,
		    .why = CLIENT_CANCELLED,
		    .head = STR_EMPTY,
		    .body = STR_EMPTY,
		    .retry_after_ms = -1,
		    .error = "cancelled"};

		list_remove(&fs->waiting, k);
		finish(f, &r);
	}
}

void
follows_free(struct follows *fs)
{
	if (fs)
		assert(fs->running.n == 0 && fs->waiting.n == 0);
	free(fs);
}
