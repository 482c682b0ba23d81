#include "cage/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log/metric.h"
#include "cage/cage.h"
#include "cage/limits.h"

#define BURY_MS 1000 /* from the end of its socket to that of the child */

/* Signals as new, no terminal of ours, and a program that can't be reached by
 * what is typed there. */
static int
attributes(posix_spawnattr_t *a)
{
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawnattr_setsigmask(a, &none) != 0 ||
	    posix_spawnattr_setsigdefault(a, &all) != 0)
		return -1;
	return posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETSID);
}

static int
actions(posix_spawn_file_actions_t *f, int fd)
{
	int rc = posix_spawn_file_actions_adddup2(f, fd, CAGE_FD);

	for (int std = 0; std < CAGE_FD && rc == 0; std++)
		rc = posix_spawn_file_actions_addopen(
		    f, std, "/dev/null", O_RDWR, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(f, CAGE_FD + 1);
	return rc;
}

/* 0 or an errno. */
static int
spawn(const struct proc *p, int fd, pid_t *ret)
{
	char name[] = "hikyaku", verb[32];
	char *argv[] = {name, verb, NULL}, *env[] = {NULL};
	posix_spawn_file_actions_t f;
	posix_spawnattr_t a;
	int rc = posix_spawn_file_actions_init(&f);

	(void)snprintf(verb, sizeof(verb), "%s", p->kind->verb);
	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&a);
	if (rc == 0) {
		rc = actions(&f, fd);
		if (rc == 0)
			rc = attributes(&a);
		if (rc == 0)
			rc = posix_spawn(ret, p->exe, &f, &a, argv, env);
		(void)posix_spawnattr_destroy(&a);
	}
	(void)posix_spawn_file_actions_destroy(&f);
	return rc;
}

static void
one_more_death(struct proc *p)
{
	int64_t wait = CAGE_BACKOFF_MS;

	if (++p->deaths <= CAGE_DEATHS_FREE)
		return;
	for (unsigned i = CAGE_DEATHS_FREE + 1;
	     i < p->deaths && wait < CAGE_BACKOFF_MAX_MS; i++)
		wait *= 2;
	p->not_before_ms =
	    clock_mono_ms() +
	    (wait < CAGE_BACKOFF_MAX_MS ? wait : CAGE_BACKOFF_MAX_MS);
}

static int
away(struct proc *p, struct err *e, const char *why)
{
	int64_t wait = p->not_before_ms - clock_mono_ms();

	(void)err_set(e, ERR_AWAY, "%s: %s", p->kind->can_not, why);
	e->retry_after_s = wait > 0 ? (int)(wait / 1000) + 1 : 1;
	return ERR_AWAY;
}

static const struct cage_end ENDS[] = {
    {SIGSYS, 0, "tried what it may not do", false},
    {SIGSEGV, 0, "went too deep and crashed", false},
    {SIGBUS, 0, "went too deep and crashed", false},
    {SIGKILL, 0, "was killed", false},
};

static const struct cage_end *
find_end(const struct cage_end *ends, size_t n, int sig, int code)
{
	for (size_t i = 0; i < n; i++)
		if (ends[i].sig == sig && ends[i].code == code)
			return &ends[i];
	return NULL;
}

static void
tell_end(struct proc *p, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const struct cage_end *end =
	    find_end(p->kind->ends, p->kind->n_ends, sig, code);

	if (!end)
		end = find_end(ENDS, COUNT_OF(ENDS), sig, code);
	p->how = end ? end->words : "crashed";
	p->certain = end && end->certain;
}

/* Waits for the end of a child whose socket has ended. */
static int
bury(pid_t pid)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	int status = 0;

	for (int i = 0; i < BURY_MS; i++) {
		if (waitpid(pid, &status, WNOHANG) != 0)
			return status;
		(void)nanosleep(&ms, NULL);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return status;
}

static int
died(struct proc *p)
{
	int status;

	(void)close(p->fd);
	status = bury(p->pid);
	p->pid = 0;
	tell_end(p, status);
	one_more_death(p);
	return PROC_DIED;
}

void
proc_stop(struct proc *p)
{
	if (p->pid == 0)
		return;
	(void)close(p->fd);
	(void)kill(p->pid, SIGKILL);
	(void)bury(p->pid);
	p->pid = 0;
}

/* An error when the time is up. */
static int
wait_for(struct proc *p, short events, struct err *e)
{
	struct pollfd f = {.fd = p->fd, .events = events};
	int64_t left = p->until_ms - clock_mono_ms();
	int n = left > 0 ? poll(&f, 1, (int)left) : 0;

	if (n > 0 || (n < 0 && errno == EINTR))
		return OK;
	proc_stop(p);
	p->how = "there was no answer in time";
	p->certain = false;
	one_more_death(p);
	return away(p, e, p->how);
}

