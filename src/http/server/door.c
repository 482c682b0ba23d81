#include "http/server/door.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log/log.h"
#include "http/server/conn.h"
#include "http/server/limits.h"
#include "http/server/linger.h"
#include "http/server/listen.h"
#include "loop/thread.h"

#define SWEEP_MS       250
#define SWEEP_SOON_MS  20  /* while it drains, or somebody lingers */
#define CLOSE_WAIT     8   /* TCP_CLOSE_WAIT of the kernel's tcp_states.h */
#define ENDED_MS       500 /* nobody reads for so long what he got */
#define GRACE_MS       500 /* for the first request of who came while we drain */
#define ACCEPT_AT_ONCE 64
#define CUT_PART       16    /* of all connections, that are cut at once */
#define TELL_MS        10000 /* between lines about the same trouble */

struct door {
	struct server *s;
	struct thread *thread;
	int kick; /* eventfd: look again */
	atomic_bool closing, closed, ending;
	atomic_bool full;       /* somebody may wait outside for a place */
	atomic_size_t arriving; /* accepted, not yet entered */

	/* the door thread's own; the unix socket is the last one */
	int fds[LISTEN_MAX + 1];
	size_t n_fds, n_tcp;
	char unix_path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	bool tired; /* no descriptors left: wait a moment */
	int port;
	int64_t told_ms; /* when the log was last told why nobody comes in */

	pthread_mutex_t lock;   /* for all below */
	struct list entries;    /* oldest first */
	size_t live, strangers; /* not cut; and of these, not known */
	struct share held;      /* by holder: connections that are not cut */
	size_t cut;             /* for room, since the log was told */
	int64_t cut_told_ms;
	struct linger_list linger;
};

static void
door_lock(struct door *d)
{
	int rc = pthread_mutex_lock(&d->lock);

	assert(rc == 0);
}

static void
door_unlock(struct door *d)
{
	(void)pthread_mutex_unlock(&d->lock);
}

static void
kick(struct door *d)
{
	uint64_t one = 1;

	(void)!write(d->kick, &one, sizeof(one));
}

bool
door_phase(struct door_entry *en, enum phase from, enum phase to)
{
	return atomic_compare_exchange_strong(&en->phase, &from, to);
}

/* It counts for its holder no more. */
static void
uncount(struct door *d, struct door_entry *en)
{
	if (en->uncounted)
		return;
	en->uncounted = true;
	d->live--;
	if (!atomic_load(&en->known))
		d->strangers--;
	share_sub(&d->held, en->slot, 1);
}

static bool
cut(struct door *d, struct door_entry *en, enum phase phase)
{
	if (!door_phase(en, phase, CUT))
		return false;
	(void)shutdown(en->fd, SHUT_RDWR);
	uncount(d, en);
	return true;
}

/* Nobody works for it, and it may be cut when others need its place; but not
 * who has just come, and could have said nothing yet. */
static bool
spare(const struct door *d, const struct door_entry *en, bool known)
{
	enum phase phase = atomic_load(&en->phase);

	return atomic_load(&en->known) == known && !en->uncounted &&
	       &en->link != list_last(&d->entries) &&
	       (phase == IDLE || phase == READING || phase == SENDING);
}

/* Cuts the older half of what can be spared of a holder, a few at once. */
static void
thin_out(struct door *d, bool known, unsigned slot)
{
	size_t most = (size_t)d->s->o.connections_max / CUT_PART + 1, n = 0;
	int64_t now_ms = clock_mono_ms(), oldest_ms = now_ms, upto_ms;

	list_each (struct door_entry, en, &d->entries, link)
		if (en->slot == slot && spare(d, en, known) &&
		    en->since_ms < oldest_ms)
			oldest_ms = en->since_ms;
	upto_ms = oldest_ms + (now_ms - oldest_ms) / 2;
	list_each (struct door_entry, en, &d->entries, link)
		if (n < most && en->slot == slot && spare(d, en, known) &&
		    en->since_ms <= upto_ms)
			n += cut(d, en, atomic_load(&en->phase));
	d->cut += n;
}

