#include "match/jq/jq_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cage/cage.h"
#include "cage/shut.h"
#include "match/jq/jq_run.h"
#include "match/jq/jq_wire.h"

struct child {
	struct jq_run *run;
	struct buf request;
	int pipe[2]; /* from the worker to the keeper */
};

/* What the next worker must know, the keeper must know. */
static bool
hand_on(const struct child *c, const struct jq_cmd *cmd, struct str text)
{
	if (cmd->op != JQ_OP_PROGRAM && cmd->op != JQ_OP_DROP)
		return true;
	return cage_write(c->pipe[1], cmd, sizeof(*cmd)) &&
	       cage_write(c->pipe[1], text.p, text.n);
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
serve_one(struct child *c)
{
	struct str answer;

	if (!cage_take(&c->request))
		return false;
	jq_run_begin(c->run);
	return commands(c) && jq_run_end(c->run, &answer) &&
	       cage_answer(answer);
}

static _Noreturn void
work(struct child *c, pid_t keeper)
{
	(void)close(c->pipe[0]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != keeper ||
	    !shut_calls(SHUT_ALONE))
		cage_leave(1);
	while (serve_one(c))
		continue;
	cage_leave(0);
}

/* Compiles what the worker hands on, until that ends. */
static bool
jq_child_keep(struct child *c)
{
	struct jq_cmd cmd;
	char *to;

	while (cage_read(c->pipe[0], &cmd, sizeof(cmd))) {
		buf_clear(&c->request);
		to = buf_room(&c->request, cmd.bytes);
		if (!to || !cage_read(c->pipe[0], to, cmd.bytes))
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

	return code == CAGE_EXIT_MEMORY || sig == SIGPROF || sig == SIGVTALRM ||
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
	} notice = {.bytes = CAGE_ENDED};
	pid_t keeper = getpid(), pid;
	bool kept;
	int status;

	if (pipe2(c->pipe, O_CLOEXEC) != 0)
		return false;
	pid = fork();
	if (pid == 0)
		work(c, keeper);
	(void)close(c->pipe[1]);
	kept = pid > 0 && jq_child_keep(c);
	(void)close(c->pipe[0]);
	if (!kept || waitpid(pid, &status, 0) != pid || !in_a_program(status))
		return false;
	notice.status = status;
	return cage_write(CAGE_FD, &notice, sizeof(notice));
}

static void *
jq_child_prepare(void)
{
	static struct child c = {.request = BUF(JQ_REQUEST_MAX)};

	c.run = jq_run_new();
	return c.run ? &c : NULL;
}

static void
serve(void *ctx)
{
	while (worker(ctx))
		continue;
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x) /* of a limit */

static const struct cage_end ENDS[] = {
    {SIGPROF, 0, "took more than " TEXT(JQ_CPU_MS) " ms of CPU time", true},
    {SIGVTALRM, 0,
	"took more than " TEXT(JQ_COMPILE_CPU_MS) " ms of CPU time to compile",
	false},
    {0, CAGE_EXIT_MEMORY, "took more memory than a program may have", false},
    {SIGSYS, 0, "tried what a program may not do", false},
};

const struct cage_kind JQ_CHILD = {
    .verb = "jq-child",
    .can_not = "jq programs can't be run now",
    .ends = ENDS,
    .n_ends = COUNT_OF(ENDS),
    .memory_max = JQ_MEMORY_MAX,
    .wall_ms = JQ_WALL_MS,
    .forking = true,
    .prepare = jq_child_prepare,
    .serve = serve,
};
