#include "cage/cage.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cage/shut.h"

_Noreturn void
cage_leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

bool
cage_read(int fd, void *to, size_t n)
{
	char *p = to;

	while (n > 0) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

bool
cage_write(int fd, const void *from, size_t n)
{
	const char *p = from;

	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

bool
cage_take(struct buf *to)
{
	uint32_t bytes;
	char *at;

	if (!cage_read(CAGE_FD, &bytes, sizeof(bytes)))
		return false;
	buf_clear(to);
	at = buf_room(to, bytes);
	if (!at || !cage_read(CAGE_FD, at, bytes))
		return false;
	to->n += bytes;
	return true;
}

bool
cage_answer(struct str answer)
{
	uint32_t bytes = (uint32_t)answer.n;
	char *from = (char *)(uintptr_t)answer.p; /* only read */
	struct iovec parts[] = {{&bytes, sizeof(bytes)}, {from, answer.n}};
	size_t put;
	ssize_t n;

	/* In one call: who waits is woken once, and finds all of it. */
	do
		n = writev(CAGE_FD, parts, 2);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(bytes))
		return false;
	put = (size_t)n - sizeof(bytes);
	return cage_write(CAGE_FD, answer.p + put, answer.n - put);
}

static void
cpu_limit(enum __itimer_which timer, int ms)
{
	struct itimerval t = {
	    .it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};

	(void)setitimer(timer, &t, NULL);
}

void
cage_cpu(int ms)
{
	cpu_limit(ITIMER_PROF, ms);
}

void
cage_cpu_user(int ms)
{
	cpu_limit(ITIMER_VIRTUAL, ms);
}

static int
serve(const struct cage_kind *k)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int type = 0;
	socklen_t n = sizeof(type);
	void *ctx;

	if (getsockopt(CAGE_FD, SOL_SOCKET, SO_TYPE, &type, &n) != 0) {
		(void)fprintf(
		    stderr, "hikyaku: %s is for the server\n", k->verb);
		return 2;
	}
	ctx = k->prepare();
	if (!ctx || sigaction(SIGPIPE, &ignore, NULL) != 0 ||
	    !shut_bounds(k->memory_max) ||
	    !shut_calls(k->forking ? SHUT_FORKING : SHUT_ALONE) ||
	    !cage_write(CAGE_FD, "", 1)) /* we are ready */
		cage_leave(1);
	k->serve(ctx);
	cage_leave(0);
}

int
cage_main(const struct cage_kind *const *kinds, int argc, char *const *argv)
{
	for (; argc == 2 && *kinds; kinds++)
		if (strcmp(argv[1], (*kinds)->verb) == 0)
			return serve(*kinds);
	return -1;
}