/* The same to the holder that has the most; false: there is none. */
static bool
thin_out_most(struct door *d, bool known)
{
	const struct door_entry *found = NULL;
	size_t most = 0;

	list_each (struct door_entry, en, &d->entries, link)
		if (spare(d, en, known) &&
		    share_held(&d->held, en->slot) > most) {
			most = share_held(&d->held, en->slot);
			found = en;
		}
	if (found)
		thin_out(d, known, found->slot);
	return found != NULL;
}

static void
keep_shares(struct door *d, const struct door_entry *en)
{
	size_t most = (size_t)d->s->o.connections_max;

	if (!en->exempt && share_held(&d->held, en->slot) > DOOR_NETWORK(most))
		thin_out(d, false, en->slot);
	if (d->strangers > DOOR_STRANGERS(most))
		(void)thin_out_most(d, false);
}

void
door_enter(struct door *d, struct door_entry *en, const char *peer)
{
	door_lock(d);
	en->since_ms = clock_mono_ms();
	list_add(&d->entries, &en->link);
	d->live++;
	d->strangers++;
	en->slot = share_network(&d->held, peer);
	(void)share_add(&d->held, en->slot, 1);
	keep_shares(d, en);
	door_unlock(d);
	(void)atomic_fetch_sub(&d->arriving, 1);
}

void
door_know(struct door *d, struct door_entry *en, const struct principal *who)
{
	if (atomic_load(&en->known))
		return;
	door_lock(d);
	if (!en->uncounted) {
		d->strangers--;
		share_sub(&d->held, en->slot, 1);
		en->slot = share_principal(&d->held, who);
		(void)share_add(&d->held, en->slot, 1);
	}
	atomic_store(&en->known, true);
	door_unlock(d);
}

void
door_leave(struct door *d, struct door_entry *en)
{
	door_lock(d);
	list_remove(&d->entries, &en->link);
	uncount(d, en);
	door_unlock(d);
	if (atomic_exchange(&d->full, false))
		kick(d);
}

void
door_watch(struct door *d, struct door_entry *en, struct waker *w)
{
	door_lock(d);
	en->waker = w;
	door_unlock(d);
}

void
door_linger(struct door *d, int fd)
{
	door_lock(d);
	linger_add(&d->linger, fd, clock_mono_ms());
	door_unlock(d);
	kick(d);
}

size_t
door_count(struct door *d)
{
	size_t n;

	/* In this order: who arrives is seen at one place or the other. */
	n = atomic_load(&d->arriving);
	door_lock(d);
	n += d->entries.n;
	door_unlock(d);
	return n;
}

struct line {
	uint64_t bytes; /* received so far */
	bool ended;     /* the client sends no more, and all it sent was read */
};

/* What the kernel knows; nothing for a unix socket. */
static struct line
ask_kernel(int fd)
{
	struct tcp_info info = {.tcpi_state = 0};
	socklen_t n = sizeof(info);
	int unread = 0;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
		return (struct line){.bytes = 0};
	if (info.tcpi_state == CLOSE_WAIT)
		(void)ioctl(fd, FIONREAD, &unread);
	return (struct line){.bytes = info.tcpi_bytes_received,
	    .ended = info.tcpi_state == CLOSE_WAIT && unread == 0};
}

static bool
left(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1;
}

/* Has the time of the request ended that is on its way? */
static bool
late(struct door *d, struct door_entry *en, enum phase phase, int64_t now_ms)
{
	const struct server_opts *o = &d->s->o;
	int64_t limit_ms = o->request_timeout_s * INT64_C(1000);
	int64_t idle_ms = o->idle_timeout_s * INT64_C(1000);
	int64_t from_ms = en->begun_ms;

	if (phase == READING && from_ms == 0)
		from_ms = atomic_load(&en->from_ms);
	if (from_ms > 0)
		return now_ms - from_ms > limit_ms;
	/* Where bytes can't be counted: it began within the idle time, or it
	 * would be closed by now. */
	return now_ms - en->since_ms > limit_ms + idle_ms;
}

/* Nothing came since the last answer, nor will it in time. */
static bool
idle(const struct door_entry *en, enum phase phase, int64_t now_ms)
{
	return phase == IDLE && en->begun_ms == 0 &&
	       (en->seen_turn > 0 || now_ms - en->since_ms > GRACE_MS);
}

