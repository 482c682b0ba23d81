#include "http/client/client.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/conf/conf.h"
#include "http/client/client_priv.h"

/* Whose socket an event is about, in the upper half of its u64. */
enum tag { TAG_CURL, TAG_RESOLVE, TAG_WAKE };

#define EVENTS_MAX 64 /* of one turn */

int64_t
client_retry_after_ms(struct str value, int64_t now_us)
{
	int64_t most = CLIENT_RETRY_MAX_S * INT64_C(1000), s = 0;
	char date[64];

	value = str_trim(value);
	if (value.n == 0 || value.n >= sizeof(date))
		return -1;
	if (str_is_digit(value.p[0]) && str_int(value, &s))
		return s > CLIENT_RETRY_MAX_S ? most : s * 1000;
	memcpy(date, value.p, value.n);
	date[value.n] = '\0';
	/* A date begins with its day: "Sun, 06 Nov 1994 08:49:37 GMT". */
	if (!str_is_letter(date[0]) || (s = curl_getdate(date, NULL)) < 0)
		return -1;
	s = s * 1000 - now_us / US_PER_MS;
	return s < 0 ? 0 : s > most ? most : s;
}

/* ---- the end of a send ---- */

static void
xfer_end(struct client_xfer *x)
{
	if (x->state == XFER_ENDED)
		return;
	x->state = XFER_ENDED;
	list_remove(&x->client->active, &x->link);
	list_add(&x->client->ended, &x->link);
}

static void
end_as(struct client_xfer *x, enum client_result result, const char *why)
{
	x->result = result;
	(void)snprintf(x->error, sizeof(x->error), "%s", why);
	xfer_end(x);
}

/* Calls the done()s of all that ended by now. What these start or cancel may
 * end at once: that waits for the next turn. */
static int
tell_ended(struct client *c)
{
	int most = (int)c->ended.n, n = 0;
	struct client_xfer *x;

	for (; n < most && (x = list_take(&c->ended, struct client_xfer, link));
	     n++) {
		struct client_answer a;

		xfer_answer(x, &a);
		x->send->xfer = NULL;
		x->send->done(x->send, &a); /* it may be gone, or run again */
		xfer_free(x);
	}
	return n;
}

/* ---- the start of a send ---- */

static void
launch(struct client_xfer *x)
{
	struct client *c = x->client;
	int64_t left =
	    x->send->total_ms - (clock_mono_us() - x->started_us) / US_PER_MS;

	xfer_arm(x, left < 1 ? 1 : (long)left);
	x->state = XFER_RUNNING;
	if (curl_multi_add_handle(c->multi, x->easy) != CURLM_OK)
		end_as(x, CLIENT_BROKEN, "libcurl does not take the request");
}

static void
resolved(struct resolve_ask *q, const struct resolved *r, const char *why)
{
	struct client_xfer *x = MAIL_OF(q, struct client_xfer, ask);
	struct err e;

	if (!r)
		end_as(x, CLIENT_DNS, why);
	else if (xfer_pin(x, r, &e) < 0)
		end_as(x, CLIENT_REFUSED, e.text);
	else
		launch(x);
}

void
client_start(struct client *c, struct client_send *s)
{
	struct client_xfer *x = s->xfer = xfer_new(c, s);
	struct err e;

	assert(s->done && s->total_ms > 0 && s->connect_ms > 0);
	list_add(&c->active, &x->link);
	if (xfer_prepare(x, &e) < 0) {
		end_as(x, CLIENT_REFUSED, e.text);
	} else if (x->url.literal || (s->proxy && c->o.proxy_resolves)) {
		launch(x);
	} else {
		x->state = XFER_DNS;
		x->ask.done = resolved;
		resolve_ask(c->resolve, x->url.host, s->total_ms, &x->ask);
	}
}

void
client_cancel(struct client *c, struct client_send *s)
{
	struct client_xfer *x = s->xfer;

	if (x->state == XFER_DNS)
		resolve_drop(c->resolve, &x->ask);
	else if (x->state == XFER_RUNNING)
		(void)curl_multi_remove_handle(c->multi, x->easy);
	end_as(x, CLIENT_CANCELLED, "cancelled");
}

/* ---- looking ---- */

static void
looked(struct resolve_ask *q, const struct resolved *r, const char *)
{
	struct client_look *l = LINK_OF(q, struct client_look, ask);
	struct err e;
	int rc = OK;

	list_remove(&l->client->looks, &l->in_list);
	for (size_t i = 0; rc == OK && r && i < r->n; i++)
		rc = client_judge(l->client, l->use, &l->at, &r->v[i].sa, &e);
	l->done(l, rc < 0 ? &e : NULL);
}

