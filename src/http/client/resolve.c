#include "http/client/resolve.h"

#include <ares.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#define TRIES 2

struct name {
	struct resolve *owner;
	struct list asks;
	bool asking;   /* c-ares will call name_answered() */
	unsigned held; /* a done() is looking at it */
	bool known;    /* r or why is an answer, until until_ms */
	int64_t until_ms;
	char host[URL_HOST_MAX + 1];
	char why[128];
	struct resolved r; /* n 0: there is no answer, see why */
};

struct resolve {
	struct resolve_opts o;
	ares_channel ares;
	struct timespec conf_at; /* resolv.conf, as the channel read it */
	int64_t conf_seen_ms;
	struct map *names;
	struct list due; /* all that wait, the soonest first */
	size_t looking;  /* names that c-ares works on */
};

/* ---- who waits ---- */

/* NULL: nobody. */
static struct resolve_ask *
ask_first(const struct resolve *r)
{
	return list_head(&r->due, struct resolve_ask, by_due);
}

/* Most wait equally long, so that the place in time is near the end. */
static void
enlist(struct resolve *r, struct name *n, struct resolve_ask *q)
{
	struct link *before = r->due.head.prev;

	q->in = &n->asks;
	list_add(q->in, &q->of_name);
	while (before != &r->due.head &&
	       LINK_OF(before, struct resolve_ask, by_due)->due_ms > q->due_ms)
		before = before->prev;
	list_add_after(&r->due, before, &q->by_due);
}

void
resolve_drop(struct resolve *r, struct resolve_ask *q)
{
	list_remove(q->in, &q->of_name);
	list_remove(&r->due, &q->by_due);
}

static void
name_tell(struct name *n, struct resolve_ask *q)
{
	n->held++;
	q->done(q, n->r.n > 0 ? &n->r : NULL, n->why);
	n->held--;
}

/* ---- answers ---- */

static void
name_failed(struct name *n, const char *why, const char *more)
{
	n->r.n = 0;
	n->r.fresh_ms = RESOLVE_LEAST_MS;
	(void)snprintf(n->why, sizeof(n->why), "%s%s", why, more);
}

static void
name_settle(struct name *n)
{
	int64_t fresh = n->r.fresh_ms;

	fresh = fresh < RESOLVE_LEAST_MS   ? RESOLVE_LEAST_MS
		: fresh > RESOLVE_FRESH_MS ? RESOLVE_FRESH_MS
					   : fresh;
	n->until_ms = clock_mono_ms() + fresh;
	n->known = true;
	/* A done() may ask again: that is answered from what is known now. */
	n->held++;
	for (struct resolve_ask *q;
	     (q = list_head(&n->asks, struct resolve_ask, of_name));) {
		resolve_drop(n->owner, q);
		name_tell(n, q);
	}
	n->held--;
}

static void
name_take(struct name *n, const struct ares_addrinfo *info)
{
	struct resolved *r = &n->r;

	r->n = 0;
	r->fresh_ms = RESOLVE_FRESH_MS;
	for (const struct ares_addrinfo_node *at = info->nodes; at;
	     at = at->ai_next) {
		if ((size_t)at->ai_addrlen > sizeof(r->v[0]))
			continue;
		if (r->n == RESOLVE_ADDRS_MAX) {
			name_failed(
			    n, "the host name has too many addresses", "");
			return;
		}
		r->v[r->n] = (union addr){.v6 = {0}};
		memcpy(&r->v[r->n++], at->ai_addr, (size_t)at->ai_addrlen);
		if (at->ai_ttl * INT64_C(1000) < r->fresh_ms)
			r->fresh_ms = at->ai_ttl * INT64_C(1000);
	}
	if (r->n == 0)
		name_failed(n, "the host name has no address", "");
}

static void
name_answered(void *arg, int status, int, struct ares_addrinfo *info)
{
	struct name *n = arg;

	n->asking = false;
	if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED)
		return; /* the resolver goes, and n with it */
	if (status == ARES_SUCCESS && info)
		name_take(n, info);
	else
		name_failed(n,
		    "the host name can't be resolved: ", ares_strerror(status));
	ares_freeaddrinfo(info);
	name_settle(n);
	/* Last, so that the channel stays for as long as this is inside it. */
	n->owner->looking--;
}

/* ---- the channel ---- */

