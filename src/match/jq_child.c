#include "match/jq_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "match/jq_cage.h"
#include "match/jq_run.h"
#include "match/jq_wire.h"

struct child {
	struct jq_run *run;
	struct buf request;
	int pipe[2]; /* from the worker to the keeper */
};

bool
jq_child_asked(int argc, char *const *argv)
{
	return argc == 2 && strcmp(argv[1], JQ_CHILD_VERB) == 0;
}

static bool
read_all(int fd, void *to, size_t n)
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

static bool
write_all(int fd, const void *from, size_t n)
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

/* What the next worker must know, the keeper must know. */
static bool
hand_on(const struct child *c, const struct jq_cmd *cmd, struct str text)
{
	if (cmd->op != JQ_OP_PROGRAM && cmd->op != JQ_OP_DROP)
		return true;
	return write_all(c->pipe[1], cmd, sizeof(*cmd)) &&
	       write_all(c->pipe[1], text.p, text.n);
}

static bool
commands(struct child *c)
{
	struct str rest = buf_str(&c->request), text;
	struct jq_cmd cmd;

	while (rest.n > 0) {
		if (rest.n < sizeof(cmd))
			return false;
		memcpy(&cmd, rest.p, sizeof(cmd));
		rest = str_from(rest, sizeof(cmd));
		if (cmd.bytes > rest.n || cmd.id < 0 ||
		    cmd.id >= JQ_PROGRAMS_MAX)
			return false;
		text = (struct str){rest.p, cmd.bytes};
		rest = str_from(rest, cmd.bytes);
		if (!hand_on(c, &cmd, text) ||
		    !jq_run_command(c->run, &cmd, text))
			return false;
	}
	return true;
}

static bool
serve(struct child *c)
{
	struct str answer;
	uint32_t bytes;
	char *to;

	if (!read_all(JQ_CHILD_FD, &bytes, sizeof(bytes)))
		return false;
	buf_clear(&c->request);
	to = buf_room(&c->request, bytes);
	if (!to || !read_all(JQ_CHILD_FD, to, bytes))
		return false;
	c->request.n += bytes;
	jq_run_begin(c->run);
	if (!commands(c) || !jq_run_end(c->run, &answer))
		return false;
	bytes = (uint32_t)answer.n;
	return write_all(JQ_CHILD_FD, &bytes, sizeof(bytes)) &&
	       write_all(JQ_CHILD_FD, answer.p, answer.n);
}

static _Noreturn void
work(struct child *c, pid_t keeper)
{
	(void)close(c->pipe[0]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != keeper ||
	    !jq_cage(JQ_CAGE_WORKER))
		jq_run_leave(1);
	while (serve(c))
		continue;
	jq_run_leave(0);
}

/* Compiles what the worker hands on, until that ends. */
static bool
keep(struct child *c)
{
	struct jq_cmd cmd;
	char *to;

	while (read_all(c->pipe[0], &cmd, sizeof(cmd))) {
		buf_clear(&c->request);
		to = buf_room(&c->request, cmd.bytes);
		if (!to || !read_all(c->pipe[0], to, cmd.bytes))
			return false;
		c->request.n += cmd.bytes;
		if (!jq_run_command(c->run, &cmd, buf_str(&c->request)))
			return false;
		jq_run_compile(c->run, cmd.id);
	}
	return true;
}

/* Did it end while it ran a program, and so with its request read? */
static bool
in_a_program(int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return code == JQ_EXIT_MEMORY || sig == SIGPROF || sig == SIGVTALRM ||
	       sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT ||
	       sig == SIGSYS;
}

/* One worker's life. False: there must not be another. */
static bool
worker(struct child *c)
{
	struct {
		uint32_t bytes;
		int32_t status;
	} notice = {.bytes = JQ_ENDED};
	pid_t keeper = getpid(), pid;
	bool kept;
	int status;

	if (pipe2(c->pipe, O_CLOEXEC) != 0)
		return false;
	pid = fork();
	if (pid == 0)
		work(c, keeper);
	(void)close(c->pipe[1]);
	kept = pid > 0 && keep(c);
	(void)close(c->pipe[0]);
	if (!kept || waitpid(pid, &status, 0) != pid || !in_a_program(status))
		return false;
	notice.status = status;
	return write_all(JQ_CHILD_FD, &notice, sizeof(notice));
}

int
jq_child_run(void)
{
	struct child c = {.request = BUF(JQ_REQUEST_MAX)};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int type = 0;
	socklen_t n = sizeof(type);

	if (getsockopt(JQ_CHILD_FD, SOL_SOCKET, SO_TYPE, &type, &n) != 0) {
		(void)fputs("hikyaku: jq-child is for the server\n", stderr);
		return 2;
	}
	c.run = jq_run_new();
	if (!c.run || sigaction(SIGPIPE, &ignore, NULL) != 0 ||
	    !jq_cage(JQ_CAGE_KEEPER) ||
	    !write_all(JQ_CHILD_FD, "", 1)) /* we are ready */
		jq_run_leave(1);
	while (worker(&c))
		continue;
	jq_run_leave(0);
}
