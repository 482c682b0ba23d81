#include "match/jq/jq_run.h"

#include <jq.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "cage/cage.h"
#include "match/jq/jq.h"
#include "match/jq/jq_wire.h"
#include "match/limits.h"

struct program {
	char *text;   /* NULL: dropped */
	jq_state *jq; /* NULL: not compiled yet */
};

struct jq_run {
	struct program *programs; /* by id */
	size_t cap;
	jv input;
	struct buf answer;
	char fault[JQ_REASON_MAX]; /* the first that jq said while compiling */
};

static void
no_memory(void *ctx)
{
	(void)ctx;
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
jq_run_answer(struct jq_run *r, enum jq_verdict verdict, struct str text)
{
	struct jq_ans a = {.verdict = verdict, .bytes = (uint32_t)text.n};

	buf_add(&r->answer, (struct str){(const char *)&a, sizeof(a)});
	buf_add(&r->answer, text);
}

static void
note_fault(void *ctx, jv msg)
{
	struct jq_run *r = ctx;
	jv text = jq_format_error(msg);

	if (r->fault[0] == '\0') {
		struct str s = cut(jv_string_value(text),
		    (size_t)jv_string_length_bytes(jv_copy(text)));

		memcpy(r->fault, s.p, s.n);
		r->fault[s.n] = '\0';
	}
	jv_free(text);
}

/* NULL with the reason in r->fault. */
static jq_state *
compile(struct jq_run *r, const char *text)
{
	jq_state *jq = jq_init();
	bool fine;

	if (!jq)
		cage_leave(CAGE_EXIT_MEMORY);
	r->fault[0] = '\0';
	jq_set_nomem_handler(jq, no_memory, NULL);
	jq_set_error_cb(jq, note_fault, r);
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
get_program(struct jq_run *r, int32_t id)
{
	size_t cap = r->cap;

	r->programs =
	    mem_more(r->programs, &r->cap, (size_t)id, sizeof(struct program));
	memset(r->programs + cap, 0, (r->cap - cap) * sizeof(struct program));
	return &r->programs[id];
}

static void
drop(struct program *p)
{
	if (p->jq)
		jq_teardown(&p->jq);
	free(p->text);
	*p = (struct program){.text = NULL};
}

static void
set_program(struct jq_run *r, int32_t id, struct str text)
{
	struct program *p = get_program(r, id);

	drop(p);
	p->text = mem_z(text);
}

/* False: it is answered already. */
static bool
ready(struct jq_run *r, struct program *p)
{
	if (p->text && !p->jq)
		p->jq = compile(r, p->text);
	if (p->jq)
		return true;
	jq_run_answer(
	    r, JQ_ERROR, str_of(p->text ? r->fault : "no such program"));
	return false;
}

static void
answer_failure(struct jq_run *r, jv invalid, const char *none)
{
	jv msg = jv_invalid_get_msg(invalid);

	if (jv_get_kind(msg) == JV_KIND_NULL) {
		jq_run_answer(r, none ? JQ_ERROR : JQ_FALSE, str_of(none));
	} else {
		if (jv_get_kind(msg) != JV_KIND_STRING)
			msg = jv_dump_string(msg, 0);
		jq_run_answer(r, JQ_ERROR,
		    cut(jv_string_value(msg),
			(size_t)jv_string_length_bytes(jv_copy(msg))));
	}
	jv_free(msg);
}

static void
answer_json(struct jq_run *r, jv v)
{
	jv text = jv_dump_string(v, 0);
	struct str s = {jv_string_value(text),
	    (size_t)jv_string_length_bytes(jv_copy(text))};

	if (s.n > JQ_OUTPUT_MAX)
		jq_run_answer(r, JQ_ERROR, STR("the result is over 1 MiB"));
	else
		jq_run_answer(r, JQ_TRUE, s);
	jv_free(text);
}

/* The first output is the result; others are not even looked for. */
static void
jq_run_it(struct jq_run *r, struct program *p, bool render)
{
	jv v;

	if (!ready(r, p))
		return;
	if (!jv_is_valid(r->input)) {
		jq_run_answer(r, JQ_ERROR, STR("the input is no JSON"));
		return;
	}
	cage_cpu(JQ_CPU_MS * JQ_CPU_TIMES);
	jq_start(p->jq, jv_copy(r->input), 0);
	v = jq_next(p->jq);
	if (!jv_is_valid(v)) {
		answer_failure(r, v, render ? "there is no result" : NULL);
	} else if (render) {
		answer_json(r, v);
	} else {
		jv_kind k = jv_get_kind(v);
		bool no = k == JV_KIND_NULL || k == JV_KIND_FALSE;

		jq_run_answer(r, no ? JQ_FALSE : JQ_TRUE, STR_EMPTY);
		jv_free(v);
	}
	/* Lets go of the input and of what was made of it. */
	jq_start(p->jq, jv_null(), 0);
	cage_cpu(0);
}

static void
jq_run_check(struct jq_run *r, struct str text)
{
	char *z = mem_z(text);
	jq_state *jq = compile(r, z);

	if (jq) {
		jq_run_answer(r, JQ_TRUE, STR_EMPTY);
		jq_teardown(&jq);
	} else {
		jq_run_answer(r, JQ_ERROR, str_of(r->fault));
	}
	free(z);
}

static void
set_input(struct jq_run *r, struct str json)
{
	jv_free(r->input);
	r->input = jv_parse_sized(json.p, (int)json.n);
}

bool
jq_run_command(struct jq_run *r, const struct jq_cmd *cmd, struct str text)
{
	switch (cmd->op) {
	case JQ_OP_PROGRAM:
		set_program(r, cmd->id, text);
		return true;
	case JQ_OP_DROP:
		drop(get_program(r, cmd->id));
		return true;
	case JQ_OP_INPUT:
		set_input(r, text);
		return true;
	case JQ_OP_FILTER:
		jq_run_it(r, get_program(r, cmd->id), false);
		return true;
	case JQ_OP_RENDER:
		jq_run_it(r, get_program(r, cmd->id), true);
		return true;
	case JQ_OP_CHECK:
		jq_run_check(r, text);
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
warm(struct jq_run *r)
{
	static const char DATES[] =
	    "0 | todate, (gmtime | mktime), localtime, (\"a\" | test(\"A\"; \"i\"))";
	jq_state *jq;

	if (setenv("TZ", "UTC0", 1) != 0)
		return false;
	tzset();
	jq = compile(r, DATES);
	if (!jq)
		return false;
	jq_start(jq, jv_null(), 0);
	for (jv v = jq_next(jq); jv_is_valid(v); v = jq_next(jq))
		jv_free(v);
	jq_teardown(&jq);
	return true;
}

struct jq_run *
jq_run_new(void)
{
	struct jq_run *r = mem_get(sizeof(*r));

	r->input = jv_invalid();
	r->answer = BUF(JQ_ANSWER_MAX);
	if (warm(r))
		return r;
	free(r);
	return NULL;
}

void
jq_run_compile(struct jq_run *r, int32_t id)
{
	struct program *p = get_program(r, id);

	if (p->text && !p->jq)
		p->jq = compile(r, p->text);
}

void
jq_run_begin(struct jq_run *r)
{
	buf_clear(&r->answer);
}

bool
jq_run_end(struct jq_run *r, struct str *ret)
{
	jv_free(r->input);
	r->input = jv_invalid();
	*ret = buf_str(&r->answer);
	return !r->answer.failed;
}
