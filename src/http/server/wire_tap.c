/*
 * Where wire.h gets its bytes from: libmicrohttpd has no place to put a reader
 * of one's own, but calls recv(), and inside of TLS gnutls_record_recv(), by
 * their names. The program's own functions of these names come first, for it and
 * for all of its libraries (the ELF rule by which allocators are replaced). They
 * do what the others do, and for a socket of the server more.
 *
 * conn_request.c refuses a request whose bytes did not come through here, so a
 * libmicrohttpd that reads in another way serves nothing, rather than unseen.
 */
#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "http/server/limits.h"
#include "http/server/wire.h"

/* By the number of the socket. A slot is set and cleared by the http thread that
 * reads the socket, before its first and after its last read. */
static _Atomic(struct wire *) wires[HTTP_FDS_MAX];

struct origin {
	int fd;
	int flags;
	gnutls_session_t session; /* NULL: the socket itself */
};

bool
wire_tap(int fd, struct wire *w)
{
	if (fd < 0 || fd >= HTTP_FDS_MAX)
		return false;
	atomic_store_explicit(&wires[fd], w, memory_order_relaxed);
	return true;
}

static struct wire *
wire_of(int fd, bool tls)
{
	struct wire *w =
	    fd >= 0 && fd < HTTP_FDS_MAX
		? atomic_load_explicit(&wires[fd], memory_order_relaxed)
		: NULL;

	return w && w->tls == tls ? w : NULL;
}

static ssize_t
tls_recv(gnutls_session_t session, void *p, size_t n)
{
	static _Atomic(void *) found;
	ssize_t (*fn)(gnutls_session_t, void *, size_t);
	void *at = atomic_load(&found);

	if (!at) {
		at = dlsym(RTLD_NEXT, "gnutls_record_recv");
		atomic_store(&found, at);
	}
	if (!at)
		return GNUTLS_E_INTERNAL_ERROR;
	memcpy(&fn, &at, sizeof(fn));
	return fn(session, p, n);
}

static ssize_t
from(const struct origin *o, void *p, size_t n)
{
	return o->session ? tls_recv(o->session, p, n)
			  : recvfrom(o->fd, p, n, o->flags, NULL, NULL);
}

/*
 * Less than was asked for means to libmicrohttpd that there is no more: so
 * where bytes were dropped it is filled up.
 */
static ssize_t
receive(struct wire *w, const struct origin *o, char *p, size_t n)
{
	size_t have = 0;
	bool more = true;

	while (have < n && more) {
		char byte, *to = p + have;
		size_t want = n - have;
		ssize_t got;

		if (w->give_n > 0) {
			have += wire_give(w, to, want);
			continue;
		}
		if (w->state == WIRE_STOPPED)
			break;
		if (wire_holds(w)) {
			to = &byte;
			want = 1;
		}
		got = from(o, to, want);
		if (got == 0 && wire_hides_end(w))
			break;
		if (got <= 0 && have == 0)
			return got;
		if (got <= 0)
			break;
		if (to == &byte)
			(void)wire_take(w, to, 1);
		else
			have += wire_take(w, to, (size_t)got);
		more = (size_t)got == want || w->give_n > 0;
	}
	if (have > 0)
		return (ssize_t)have;
	errno = EAGAIN;
	return o->session ? GNUTLS_E_AGAIN : -1;
}

ssize_t
recv(int fd, void *p, size_t n, int flags)
{
	struct origin o = {.fd = fd, .flags = flags};
	struct wire *w = wire_of(fd, false);

	return w ? receive(w, &o, p, n) : from(&o, p, n);
}

ssize_t
gnutls_record_recv(gnutls_session_t session, void *p, size_t n)
{
	struct origin o = {.session = session};
	struct wire *w = wire_of(gnutls_transport_get_int(session), true);

	return w ? receive(w, &o, p, n) : from(&o, p, n);
}
