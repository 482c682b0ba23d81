#include "match/jq/jq_child.h"

#include <fcntl.h>
#include <jq.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cage/cage.h"
#include "cage/shut.h"
#include "match/jq/jq.h"
#include "match/jq/jq_wire.h"
#include "match/limits.h"

struct program {
	char *text;   /* NULL: dropped */
	jq_state *jq; /* NULL: not compiled yet */
};

struct child {
	struct program *programs; /* by id */
	size_t cap;
	jv input;
	struct buf request, answer;
	char fault[JQ_REASON_MAX]; /* the first that jq said while compiling */
	int pipe[2];               /* from the worker to the keeper */
};

/* Running --------------------------------------------------------------------- */

static void
no_memory(void *)
{
	cage_leave(CAGE_EXIT_MEMORY);
}

/* A part of z that ends between two characters. */
static struct str
cut(const char *z, size_t n)
{
	struct str s = {z, n < JQ_REASON_MAX ? n : JQ_REASON_MAX - 1};

	s.n = str_utf8_bad(s);
	return s;
}

static void
answer(struct child *c, enum jq_verdict verdict, struct str text)
{
	struct jq_ans a = {.verdict = verdict, .bytes = (uint32_t)text.n};

	buf_add(&c->answer, (struct str){(const char *)&a, sizeof(a)});
	buf_add(&c->answer, text);
}

static void
note_fault(void *ctx, jv msg)
{
	struct child *c = ctx;
	jv text = jq_format_error(msg);

	if (c->fault[0] == '\0') {
		struct str s = cut(jv_string_value(text),
		    (size_t)jv_string_length_bytes(jv_copy(text)));

		memcpy(c->fault, s.p, s.n);
		c->fault[s.n] = '\0';
	}
	jv_free(text);
}

/* NULL with the reason in c->fault. */
static jq_state *
compile(struct child *c, const char *text)
{
	jq_state *jq = jq_init();
	bool fine;

	if (!jq)
		cage_leave(CAGE_EXIT_MEMORY);
	c->fault[0] = '\0';
	jq_set_nomem_handler(jq, no_memory, NULL);
	jq_set_error_cb(jq, note_fault, c);
	/* Without it an import that got here would end us. */
	jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
	cage_cpu_user(JQ_COMPILE_CPU_MS);
	fine = jq_compile(jq, text);
	cage_cpu_user(0);
	if (!fine)
		jq_teardown(&jq);
	return jq;
}

static struct program *
get_program(struct child *c, int32_t id)
{
	size_t cap = c->cap;

	c->programs =
	    mem_more(c->programs, &c->cap, (size_t)id, sizeof(struct program));
	memset(c->programs + cap, 0, (c->cap - cap) * sizeof(struct program));
	return &c->programs[id];
}

static void
drop(struct program *p)
{
	if (p->jq)
		jq_teardown(&p->jq);
	free(p->text);
	*p = (struct program){.text = NULL};
}

static bool
compiled(struct child *c, struct program *p)
{
	if (p->text && !p->jq)
		p->jq = compile(c, p->text);
	return p->jq;
}

/* False: it is answered already. */
static bool
ready(struct child *c, struct program *p)
{
	if (compiled(c, p))
		return true;
	answer(c, JQ_ERROR, str_of(p->text ? c->fault : "no such program"));
	return false;
}

static void
answer_failure(struct child *c, jv invalid, const char *none)
{
	jv msg = jv_invalid_get_msg(invalid);

	if (jv_get_kind(msg) == JV_KIND_NULL) {
		answer(c, none ? JQ_ERROR : JQ_FALSE, str_of(none));
	} else {
		if (jv_get_kind(msg) != JV_KIND_STRING)
			msg = jv_dump_string(msg, 0);
		answer(c, JQ_ERROR,
		    cut(jv_string_value(msg),
			(size_t)jv_string_length_bytes(jv_copy(msg))));
	}
	jv_free(msg);
}