static void
look_at(struct door *d, struct door_entry *en, int64_t now_ms)
{
	enum phase phase = atomic_load(&en->phase);
	unsigned turn = atomic_load(&en->turn);
	bool draining = atomic_load(&d->s->draining);
	bool stopping = atomic_load(&d->s->stopping);
	struct line line;

	if (phase == CUT)
		return;
	if (phase == SENDING) {
		int64_t taken_ms = now_ms - atomic_load(&en->from_ms);

		if (!atomic_load(&en->known) &&
		    taken_ms > d->s->o.request_timeout_s * INT64_C(1000))
			(void)cut(d, en, phase);
		return;
	}
	if (phase == BUSY) {
		bool gone = en->waker && left(en->fd);

		if (gone)
			atomic_store(&en->gone, true);
		if (gone || (en->waker && draining))
			waker_wake(en->waker);
		return;
	}
	line = ask_kernel(en->fd);
	if (turn != en->seen_turn) {
		en->seen_turn = turn;
		en->since_ms = now_ms;
		en->begun_ms = en->ended_ms = 0;
		en->mark = line.bytes;
	} else if (en->begun_ms == 0 && line.bytes != en->mark) {
		en->begun_ms = now_ms;
	}
	if (!line.ended)
		en->ended_ms = 0;
	else if (en->ended_ms == 0)
		en->ended_ms = now_ms;
	/* libmicrohttpd does not see an end that came with the last bytes; but
	 * it may just be about to work on these. */
	if (stopping || late(d, en, phase, now_ms) ||
	    (en->ended_ms && now_ms - en->ended_ms >= ENDED_MS) ||
	    (draining && idle(en, phase, now_ms)))
		(void)cut(d, en, phase);
}

static bool
crowded(const struct door *d)
{
	return d->tired ||
	       d->live >= DOOR_CROWD((size_t)d->s->o.connections_max);
}

static void
tell_of_cuts(struct door *d, int64_t now_ms)
{
	if (d->cut == 0 || now_ms - d->cut_told_ms < TELL_MS)
		return;
	log_fmt(LOG_WARN, "connections are cut to make room",
	    "%zu of those that were idle, unfinished or slow; %zu are open, "
	    "http.connections.max is %d",
	    d->cut, d->live, d->s->o.connections_max);
	d->cut = 0;
	d->cut_told_ms = now_ms;
}

static void
sweep(struct door *d, bool all_linger_ends)
{
	int64_t now_ms = clock_mono_ms();

	door_lock(d);
	list_each (struct door_entry, en, &d->entries, link)
		look_at(d, en, now_ms);
	if (crowded(d) && !thin_out_most(d, false)) /* strangers first */
		(void)thin_out_most(d, true);
	tell_of_cuts(d, now_ms);
	linger_look(&d->linger, now_ms, all_linger_ends);
	door_unlock(d);
}

/* Whoever knocks waits until some of those inside have left. */
static void
rest(struct door *d, const char *why)
{
	int64_t now_ms = clock_mono_ms();

	d->tired = true;
	if (d->told_ms && now_ms - d->told_ms < TELL_MS)
		return;
	d->told_ms = now_ms;
	log_fmt(LOG_WARN, "can't accept", "%s; waits for a place", why);
}

/* False when there is nobody, or no way to let them in. */
static bool
let_in(struct door *d, size_t i)
{
	struct sockaddr_storage from = {.ss_family = AF_UNIX};
	socklen_t n = sizeof(from);
	bool local = i >= d->n_tcp;
	struct MHD_Daemon *to;
	int fd = accept4(d->fds[i], (struct sockaddr *)&from, &n,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno == EINTR || errno == ECONNABORTED)
			return true;
		if (errno != EAGAIN)
			rest(d, strerror(errno));
		return false;
	}
	if (!listen_admit(fd, local)) {
		(void)close(fd);
		return true;
	}
	to = local || !d->s->tls ? d->s->plain : d->s->tls;
	(void)atomic_fetch_add(&d->arriving, 1);
	/* It closes the socket when it can't take it. */
	if (MHD_add_connection(to, fd, (struct sockaddr *)&from, n) != MHD_YES)
		(void)atomic_fetch_sub(&d->arriving, 1);
	return true;
}

static bool
has_room(struct door *d, size_t i)
{
	size_t most = (size_t)d->s->o.connections_max;

	if (i >= d->n_tcp)
		most += HTTP_LOCAL_EXTRA;
	if (door_count(d) < most)
		return true;
	/* Whoever leaves from now on says so; some may have just left. */
	atomic_store(&d->full, true);
	return door_count(d) < most;
}

