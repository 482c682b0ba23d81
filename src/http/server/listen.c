#include "http/server/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/server/limits.h"
#include "http/url.h"

#define BACKLOG 1024

/* Host and port apart, as text for getaddrinfo. An empty host means all. */
static int
split(const char *address, char host[256], char port[8], struct err *e)
{
	struct str s = str_of(address), h;
	const char *colon = strrchr(address, ':');
	int64_t number;

	if (!colon)
		return err_set(
		    e, ERR_INVALID, "listen %s: no port; HOST:PORT", address);
	h = (struct str){address, (size_t)(colon - address)};
	s = str_from(s, h.n + 1);
	if (!str_int(s, &number) || number < 0 || number > 65535)
		return err_set(e, ERR_INVALID,
		    "listen %s: the port must be 0 to 65535", address);
	if (h.n > 1 && h.p[0] == '[' && h.p[h.n - 1] == ']')
		h = (struct str){h.p + 1, h.n - 2};
	else if (str_has(h, ':'))
		return err_set(e, ERR_INVALID,
		    "listen %s: write an IPv6 address in brackets", address);
	if (h.n >= 256)
		return err_set(e, ERR_INVALID, "listen: host is too long");
	(void)snprintf(host, 256, "%.*s", STR_ARG(h));
	(void)snprintf(port, 8, "%lld", (long long)number);
	return OK;
}

/* Where the port stands, which is the same place in both families. */
static in_port_t *
port_in(struct sockaddr *sa)
{
	return &((struct sockaddr_in *)(void *)sa)->sin_port;
}

static int
port_of(int fd)
{
	union addr sa = {.sa = {.sa_family = AF_UNSPEC}};
	socklen_t n = sizeof(sa);

	return getsockname(fd, &sa.sa, &n) < 0 ? 0 : ntohs(*port_in(&sa.sa));
}

/* A listening socket or -1 with errno. `all` takes IPv4 on an IPv6 socket. */
static int
open_one(const struct addrinfo *ai, bool all)
{
	int fd = socket(ai->ai_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, ai->ai_protocol);
	int yes = 1, only = !all, kept;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (ai->ai_family == AF_INET6)
		(void)setsockopt(
		    fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	kept = errno;
	(void)close(fd);
	errno = kept;
	return -1;
}

static int
open_all(struct addrinfo *list, bool all, int fds[LISTEN_MAX], size_t *ret_n,
    int *ret_port)
{
	int port = 0, failed = EADDRNOTAVAIL;
	size_t n = 0;

	for (struct addrinfo *ai = list; ai && n < LISTEN_MAX;
	     ai = ai->ai_next) {
		if (port > 0)
			*port_in(ai->ai_addr) = htons((uint16_t)port);
		fds[n] = open_one(ai, all);
		if (fds[n] < 0) {
			failed = errno;
			/* Without IPv6 there may be ::1 in the hosts file. */
			if (failed == EAFNOSUPPORT || failed == EADDRNOTAVAIL)
				continue;
			while (n > 0)
				(void)close(fds[--n]);
			return failed;
		}
		port = port_of(fds[n++]);
		if (all && ai->ai_family == AF_INET6)
			break; /* it takes IPv4 too */
	}
	if (n == 0)
		return failed;
	*ret_n = n;
	*ret_port = port;
	return 0;
}

/* Of two families, IPv6 first: one socket can then serve both. */
static struct addrinfo *
six_first(struct addrinfo *list)
{
	struct addrinfo *six = NULL, *other = NULL, **s = &six, **o = &other;

	for (; list; list = list->ai_next) {
		struct addrinfo ***end = list->ai_family == AF_INET6 ? &s : &o;

		**end = list;
		*end = &list->ai_next;
	}
	*o = NULL;
	*s = other;
	return six;
}

int
listen_tcp(const char *address, int ret_fds[LISTEN_MAX], size_t *ret_n,
    int *ret_port, struct err *e)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_PASSIVE};
	struct addrinfo *list = NULL;
	char host[256], port[8];
	bool all;
	int rc;

	TRY(split(address, host, port, e));
	all = host[0] == '\0';
	rc = getaddrinfo(all ? NULL : host, port, &hints, &list);
	if (rc != 0)
		return err_set(
		    e, ERR_INVALID, "listen %s: %s", address, gai_strerror(rc));
	if (all)
		list = six_first(list);
	rc = open_all(list, all, ret_fds, ret_n, ret_port);
	freeaddrinfo(list);
	if (rc != 0)
		return err_set(
		    e, ERR_IO, "listen %s: %s", address, strerror(rc));
	return OK;
}

bool
listen_admit(int fd, bool local)
{
	int yes = 1, unsent = HTTP_UNSENT_MAX;
	struct ucred who;
	socklen_t n = sizeof(who);

	/* Only the owner of the data folder and root come in by the file. */
	if (local)
		return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
		       (who.uid == geteuid() || who.uid == 0);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)setsockopt(
	    fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	return true;
}

/* Is somebody there? A file that nobody listens on is left over. */
static bool
answers(const struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool yes;

	if (fd < 0)
		return false;
	yes = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ||
	      errno == EAGAIN;
	(void)close(fd);
	return yes;
}

int
listen_unix(const char *path, int *ret_fd, struct err *e)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	struct stat st;
	int fd;

	if (n >= sizeof(sa.sun_path))
		return err_set(e, ERR_INVALID,
		    "socket %s: the path is over %zu bytes", path,
		    sizeof(sa.sun_path) - 1);
	memcpy(sa.sun_path, path, n + 1);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		if (answers(&sa))
			return err_set(e, ERR_CONFLICT,
			    "socket %s: another server runs here", path);
		(void)unlink(path);
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* The mode of the socket becomes that of the file: no gap, no umask. */
	if (fd >= 0 && fchmod(fd, 0600) == 0 &&
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	    listen(fd, BACKLOG) == 0) {
		*ret_fd = fd;
		return OK;
	}
	(void)err_set(e, ERR_IO, "socket %s: %s", path, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return ERR_IO;
}