static void
watch(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolve *r = arg;
	struct epoll_event ev = {
	    .events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U),
	    .data.u64 = (uint64_t)r->o.tag << 32 | (uint32_t)fd,
	};

	if (!ev.events)
		(void)epoll_ctl(r->o.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(r->o.epoll_fd, EPOLL_CTL_MOD, fd, &ev) < 0)
		(void)epoll_ctl(r->o.epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* When resolv.conf was written; c-ares reads it once for each channel. */
static struct timespec
conf_time(void)
{
	struct stat st;

	return stat("/etc/resolv.conf", &st) < 0 ? (struct timespec){0}
						 : st.st_mtim;
}

static int
open_channel(struct resolve *r, struct err *e)
{
	struct ares_options ao = {
	    /* The second try waits twice as long as the first. */
	    .timeout = (int)(r->o.timeout_ms / (TRIES + 1)) + 1,
	    .tries = TRIES,
	    .ndomains = 0,
	    .sock_state_cb = watch,
	    .sock_state_cb_data = r,
	};
	int status;

	r->conf_at = conf_time();
	r->conf_seen_ms = clock_mono_ms();
	status = ares_init_options(&r->ares, &ao,
	    ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
		ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS)
		return err_set(e, ERR_IO, "c-ares can't be started: %s",
		    ares_strerror(status));
	if (r->o.servers)
		status = ares_set_servers_ports_csv(r->ares, r->o.servers);
	if (status != ARES_SUCCESS)
		return err_set(e, ERR_INVALID,
		    "webhook.url.dns.servers: %s is no list of addresses such as 192.0.2.53 or [2001:db8::53]:53: %s",
		    r->o.servers, ares_strerror(status));
	return OK;
}

/* A machine gets other name servers while we run. An answer that is on its way
 * is waited for; without a new channel the old one stays. */
static void
renew_channel(struct resolve *r)
{
	int64_t now = clock_mono_ms();
	ares_channel old = r->ares;
	struct timespec at;
	struct err e;

	if (r->looking > 0 || now < r->conf_seen_ms + RESOLVE_CONF_MS)
		return;
	r->conf_seen_ms = now;
	at = conf_time();
	if (at.tv_sec == r->conf_at.tv_sec && at.tv_nsec == r->conf_at.tv_nsec)
		return;
	r->ares = NULL;
	if (open_channel(r, &e) < 0) {
		if (r->ares)
			ares_destroy(r->ares);
		r->ares = old;
		return;
	}
	ares_destroy(old);
}

/* ---- names ---- */

/* Makes room in a full table: of those that nobody needs now, the one whose
 * answer ends first goes. */
static void
shrink(struct resolve *r)
{
	struct name *n, *gone = NULL;
	size_t at = 0;

	while ((n = map_each(r->names, &at)))
		if (!n->asking && n->asks.n == 0 && n->held == 0 &&
		    (!gone || n->until_ms < gone->until_ms))
			gone = n;
	if (!gone)
		return;
	(void)map_take(r->names, str_of(gone->host));
	free(gone);
}

static struct name *
name_of(struct resolve *r, const char *host)
{
	struct name *n = map_find(r->names, str_of(host));

	if (n)
		return n;
	if (map_count(r->names) >= RESOLVE_CACHE_MAX)
		shrink(r);
	if (map_count(r->names) >= RESOLVE_CACHE_MAX)
		return NULL;
	n = mem_get(sizeof(*n));
	n->owner = r;
	list_init(&n->asks);
	(void)snprintf(n->host, sizeof(n->host), "%s", host);
	map_set(r->names, str_of(n->host), n);
	return n;
}

static void
name_look(struct resolve *r, struct name *n)
{
	static const struct ares_addrinfo_hints HINTS = {
	    .ai_flags = ARES_AI_NOSORT,
	    .ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM,
	};

	renew_channel(r);
	n->known = false;
	n->asking = true;
	r->looking++;
	ares_getaddrinfo(r->ares, n->host, NULL, &HINTS, name_answered, n);
}

void
resolve_ask(
    struct resolve *r, const char *host, int64_t most_ms, struct resolve_ask *q)
{
	struct name *n = name_of(r, host);

	if (!n) {
		q->done(q, NULL, "too many host names are being resolved");
		return;
	}
	if (n->known && clock_mono_ms() < n->until_ms) {
		name_tell(n, q);
		return;
	}
	q->due_ms = clock_mono_ms() +
		    (most_ms < r->o.timeout_ms ? most_ms : r->o.timeout_ms);
	enlist(r, n, q);
	if (!n->asking)
		name_look(r, n);
}

/* ---- the loop ---- */

void
resolve_event(struct resolve *r, int fd, bool readable, bool writable)
{
	ares_process_fd(r->ares, readable ? fd : ARES_SOCKET_BAD,
	    writable ? fd : ARES_SOCKET_BAD);
}

void
resolve_tick(struct resolve *r)
{
	int64_t now = clock_mono_ms();
	struct resolve_ask *q;

	if (r->looking > 0)
		ares_process_fd(r->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	while ((q = ask_first(r)) && q->due_ms <= now) {
		resolve_drop(r, q);
		q->done(q, NULL, "the host name was not resolved in time");
	}
}

int64_t
resolve_timeout_ms(struct resolve *r)
{
	const struct resolve_ask *q = ask_first(r);
	struct timeval room, *tv;
	int64_t own = q ? q->due_ms - clock_mono_ms() : -1, ares;

	if (q && own < 0)
		own = 0;
	tv = r->looking > 0 ? ares_timeout(r->ares, NULL, &room) : NULL;
	if (!tv)
		return own;
	ares = (int64_t)tv->tv_sec * 1000 + tv->tv_usec / 1000 + 1;
	return own < 0 || ares < own ? ares : own;
}

int
resolve_new(const struct resolve_opts *o, struct resolve **ret, struct err *e)
{
	struct resolve *r;
	int rc;

	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return err_set(e, ERR_IO, "c-ares can't be started");
	r = mem_get(sizeof(*r));
	r->o = *o;
	r->names = map_new(RESOLVE_CACHE_MAX);
	list_init(&r->due);
	rc = open_channel(r, e);
	if (rc < 0) {
		resolve_free(r);
		return rc;
	}
	*ret = r;
	return OK;
}

void
resolve_free(struct resolve *r)
{
	struct name *n;
	size_t at = 0;

	if (!r)
		return;
	if (r->ares)
		ares_destroy(r->ares);
	ares_library_cleanup();
	while ((n = map_each(r->names, &at)))
		free(n);
	map_free(r->names);
	free(r);
}