static void
answer_json(struct child *c, jv v)
{
	jv text = jv_dump_string(v, 0);
	struct str s = {jv_string_value(text),
	    (size_t)jv_string_length_bytes(jv_copy(text))};

	if (s.n > JQ_OUTPUT_MAX)
		answer(c, JQ_ERROR, STR("the result is over 1 MiB"));
	else
		answer(c, JQ_TRUE, s);
	jv_free(text);
}

/* The first output is the result; others are not even looked for. */
static void
run_program(struct child *c, struct program *p, bool render)
{
	jv v;

	if (!ready(c, p))
		return;
	if (!jv_is_valid(c->input)) {
		answer(c, JQ_ERROR, STR("the input is no JSON"));
		return;
	}
	cage_cpu(JQ_CPU_MS * JQ_CPU_TIMES);
	jq_start(p->jq, jv_copy(c->input), 0);
	v = jq_next(p->jq);
	if (!jv_is_valid(v)) {
		answer_failure(c, v, render ? "there is no result" : NULL);
	} else if (render) {
		answer_json(c, v);
	} else {
		jv_kind k = jv_get_kind(v);
		bool no = k == JV_KIND_NULL || k == JV_KIND_FALSE;

		answer(c, no ? JQ_FALSE : JQ_TRUE, STR_EMPTY);
		jv_free(v);
	}
	/* Lets go of the input and of what was made of it. */
	jq_start(p->jq, jv_null(), 0);
	cage_cpu(0);
}

static void
check_program(struct child *c, struct str text)
{
	char *z = mem_z(text);
	jq_state *jq = compile(c, z);

	if (jq) {
		answer(c, JQ_TRUE, STR_EMPTY);
		jq_teardown(&jq);
	} else {
		answer(c, JQ_ERROR, str_of(c->fault));
	}
	free(z);
}

static bool
run_command(struct child *c, const struct jq_cmd *cmd, struct str text)
{
	struct program *p = get_program(c, cmd->id);

	switch (cmd->op) {
	case JQ_OP_PROGRAM:
		drop(p);
		p->text = mem_z(text);
		return true;
	case JQ_OP_DROP:
		drop(p);
		return true;
	case JQ_OP_INPUT:
		jv_free(c->input);
		c->input = jv_parse_sized(text.p, (int)text.n);
		return true;
	case JQ_OP_FILTER:
	case JQ_OP_RENDER:
		run_program(c, p, cmd->op == JQ_OP_RENDER);
		return true;
	case JQ_OP_CHECK:
		check_program(c, text);
		return true;
	default:
		return false;
	}
}

/*
 * What libjq and libc do once is done before the cage is shut: glibc reads the
 * time zone from a file when dates are first used, and libjq makes its keys.
 */
static bool
warm(struct child *c)
{
	static const char DATES[] =
	    "0 | todate, (gmtime | mktime), localtime, (\"a\" | test(\"A\"; \"i\"))";
	jq_state *jq;

	if (setenv("TZ", "UTC0", 1) != 0)
		return false;
	tzset();
	jq = compile(c, DATES);
	if (!jq)
		return false;
	jq_start(jq, jv_null(), 0);
	for (jv v = jq_next(jq); jv_is_valid(v); v = jq_next(jq))
		jv_free(v);
	jq_teardown(&jq);
	return true;
}

/* The processes --------------------------------------------------------------- */

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
		if (!hand_on(c, &cmd, text) || !run_command(c, &cmd, text))
			return false;
	}
	return true;
}

static bool
serve_one(struct child *c)
{
	bool done;

	if (!cage_take(&c->request))
		return false;
	buf_clear(&c->answer);
	done = commands(c);
	jv_free(c->input);
	c->input = jv_invalid();
	return done && !c->answer.failed && cage_answer(buf_str(&c->answer));
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
		if (!run_command(c, &cmd, buf_str(&c->request)))
			return false;
		(void)compiled(c, get_program(c, cmd.id));
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
	static struct child c = {
	    .request = BUF(JQ_REQUEST_MAX), .answer = BUF(JQ_ANSWER_MAX)};

	c.input = jv_invalid();
	return warm(&c) ? &c : NULL;
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
