#include "http/server/conn.h"

#include "http/peer.h"
#include "http/server/limits.h"

/* The address of the connection: the caller, or the last proxy before us. */
static void
take_hop(struct conn *c)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(c->mc, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *sa = info ? info->client_addr : NULL;

	if (!sa || !ip_of(sa, &c->hop)) {
		c->hop.n = 0; /* the unix socket */
		(void)snprintf(c->r.peer, sizeof(c->r.peer), "unix");
		return;
	}
	ip_unmap(&c->hop);
	ip_format(&c->hop, c->r.peer);
}

/* The lines of the headers by which proxies tell whom they serve. */
struct told {
	struct arena *arena;
	struct str forwarded, x_forwarded_for;
};

static bool
note_told(void *arg, struct str name, struct str value)
{
	struct told *t = arg;
	struct str *to = str_eq_nocase(name, STR("Forwarded")) ? &t->forwarded
			 : str_eq_nocase(name, STR("X-Forwarded-For"))
			     ? &t->x_forwarded_for
			     : NULL;

	if (to)
		*to = to->p ? arena_fmt(t->arena, "%.*s,%.*s", STR_ARG(*to),
				  STR_ARG(value))
			    : value;
	return true;
}

static bool
by_proxy(const struct conn *c)
{
	const struct nets *trusted = c->s->o.trusted;

	return trusted && c->hop.n > 0 && nets_has(trusted, &c->hop);
}

void
conn_peer(struct conn *c)
{
	struct told t = {.arena = c->r.arena};
	struct ip peer;

	if (!by_proxy(c))
		return;
	req_each_header(&c->r, note_told, &t);
	peer =
	    peer_find(c->s->o.trusted, c->hop, t.forwarded, t.x_forwarded_for);
	ip_format(&peer, c->r.peer);
}

static struct conn *
make(struct server *s, struct MHD_Connection *mc)
{
	struct conn *c = mem_get(sizeof(*c));

	c->s = s;
	c->mc = mc;
	c->waker = waker_new(c);
	c->r.arena = arena_new(HTTP_ARENA_MAX);
	c->r.conn = c;
	c->r.out.limit = HTTP_OUT_MAX;
	take_hop(c);
	return c;
}

void
conn_notice(void *server, struct MHD_Connection *mc, void **ctx,
    enum MHD_ConnectionNotificationCode code)
{
	struct server *s = server;
	struct conn *c = *ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		    mc, MHD_CONNECTION_INFO_CONNECTION_FD);
		const union MHD_ConnectionInfo *tls = MHD_get_connection_info(
		    mc, MHD_CONNECTION_INFO_GNUTLS_SESSION);

		c = make(s, mc);
		c->door.fd = info->connect_fd;
		c->wire.tls = tls && tls->tls_session;
		c->broken = !wire_tap(c->door.fd, &c->wire);
		c->door.exempt = c->hop.n == 0 || by_proxy(c);
		door_enter(s->door, &c->door, c->r.peer);
		*ctx = c;
	} else if (c) {
		(void)wire_tap(c->door.fd, NULL);
		door_leave(s->door, &c->door);
		buf_done(&c->r.out);
		arena_free(c->r.arena);
		waker_free(c->waker);
		free(c);
		*ctx = NULL;
	}
}

/* The path and query of "/p?q", or of "http://host/p?q" as proxies write. */
static void
take_target(struct conn *c, struct str target)
{
	if (str_starts(target, STR("http://")) ||
	    str_starts(target, STR("https://"))) {
		const char *slash;

		target = str_from(target, target.p[4] == 's' ? 8 : 7);
		slash = target.n ? memchr(target.p, '/', target.n) : NULL;
		target = slash ? str_from(target, (size_t)(slash - target.p))
			       : STR("/");
	}
	c->r.path = str_cut(&target, '?');
	c->raw_query = target;
}

void *
conn_begin(void *, const char *uri, struct MHD_Connection *mc)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct conn *c = info ? info->socket_context : NULL;

	if (!c || c->broken)
		return NULL;
	c->nth++;
	c->start_us = clock_mono_us();
	atomic_store(&c->door.from_ms, c->start_us / US_PER_MS);
	if (!door_phase(&c->door, IDLE, READING))
		return NULL;
	take_target(c, arena_dup(c->r.arena, str_of(uri)));
	return c;
}

/* All of the last request is gone, but what the connection keeps. */
static void
reset(struct conn *c)
{
	struct req *r = &c->r, was = *r;

	if (was.out.cap > HTTP_OUT_KEEP)
		buf_done(&was.out);
	buf_clear(&was.out);
	arena_reset(was.arena);
	*r = (struct req){.arena = was.arena, .out = was.out, .conn = c};
	if (c->hop.n > 0)
		ip_format(&c->hop, r->peer);
	else
		memcpy(r->peer, was.peer, sizeof(r->peer));
	c->stage = AT_HEAD;
	c->in = (struct intake){.expect = {NULL, 0}};
	c->linger = c->bad_frame = c->paused = c->to_sleep = false;
	c->retry_after[0] = '\0';
	c->early_status = 0;
	c->early_code = NULL;
	c->body_known = 0;
	c->chunked = false;
	c->sent_status = 0;
	c->stream = (struct stream){.pull = NULL};
}

void
conn_complete(void *server, struct MHD_Connection *, void **ctx,
    enum MHD_RequestTerminationCode)
{
	struct server *s = server;
	struct conn *c = *ctx;
	const struct server_hooks *h = &s->o.hooks;

	if (!c)
		return;
	*ctx = NULL;
	stream_end(c);
	if (c->sent_status && h->answered)
		h->answered(h->arg, &c->r, c->sent_status,
		    clock_mono_us() - c->start_us);
	if (c->r.done)
		c->r.done(&c->r);
	if (c->linger)
		door_linger(s->door, c->door.fd);
	conn_uncount(c);
	body_release(c);
	buf_done(&c->zip);
	waker_over(c->waker);
	waker_free(c->waker); /* unless somebody still holds it */
	c->waker = waker_new(c);
	reset(c);
	c->wire.serving = 0;
	(void)atomic_fetch_add(&c->door.turn, 1);
	if (!door_phase(&c->door, BUSY, IDLE) &&
	    !door_phase(&c->door, SENDING, IDLE))
		(void)door_phase(&c->door, READING, IDLE);
}

bool
conn_stopping(const struct conn *c)
{
	const struct server *s = c->s;

	return atomic_load(&s->draining) ||
	       (s->o.hooks.stopping && s->o.hooks.stopping(s->o.hooks.arg));
}

void
conn_uncount(struct conn *c)
{
	if (c->counted)
		(void)atomic_fetch_sub(&c->s->busy, 1);
	c->counted = false;
}

void
conn_early(struct conn *c, int status, const char *code)
{
	c->early_status = status;
	c->early_code = code;
}
