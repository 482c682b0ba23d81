#include "http/server/linger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS 2000

void
linger_add(struct linger_list *l, int fd, int64_t now_ms)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	size_t i = 0;

	if (copy < 0)
		return;
	if (l->n < HTTP_LINGER_MAX) {
		i = l->n++;
	} else { /* the oldest had the most time to read its answer */
		for (size_t k = 1; k < HTTP_LINGER_MAX; k++)
			if (l->v[k].until_ms < l->v[i].until_ms)
				i = k;
		(void)close(l->v[i].fd);
	}
	l->v[i].fd = copy;
	l->v[i].until_ms = now_ms + LINGER_MS;
}

/* Reads what still comes; false once it is over. */
static bool
lingers(int fd, int64_t until_ms, int64_t now_ms)
{
	char drop[4096];
	ssize_t n;

	for (int i = 0; i < 1024 && now_ms < until_ms; i++) {
		n = recv(fd, drop, sizeof(drop), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
	}
	return now_ms < until_ms;
}

void
linger_look(struct linger_list *l, int64_t now_ms, bool end_all)
{
	for (size_t i = 0; i < l->n;) {
		if (!end_all && lingers(l->v[i].fd, l->v[i].until_ms, now_ms)) {
			i++;
			continue;
		}
		(void)close(l->v[i].fd);
		l->v[i] = l->v[--l->n];
	}
}