void
client_look(struct client *c, struct client_look *l)
{
	struct err e;
	int rc = url_parse(l->url, &l->at, &e);

	if (rc == OK)
		rc = guard_target(c->o.guard, l->use, &l->at, &e);
	if (rc < 0 || l->at.literal || (l->proxy && c->o.proxy_resolves)) {
		l->done(l, rc < 0 ? &e : NULL);
		return;
	}
	l->client = c;
	l->ask.done = looked;
	list_add(&c->looks, &l->in_list);
	resolve_ask(c->resolve, l->at.host, c->o.dns_timeout_ms, &l->ask);
}

static void
drop_looks(struct client *c)
{
	struct client_look *l;
	struct err e;

	(void)err_set(&e, ERR_AWAY, "the server is stopping");
	while ((l = list_take(&c->looks, struct client_look, in_list))) {
		resolve_drop(c->resolve, &l->ask);
		l->done(l, &e);
	}
}

/* ---- the loop ---- */

static int
on_socket(CURL *, curl_socket_t fd, int what, void *arg, void *known)
{
	struct client *c = arg;
	struct epoll_event ev = {
	    .events = (what & CURL_POLL_IN ? EPOLLIN : 0U) |
		      (what & CURL_POLL_OUT ? EPOLLOUT : 0U),
	    .data.u64 = (uint64_t)TAG_CURL << 32 | (uint32_t)fd,
	};

	if (what == CURL_POLL_REMOVE) {
		(void)epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (!known)
		(void)curl_multi_assign(c->multi, fd, c);
	if (epoll_ctl(c->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
		&ev) < 0)
		(void)epoll_ctl(c->epoll_fd,
		    known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &ev);
	return 0;
}

static int
on_timer(CURLM *, long timeout_ms, void *arg)
{
	struct client *c = arg;

	c->curl_due_us =
	    timeout_ms < 0 ? -1 : clock_mono_us() + timeout_ms * US_PER_MS;
	return 0;
}

static void
act(struct client *c, curl_socket_t fd, int what)
{
	int running = 0;

	(void)curl_multi_socket_action(c->multi, fd, what, &running);
}

static void
on_event(struct client *c, const struct epoll_event *ev)
{
	int fd = (int)(uint32_t)ev->data.u64;
	bool in = ev->events & (EPOLLIN | EPOLLERR | EPOLLHUP);
	bool out = ev->events & (EPOLLOUT | EPOLLERR);
	uint64_t count;

	switch ((enum tag)(ev->data.u64 >> 32)) {
	case TAG_CURL:
		act(c, fd,
		    (in ? CURL_CSELECT_IN : 0) | (out ? CURL_CSELECT_OUT : 0) |
			(ev->events & EPOLLERR ? CURL_CSELECT_ERR : 0));
		break;
	case TAG_RESOLVE:
		resolve_event(c->resolve, fd, in, out);
		break;
	case TAG_WAKE:
		(void)!read(c->wake_fd, &count, sizeof(count));
		break;
	}
}

/*
 * libcurl tells of a timer once: when it is woken too early, by a fraction of
 * a millisecond, nothing is due yet and it says nothing again. So it is asked.
 */
static void
run_timer(struct client *c)
{
	long left_ms = -1;

	act(c, CURL_SOCKET_TIMEOUT, 0);
	(void)curl_multi_timeout(c->multi, &left_ms);
	(void)on_timer(c->multi, left_ms, c);
}

/* What libcurl is through with. */
static void
collect(struct client *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		struct client_xfer *x = NULL;
		CURLcode code = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x);
		(void)curl_multi_remove_handle(c->multi, m->easy_handle);
		xfer_ended(x, code);
		xfer_end(x);
	}
}

/* How long there is nothing to do, at most `ms` (-1: for ever). */
static int
patience(struct client *c, int ms)
{
	int64_t least = ms < 0 ? INT32_MAX : ms;
	int64_t dns = resolve_timeout_ms(c->resolve);

	if (c->ended.n > 0)
		return 0;
	if (c->curl_due_us >= 0) {
		int64_t left = c->curl_due_us - clock_mono_us();
		int64_t curl = (left + US_PER_MS - 1) / US_PER_MS;

		least = curl < 0 ? 0 : curl < least ? curl : least;
	}
	if (dns >= 0 && dns < least)
		least = dns;
	return ms < 0 && least == INT32_MAX ? -1 : (int)least;
}