static bool
again(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Drops what was sent. */
static struct iovec *
sent(struct iovec *v, size_t *n, size_t bytes)
{
	while (*n > 0 && bytes >= v->iov_len) {
		bytes -= v->iov_len;
		v++;
		(*n)--;
	}
	if (*n > 0) {
		v->iov_base = (char *)v->iov_base + bytes;
		v->iov_len -= bytes;
	}
	return v;
}

/* In one call, as a rule: the child is woken once, and finds all of it. */
static int
send_all(struct proc *p, struct iovec *v, size_t n, struct err *e)
{
	while (n > 0) {
		struct msghdr m = {.msg_iov = v, .msg_iovlen = n};
		ssize_t put = sendmsg(p->fd, &m, MSG_NOSIGNAL);

		if (put >= 0)
			v = sent(v, &n, (size_t)put);
		else if (!again())
			return died(p);
		else
			TRY(wait_for(p, POLLOUT, e));
	}
	return OK;
}

static int
receive(struct proc *p, char *to, size_t n, struct err *e)
{
	while (n > 0) {
		ssize_t got = recv(p->fd, to, n, 0);

		if (got > 0) {
			to += got;
			n -= (size_t)got;
		} else if (got == 0 || !again()) {
			return died(p);
		} else {
			TRY(wait_for(p, POLLIN, e));
		}
	}
	return OK;
}

/* The byte that a child sends when it is caged and ready. */
static int
greeted(struct proc *p, struct err *e)
{
	char hello;
	int rc;

	p->until_ms = clock_mono_ms() + p->kind->wall_ms;
	rc = receive(p, &hello, 1, e);
	return rc == PROC_DIED ? away(p, e, "their process does not start")
			       : rc;
}

int
proc_start(struct proc *p, struct err *e)
{
	int ends[2], rc;

	if (p->pid > 0)
		return OK;
	if (clock_mono_ms() < p->not_before_ms)
		return away(p, e, "the last start failed");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return away(p, e, strerrordesc_np(errno));
	rc = spawn(p, ends[1], &p->pid);
	(void)close(ends[1]);
	if (rc != 0) {
		(void)close(ends[0]);
		p->pid = 0;
		one_more_death(p);
		return away(p, e, strerrordesc_np(rc));
	}
	p->fd = ends[0];
	(void)fcntl(p->fd, F_SETFL, O_NONBLOCK);
	p->life++;
	metric_add(M_CAGE_STARTS, 1);
	return greeted(p, e);
}

/* The worker is gone; its keeper has made another. */
static int
ended(struct proc *p, struct err *e)
{
	int32_t status;
	int rc = receive(p, (char *)&status, sizeof(status), e);

	if (rc != OK)
		return rc;
	tell_end(p, status);
	return PROC_DIED;
}

int
proc_send(struct proc *p, const struct str *parts, size_t n,
    uint32_t *ret_bytes, struct err *e)
{
	struct iovec v[1 + PROC_PARTS_MAX];
	uint32_t bytes = 0;
	int rc;

	assert(n <= PROC_PARTS_MAX);
	v[0] = (struct iovec){&bytes, sizeof(bytes)};
	for (size_t i = 0; i < n; i++) {
		/* Only read. */
		v[1 + i].iov_base = (char *)(uintptr_t)parts[i].p;
		v[1 + i].iov_len = parts[i].n;
		bytes += (uint32_t)parts[i].n;
	}
	p->until_ms = clock_mono_ms() + p->kind->wall_ms;
	rc = send_all(p, v, 1 + n, e);
	if (rc == OK)
		rc = receive(p, (char *)&bytes, sizeof(bytes), e);
	if (rc == OK && bytes == CAGE_ENDED)
		return ended(p, e);
	if (rc == OK)
		*ret_bytes = bytes;
	return rc;
}

int
proc_receive(struct proc *p, char *to, size_t n, struct err *e)
{
	int rc = receive(p, to, n, e);

	if (rc == OK)
		p->deaths = 0;
	return rc;
}

int
proc_ask(
    struct proc *p, struct str request, struct buf *ret_answer, struct err *e)
{
	uint32_t bytes = 0;
	char *to;
	int rc = proc_send(p, &request, 1, &bytes, e);

	if (rc != OK)
		return rc;
	buf_clear(ret_answer);
	to = buf_room(ret_answer, bytes);
	if (!to) {
		proc_stop(p);
		return err_set(
		    e, ERR_LIMIT, "an answer of %s is too long", p->kind->verb);
	}
	rc = proc_receive(p, to, bytes, e);
	if (rc == OK)
		ret_answer->n += bytes;
	return rc;
}

void
proc_blamed(struct proc *p)
{
	p->deaths = 0;
	p->not_before_ms = 0;
}
