#include "match/jq_child.h"

#include <errno.h>
#include <jq.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "match/jq.h"
#include "match/jq_cage.h"
#include "match/jq_wire.h"

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
};

static volatile sig_atomic_t status_late;

bool
jq_child_asked(int argc, char *const *argv)
{
	return argc == 2 && strcmp(argv[1], JQ_CHILD_VERB) == 0;
}

/* Not by _exit(), where a sanitizer would look for leaks: the cage is shut. */
static _Noreturn void
leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

static void
too_late(int sig)
{
	(void)sig;
	leave(status_late);
}

static void
no_memory(void *ctx)
{
	(void)ctx;
	leave(JQ_EXIT_MEMORY);
}

/* Ends the process when so much CPU is used from now on; 0: no more. */
static void
cpu_limit(int ms, int status)
{
	struct itimerval t = {
	    .it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};

	status_late = status;
	(void)setitimer(ITIMER_PROF, &t, NULL);
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
		leave(JQ_EXIT_MEMORY);
	c->fault[0] = '\0';
	jq_set_nomem_handler(jq, no_memory, NULL);
	jq_set_error_cb(jq, note_fault, c);
	/* Without it an import that got here would end us. */
	jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
	cpu_limit(JQ_COMPILE_CPU_MS, JQ_EXIT_COMPILE);
	fine = jq_compile(jq, text);
	cpu_limit(0, 0);
	if (!fine)
		jq_teardown(&jq);
	return jq;
}

static struct program *
get_program(struct child *c, int32_t id)
{
	size_t cap = c->cap;

	while (cap <= (size_t)id)
		cap = cap ? 2 * cap : 64;
	if (cap > c->cap) {
		c->programs =
		    realloc(c->programs, cap * sizeof(struct program));
		if (!c->programs)
			leave(JQ_EXIT_MEMORY);
		memset(c->programs + c->cap, 0,
		    (cap - c->cap) * sizeof(struct program));
		c->cap = cap;
	}
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

static char *
dup_z(struct str s)
{
	char *z = strndup(s.p, s.n);

	if (!z)
		leave(JQ_EXIT_MEMORY);
	return z;
}

static void
set_program(struct child *c, int32_t id, struct str text)
{
	struct program *p = get_program(c, id);

	drop(p);
	p->text = dup_z(text);
}

/* False: it is answered already. */
static bool
ready(struct child *c, struct program *p)
{
	if (p->text && !p->jq)
		p->jq = compile(c, p->text);
	if (p->jq)
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
run(struct child *c, struct program *p, bool render)
{
	jv v;

	if (!ready(c, p))
		return;
	if (!jv_is_valid(c->input)) {
		answer(c, JQ_ERROR, STR("the input is no JSON"));
		return;
	}
	cpu_limit(JQ_CPU_MS, JQ_EXIT_CPU);
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
	cpu_limit(0, 0);
}

static void
check(struct child *c, struct str text)
{
	char *z = dup_z(text);
	jq_state *jq = compile(c, z);

	if (jq) {
		answer(c, JQ_TRUE, STR_EMPTY);
		jq_teardown(&jq);
	} else {
		answer(c, JQ_ERROR, str_of(c->fault));
	}
	free(z);
}

static void
set_input(struct child *c, struct str json)
{
	jv_free(c->input);
	c->input = jv_parse_sized(json.p, (int)json.n);
}

static bool
command(struct child *c, const struct jq_cmd *cmd, struct str text)
{
	switch (cmd->op) {
	case JQ_OP_PROGRAM:
		set_program(c, cmd->id, text);
		return true;
	case JQ_OP_DROP:
		drop(get_program(c, cmd->id));
		return true;
	case JQ_OP_INPUT:
		set_input(c, text);
		return true;
	case JQ_OP_FILTER:
		run(c, get_program(c, cmd->id), false);
		return true;
	case JQ_OP_RENDER:
		run(c, get_program(c, cmd->id), true);
		return true;
	case JQ_OP_CHECK:
		check(c, text);
		return true;
	default:
		return false;
	}
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
		if (!command(c, &cmd, text))
			return false;
	}
	jv_free(c->input);
	c->input = jv_invalid();
	return !c->answer.failed;
}

static bool
read_all(void *to, size_t n)
{
	char *p = to;

	while (n > 0) {
		ssize_t got = read(JQ_CHILD_FD, p, n);

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
write_all(const void *from, size_t n)
{
	const char *p = from;

	while (n > 0) {
		ssize_t put = write(JQ_CHILD_FD, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

static bool
serve(struct child *c)
{
	uint32_t bytes;
	char *to;

	if (!read_all(&bytes, sizeof(bytes)))
		return false;
	buf_clear(&c->request);
	to = buf_room(&c->request, bytes);
	if (!to || !read_all(to, bytes))
		return false;
	c->request.n += bytes;
	buf_clear(&c->answer);
	if (!commands(c))
		return false;
	bytes = (uint32_t)c->answer.n;
	return write_all(&bytes, sizeof(bytes)) &&
	       write_all(c->answer.p, c->answer.n);
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

int
jq_child_run(void)
{
	struct child c = {.input = jv_invalid(),
	    .request = BUF(JQ_REQUEST_MAX),
	    .answer = BUF(JQ_ANSWER_MAX)};
	struct sigaction late = {.sa_handler = too_late};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int type = 0;
	socklen_t n = sizeof(type);

	if (getsockopt(JQ_CHILD_FD, SOL_SOCKET, SO_TYPE, &type, &n) != 0) {
		(void)fputs("hikyaku: jq-child is for the server\n", stderr);
		return 2;
	}
	if (sigaction(SIGPROF, &late, NULL) != 0 ||
	    sigaction(SIGPIPE, &ignore, NULL) != 0 || !warm(&c) || !jq_cage() ||
	    !write_all("", 1)) /* says that we are ready */
		return 1;
	while (serve(&c))
		continue;
	leave(0);
}