/* One turn; true when somebody wanted the thread. */
static bool
turn(struct client *c, int ms)
{
	struct epoll_event ev[EVENTS_MAX];
	int n = epoll_wait(c->epoll_fd, ev, EVENTS_MAX, patience(c, ms));
	bool woken = false;

	for (int i = 0; i < n; i++) {
		on_event(c, &ev[i]);
		woken |= ev[i].data.u64 >> 32 == TAG_WAKE;
	}
	if (c->curl_due_us >= 0 && c->curl_due_us <= clock_mono_us())
		run_timer(c);
	resolve_tick(c->resolve);
	collect(c);
	return woken;
}

int
client_wait(struct client *c, int timeout_ms)
{
	int64_t until = clock_mono_ms() + timeout_ms;
	int n = 0;

	for (;;) {
		int64_t left = timeout_ms < 0 ? -1 : until - clock_mono_ms();
		bool woken = turn(c, timeout_ms < 0 ? -1
				     : left < 0     ? 0
						    : (int)left);

		n = tell_ended(c);
		if (n > 0 || woken || (timeout_ms >= 0 && left <= 0))
			return n;
	}
}

void
client_wake(struct client *c)
{
	uint64_t one = 1;

	(void)!write(c->wake_fd, &one, sizeof(one));
}

size_t
client_running(const struct client *c)
{
	return c->active.n + c->ended.n;
}

/* ---- life ---- */

static int
open_loop(struct client *c, struct err *e)
{
	struct epoll_event ev = {
	    .events = EPOLLIN, .data.u64 = (uint64_t)TAG_WAKE << 32};
	struct resolve_opts ro = {.timeout_ms = c->o.dns_timeout_ms,
	    .tag = TAG_RESOLVE,
	    .servers = c->o.dns_servers};

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->epoll_fd < 0 || c->wake_fd < 0 ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->wake_fd, &ev) < 0)
		return err_set(e, ERR_IO, "no epoll for the HTTP client: %s",
		    strerror(errno));
	ro.epoll_fd = c->epoll_fd;
	return resolve_new(&ro, &c->resolve, e);
}

static int
open_multi(struct client *c, struct err *e)
{
	long each = c->o.connections_each, all = c->o.connections_max;

	if (c->o.ca_file && access(c->o.ca_file, R_OK) < 0)
		return err_set(e, ERR_INVALID, "webhook.tls.ca: %s: %s",
		    c->o.ca_file, strerror(errno));
	c->multi = curl_multi_init();
	c->sessions = curl_share_init();
	if (!c->multi || !c->sessions ||
	    curl_share_setopt(
		c->sessions, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) ||
	    curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket) ||
	    curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c) ||
	    curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer) ||
	    curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c) ||
	    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, all) ||
	    curl_multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, all) ||
	    curl_multi_setopt(c->multi, CURLMOPT_MAX_HOST_CONNECTIONS, each))
		return err_set(e, ERR_IO, "libcurl can't be started");
	return OK;
}

struct client_opts
client_opts_of(const struct conf *c, const struct guard *g)
{
	return (struct client_opts){
	    .guard = g,
	    .dns_timeout_ms = c->webhook_url_dns_timeout_ms,
	    .proxy_resolves = c->webhook_proxy_resolves,
	    .dns_servers = c->webhook_url_dns_servers[0]
			       ? c->webhook_url_dns_servers
			       : NULL,
	    .ca_file = c->webhook_tls_ca[0] ? c->webhook_tls_ca : NULL,
	};
}

int
client_new(const struct client_opts *o, struct client **ret, struct err *e)
{
	struct client *c;
	int rc;

	assert(o->guard);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ERR_IO, "libcurl can't be started");
	c = mem_get(sizeof(*c));
	c->o = *o;
	c->epoll_fd = c->wake_fd = -1;
	c->curl_due_us = -1;
	list_init(&c->active);
	list_init(&c->ended);
	list_init(&c->looks);
	rc = open_loop(c, e);
	if (rc == OK)
		rc = open_multi(c, e);
	if (rc < 0) {
		client_free(c);
		return rc;
	}
	*ret = c;
	return OK;
}

void
client_free(struct client *c)
{
	if (!c)
		return;
	list_each (struct client_xfer, x, &c->active, link)
		client_cancel(c, x->send);
	drop_looks(c);
	(void)tell_ended(c);
	assert(client_running(c) == 0);
	(void)curl_multi_cleanup(c->multi);
	(void)curl_share_cleanup(c->sessions);
	resolve_free(c->resolve);
	if (c->wake_fd >= 0)
		(void)close(c->wake_fd);
	if (c->epoll_fd >= 0)
		(void)close(c->epoll_fd);
	free(c);
	curl_global_cleanup();
}