static void
wait_and_accept(struct door *d, int timeout_ms)
{
	struct pollfd p[LISTEN_MAX + 2] = {{.fd = d->kick, .events = POLLIN}};
	uint64_t kicks;

	for (size_t i = 0; i < d->n_fds; i++)
		p[i + 1] = (struct pollfd){
		    .fd = has_room(d, i) && !d->tired ? d->fds[i] : -1,
		    .events = POLLIN};
	d->tired = false;
	if (poll(p, (nfds_t)d->n_fds + 1, timeout_ms) <= 0)
		return;
	if (p[0].revents)
		(void)!read(d->kick, &kicks, sizeof(kicks));
	for (size_t i = 0; i < d->n_fds; i++)
		for (int k = 0; p[i + 1].revents && k < ACCEPT_AT_ONCE; k++)
			if (!has_room(d, i) || !let_in(d, i))
				break;
}

/* Whoever knocked before we closed is let in. */
static void
shut(struct door *d)
{
	for (size_t i = 0; i < d->n_fds; i++) {
		while (has_room(d, i) && let_in(d, i))
			continue;
		(void)close(d->fds[i]);
	}
	d->n_fds = d->n_tcp = 0;
	if (d->unix_path[0] != '\0')
		(void)unlink(d->unix_path);
	d->unix_path[0] = '\0';
	atomic_store(&d->closed, true);
}

static bool
in_a_hurry(struct door *d)
{
	bool yes;

	door_lock(d);
	yes = d->linger.n > 0 || d->entries.n > d->live || crowded(d);
	door_unlock(d);
	return yes || atomic_load(&d->s->draining);
}

static void
door_run(void *arg)
{
	struct door *d = arg;
	int64_t last_ms = clock_mono_ms();

	while (!atomic_load(&d->ending)) {
		int period_ms = in_a_hurry(d) ? SWEEP_SOON_MS : SWEEP_MS;

		wait_and_accept(d, period_ms);
		if (atomic_load(&d->closing) && !atomic_load(&d->closed))
			shut(d);
		if (clock_mono_ms() - last_ms >= period_ms) {
			last_ms = clock_mono_ms();
			sweep(d, false);
		}
	}
	shut(d);
	sweep(d, true);
}

static int
open_sockets(struct door *d, struct err *e)
{
	const struct server_opts *o = &d->s->o;

	if (o->sockets) {
		memcpy(d->fds, o->sockets->fds, sizeof(o->sockets->fds));
		d->n_tcp = o->sockets->n;
		d->port = o->sockets->port;
	} else if (o->listen)
		TRY(listen_tcp(o->listen, d->fds, &d->n_tcp, &d->port, e));
	d->n_fds = d->n_tcp;
	if (!o->unix_path)
		return OK;
	TRY(listen_unix(o->unix_path, &d->fds[d->n_fds], e));
	(void)snprintf(d->unix_path, sizeof(d->unix_path), "%s", o->unix_path);
	d->n_fds++;
	return OK;
}

int
door_start(struct server *s, struct door **ret, struct err *e)
{
	struct door *d = mem_get(sizeof(*d));
	int rc;

	(void)pthread_mutex_init(&d->lock, NULL);
	d->s = s;
	share_init(&d->held);
	list_init(&d->entries);
	d->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = d->kick < 0 ? err_set(e, ERR_IO, "eventfd: %s", strerror(errno))
			 : open_sockets(d, e);
	*ret = d; /* connections look for it as soon as they come */
	if (rc == OK)
		rc = thread_start("http-door", door_run, d, &d->thread, e);
	if (rc < 0) {
		shut(d);
		door_free(d);
		*ret = NULL;
	}
	return rc;
}

int
door_port(const struct door *d)
{
	return d->port;
}

void
door_close(struct door *d)
{
	atomic_store(&d->closing, true);
	kick(d);
}

bool
door_closed(const struct door *d)
{
	return atomic_load(&d->closed);
}

void
door_free(struct door *d)
{
	if (!d)
		return;
	atomic_store(&d->ending, true);
	kick(d);
	thread_join(d->thread);
	if (d->kick >= 0)
		(void)close(d->kick);
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}
