#include "match/jq/jq.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "base/test.h"
#include "cage/limits.h"
#include "match/jq/jq_child.h"
#include "match/limits.h"

#define EVENT                                                                  \
	"{\"eventId\":\"e-1\",\"n\":5,\"s\":\"x\",\"l\":[1,2,3],\"o\":{\"k\":true},\"z\":null}"

#define SELF "/proc/self/exe"

static struct jq *j;
static struct arena *arena;

static int
set_up(void **)
{
	arena = arena_new(16 * MIB);
	j = jq_new(SELF);
	return 0;
}

static int
take_down(void **)
{
	jq_free(j);
	arena_free(arena);
	return 0;
}

static int
program(const char *text)
{
	struct err e = {.text = ""};
	int id = -1;

	if (jq_program(j, str_of(text), &id, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return id;
}

static enum jq_verdict
filter(int id, const char *input)
{
	struct jq_item it = {.program = id, .input = str_of(input)};
	struct jq_said said = {.verdict = JQ_OVERRAN};
	struct err e = {.text = ""};

	if (jq_filter(j, &it, 1, &said, &e) < 0)
		fail_msg("%s", e.text);
	if (said.verdict == JQ_ERROR && said.why.n == 0)
		fail_msg("an error without a reason over %s", input);
	return said.verdict;
}

static void
filters(void **)
{
	static const struct {
		const char *program;
		enum jq_verdict want;
	} ROWS[] = {
	    {".n > 4", JQ_TRUE},
	    {".n + 0 > 4", JQ_TRUE},
	    {".n + 0 > 5", JQ_FALSE},
	    {".z + null", JQ_FALSE},
	    {"empty", JQ_FALSE},
	    {"0", JQ_TRUE},
	    {"\"\"", JQ_TRUE},
	    {"", JQ_TRUE},
	    {"false, true", JQ_FALSE},
	    {"true, error(\"late\")", JQ_TRUE},
	    {"select(.n == 5)", JQ_TRUE},
	    {"select(.n == 6)", JQ_FALSE},
	    {"any(.l[]; . == 2)", JQ_TRUE},
	    {".s | test(\"^X$\"; \"i\")", JQ_TRUE},
	    {".s.t", JQ_ERROR},
	    {".[0]", JQ_ERROR},
	    {"error(\"no\")", JQ_ERROR},
	    {"error({a: 1})", JQ_ERROR},
	    {"error(null)", JQ_FALSE},
	    {"0 | todate == \"1970-01-01T00:00:00Z\"", JQ_TRUE},
	    {"0 | localtime | mktime == 0", JQ_TRUE},
	    {"now > 1700000000", JQ_TRUE},
	    {"\"2015-03-05T23:51:47Z\" | fromdate == 1425599507", JQ_TRUE},
	    {"getpath([\"o\", \"k\"])", JQ_TRUE},
	    {"{input: 1, env} | .input == 1", JQ_TRUE},
	    {"[limit(3; range(10))] == [0, 1, 2]", JQ_TRUE},
	    {"@base64 \"a\\(.n)\" == \"aNQ==\"", JQ_TRUE},
	    {"nosuch", JQ_ERROR},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int id = program(ROWS[i].program);
		enum jq_verdict v = filter(id, EVENT);

		if (v != ROWS[i].want)
			fail_msg("%s: %d", ROWS[i].program, v);
		jq_forget(j, id);
	}
	assert_int_equal(filter(program(".a|1"), "{"), JQ_ERROR);
	assert_int_equal(filter(program(".a"), "{"), JQ_ERROR);
}

static void
checks(void **)
{
	static const struct {
		const char *program, *why; /* NULL: fine */
	} ROWS[] = {
	    {".payload.amount > 100", NULL},
	    {"{id: .eventId}", NULL},
	    {".a as $x | $x + 1", NULL},
	    {"{a: .b, input: .c}", NULL},
	    {".a ~ b", "line 1: syntax error, unexpected INVALID_CHARACTER"},
	    {"{\n a: 1,\n b: }", "line 3: syntax error, unexpected '}': b: }"},
	    {".a[", "line 1: syntax error, unexpected $end: .a["},
	    {"nosuch(.a)", "line 1: nosuch/1 is not defined: nosuch(.a)"},
	    {".a |\n $x", "line 2: $x is not defined"},
	    {"env", "line 1, column 1: env is not available"},
	    {"$ENV.PATH", "$ENV is not available"},
	    {"input", "input is not available"},
	    {"import \"a\" as a; 1", "import is not available"},
	    {".a | input_line_number", "input_line_number is not"},
	    {"halt", "halt is not available"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct err e = {.text = ""};
		int rc = jq_check(j, str_of(ROWS[i].program), &e);

		if (rc != (ROWS[i].why ? ERR_INVALID : OK) ||
		    (rc < 0 && !strstr(e.text, ROWS[i].why)))
			fail_msg("%s: %d %s", ROWS[i].program, rc, e.text);
	}
}

static void
renders(void **)
{
	static const struct {
		const char *program, *want; /* or, when it begins with !, why */
	} ROWS[] = {
	    {"{id: .eventId, n}", "{\"id\":\"e-1\",\"n\":5}"},
	    {".l | map(. * 2), 7", "[2,4,6]"},
	    {".s", "\"x\""},
	    {".z", "null"},
	    {".n == 5", "true"},
	    {"9007199254740993", "9007199254740992"},
	    {"empty", "!the template failed: there is no result"},
	    {".s.t",
		"!the template failed: Cannot index string with string \"t\""},
#ifndef __SANITIZE_THREAD__ /* too slow for 50 ms */
	    {"(\"x\" * 1022 | . * 1026) + \"xx\"", NULL},
	    {"(\"x\" * 1022 | . * 1026) + \"xxx\"",
		"!the template failed: the result is over 1 MiB"},
#endif
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct err e = {.text = ""};
		struct str got = STR_EMPTY, in = STR(EVENT);
		int id = program(ROWS[i].program);
		int rc = jq_render(j, id, in, arena, &got, &e);
		const char *want = ROWS[i].want;

		if (!want)
			assert_int_equal(got.n, JQ_OUTPUT_MAX);
		else if (want[0] == '!')
			assert_string_equal(e.text, want + 1);
		else if (rc < 0 || !str_eq(got, str_of(want)))
			fail_msg("%s: %.*s %s", ROWS[i].program, STR_ARG(got),
			    e.text);
		assert_int_equal(rc, want && want[0] == '!' ? ERR_INVALID : OK);
	}
}

/* Each overruns, for its own reason, and the others do not. */
static void
stops(void **)
{
	static const struct {
		const char *program, *why;
	} ROWS[] = {
		{"def f: f; f", "50 ms of CPU"},
		{"[range(1e9)]", "50 ms of CPU"},
		{"last(range(1e9))", "50 ms of CPU"},
		{"def f: 1 + f; f", ""},
		{"\"x\" * 50 | . * 50 | . * 50 | . * 50 | . * 50", ""},
		{"reduce range(100000) as $i (0; [.])", ""},
		{"(\"a\" * 40) + \"b\" | test(\"^(a+)+$\")", ""},
		{"\"x\" * 1e9", "50 ms of CPU"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		{"[] | .[100000000] = 1", "took more memory"},
#endif
	};
	static const char *const GOOD[] = {".n + 0 == 5", ".n + 0 == 6"};
	struct jq_item items[COUNT_OF(ROWS) * 3];
	struct jq_said v[COUNT_OF(ROWS) * 3];
	int64_t began = clock_mono_ms();
	struct err e = {.text = ""};

	for (size_t i = 0; i < COUNT_OF(items); i++) {
		const char *text =
		    i % 3 == 1 ? ROWS[i / 3].program : GOOD[i % 3 / 2];

		items[i] = (struct jq_item){
		    .program = program(text), .input = STR(EVENT)};
	}
	for (int round = 0; round < 2; round++) {
		assert_int_equal(
		    jq_filter(j, items, COUNT_OF(items), v, &e), OK);
		for (size_t i = 0; i < COUNT_OF(items); i++) {
			struct str why = v[i].why;

			if (i % 3 != 1) {
				assert_int_equal(
				    v[i].verdict, i % 3 ? JQ_FALSE : JQ_TRUE);
				assert_int_equal(why.n, 0);
			} else if (v[i].verdict == JQ_OVERRAN) {
				if (!strstr(why.p, ROWS[i / 3].why))
					fail_msg("%s: %s", ROWS[i / 3].program,
					    why.p);
			} else if (ROWS[i / 3].why[0]) {
				fail_msg("%s: %d", ROWS[i / 3].program,
				    v[i].verdict);
			}
		}
	}
	assert_true(clock_mono_ms() - began < 20000);
}

/* One event must not switch a program off, and many who share both wait for it
 * once: 200 overruns of 50 ms would take 10 s. */
static void
overruns_by_event(void **)
{
	int id = program("[range(.n)] | length >= 0");
	struct jq_item items[200];
	struct jq_said said[COUNT_OF(items)];
	int64_t began = clock_mono_ms();
	struct err e = {.text = ""};

	for (size_t i = 0; i < COUNT_OF(items); i++)
		items[i] = (struct jq_item){.program = id,
		    .input = i % 2 ? STR(EVENT) : STR("{\"n\":1e9}")};
	assert_int_equal(jq_filter(j, items, COUNT_OF(items), said, &e), OK);
	for (size_t i = 0; i < COUNT_OF(items); i++)
		assert_int_equal(said[i].verdict, i % 2 ? JQ_TRUE : JQ_OVERRAN);
	assert_true(clock_mono_ms() - began < 5000);
	assert_int_equal(filter(id, EVENT), JQ_TRUE);
	assert_int_equal(filter(id, "{\"n\":2e9}"), JQ_OVERRAN);
	assert_int_equal(filter(id, EVENT), JQ_TRUE);
}

static void
stops_templates(void **)
{
	int id = program("def f: f; f");
	struct str got, in = STR(EVENT);
	struct err e;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(
		    jq_render(j, id, in, arena, &got, &e), ERR_LIMIT);
		assert_non_null(strstr(e.text, "took more than 50 ms of CPU"));
	}
	assert_int_equal(jq_render(j, program(".n"), in, arena, &got, &e), OK);
	assert_str(got, "5");
	id = program("[range(.n)] | length");
	assert_int_equal(
	    jq_render(j, id, STR("{\"n\":1e9}"), arena, &got, &e), ERR_LIMIT);
	assert_int_equal(jq_render(j, id, in, arena, &got, &e), OK);
	assert_str(got, "5");
}

/* A child that is killed is nobody's fault. */
static void
survives_kill(void **)
{
	struct jq_item items[2 * JQ_CHUNK_MAX + 1];
	struct jq_said v[COUNT_OF(items)];
	struct err e = {.text = ""};

	for (size_t i = 0; i < COUNT_OF(items); i++)
		items[i] = (struct jq_item){
		    .program = program(i % 2 ? ".n + 1 == 6" : ".n + 1 == 7"),
		    .input = i % 3 ? STR(EVENT) : STR("{\"n\":6}")};
	for (int round = 0; round < 3; round++) {
		if (round > 0) {
			assert_true(jq_child_pid(j) > 0);
			assert_int_equal(kill(jq_child_pid(j), SIGKILL), 0);
		}
		assert_int_equal(
		    jq_filter(j, items, COUNT_OF(items), v, &e), OK);
		for (size_t i = 0; i < COUNT_OF(items); i++)
			assert_int_equal(v[i].verdict,
			    (i % 2 != 0) == (i % 3 != 0) ? JQ_TRUE : JQ_FALSE);
	}
}

/* Killed while it works: by a process beside us, again and again. */
static void
survives_kills_meanwhile(void **)
{
	int id = program("[range(2000)] | add == 1999000");
	struct jq_item items[JQ_CHUNK_MAX];
	struct jq_said v[COUNT_OF(items)];
	struct err e = {.text = ""};

	for (size_t i = 0; i < COUNT_OF(items); i++)
		items[i] = (struct jq_item){.program = id, .input = STR(EVENT)};
	for (int round = 0; round < 6; round++) {
		pid_t victim, killer;

		assert_int_equal(filter(id, EVENT), JQ_TRUE);
		victim = (pid_t)jq_child_pid(j);
		killer = fork();
		if (killer == 0) {
			const struct timespec t = {
			    .tv_nsec = (round + 1) * 2000000};

			(void)nanosleep(&t, NULL);
			(void)kill(victim, SIGKILL);
			_exit(0);
		}
		assert_int_equal(
		    jq_filter(j, items, COUNT_OF(items), v, &e), OK);
		for (size_t i = 0; i < COUNT_OF(items); i++)
			assert_int_equal(v[i].verdict, JQ_TRUE);
	}
}

static void
knows_texts(void **)
{
	int a = program(".n + 1"), b = program(".n + 2"), c = program(".n + 1");

	assert_int_equal(a, c);
	assert_int_not_equal(a, b);
	assert_int_equal(filter(a, EVENT), JQ_TRUE);
	jq_forget(j, a);
	assert_int_equal(filter(c, EVENT), JQ_TRUE);
	jq_forget(j, c);
	/* The id is given again, to another text. */
	c = program(".z");
	assert_int_equal(c, a);
	assert_int_equal(filter(c, EVENT), JQ_FALSE);
	assert_int_equal(filter(b, EVENT), JQ_TRUE);
}

static void
backs_off(void **)
{
	static const char *const EXES[] = {"/bin/false", "/nonexistent"};
	struct jq *broken = NULL;
	struct err e = {.text = ""};

	for (size_t k = 0; k < COUNT_OF(EXES); k++) {
		jq_free(broken);
		broken = jq_new(EXES[k]);
		for (int i = 0; i < CAGE_DEATHS_FREE + 3; i++) {
			assert_int_equal(
			    jq_check(broken, STR("1 + 1"), &e), ERR_AWAY);
			assert_true(e.retry_after_s > 0);
		}
		assert_non_null(strstr(e.text, "the last start failed"));
	}
	/* What needs no child works all the same. */
	assert_int_equal(jq_check(broken, STR(".a == 1"), &e), OK);
	jq_free(broken);
}

/* A file of a process's folder in /proc, all of it. */
static size_t
proc_file(int pid, const char *name, char *ret, size_t most)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(ret, 1, most - 1, f);
	ret[n] = '\0';
	(void)fclose(f);
	return n;
}

static int
worker_pid(void)
{
	char name[64], text[64];
	int64_t pid = 0;

	(void)snprintf(name, sizeof(name), "task/%d/children", jq_child_pid(j));
	(void)proc_file(jq_child_pid(j), name, text, sizeof(text));
	assert_true(str_int(str_trim(str_of(text)), &pid));
	return (int)pid;
}

static void
is_caged_at(int pid)
{
	char text[8192], path[64];
	int fds = 0;
	DIR *d;

	assert_int_equal(proc_file(pid, "environ", text, sizeof(text)), 0);
	(void)proc_file(pid, "status", text, sizeof(text));
	assert_non_null(strstr(text, "NoNewPrivs:\t1"));
#ifndef __SANITIZE_THREAD__
	assert_non_null(strstr(text, "Seccomp:\t2"));
#endif
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	assert_non_null(d);
	for (struct dirent *f = readdir(d); f; f = readdir(d))
		fds += f->d_name[0] != '.';
	(void)closedir(d);
	/* /dev/null three times, the socket, an end of the pipe */
	assert_int_equal(fds, 5);
}

static void
is_caged(void **)
{
	assert_int_equal(filter(program(".n + 1"), EVENT), JQ_TRUE);
	is_caged_at(jq_child_pid(j));
	is_caged_at(worker_pid());
}

/* Whoever overruns takes the worker along, and no more. */
static void
keeps_what_is_compiled(void **)
{
	int good = program(".n + 1"), keeper, worker;
	struct jq_item items[] = {
	    {.program = program("def f: f; f"), .input = STR(EVENT)},
	    {.program = program(".n + 2 == 7"), .input = STR(EVENT)},
	};
	struct jq_said v[COUNT_OF(items)];
	struct err e;

	assert_int_equal(filter(good, EVENT), JQ_TRUE);
	keeper = jq_child_pid(j);
	worker = worker_pid();
	assert_int_equal(jq_filter(j, items, COUNT_OF(items), v, &e), OK);
	assert_int_equal(v[0].verdict, JQ_OVERRAN);
	assert_int_equal(v[1].verdict, JQ_TRUE);
	assert_int_equal(filter(good, EVENT), JQ_TRUE);
	assert_int_equal(jq_child_pid(j), keeper);
	assert_int_not_equal(worker_pid(), worker);
	/* A worker that somebody kills takes all along. */
	assert_int_equal(kill(worker_pid(), SIGKILL), 0);
	assert_int_equal(filter(good, EVENT), JQ_TRUE);
	assert_int_not_equal(jq_child_pid(j), keeper);
}

/* Nobody stays behind. */
static void
ends(void **)
{
	struct timespec ms = {.tv_nsec = 1000000};
	int worker, tries = 0;

	assert_int_equal(filter(program(".n + 1"), EVENT), JQ_TRUE);
	worker = worker_pid();
	jq_free(j);
	while (kill(worker, 0) == 0 && tries++ < 2000)
		(void)nanosleep(&ms, NULL);
	assert_true(tries < 2000);
	j = jq_new(SELF);
}

static void
is_bounded(void **)
{
	static char big[JQ_CHUNK_BYTES + 2];
	struct jq_item it = {
	    .program = program("1 + 1"), .input = {big, sizeof(big) - 1}};
	struct jq_said v;
	struct str got;
	struct err e;

	memset(big, ' ', sizeof(big));
	big[0] = '7';
	assert_int_equal(jq_filter(j, &it, 1, &v, &e), OK);
	assert_int_equal(v.verdict, JQ_ERROR);
	assert_int_equal(
	    jq_render(j, it.program, it.input, arena, &got, &e), ERR_INVALID);
	it.input.n--;
	assert_int_equal(jq_filter(j, &it, 1, &v, &e), OK);
	assert_int_equal(v.verdict, JQ_TRUE);
	assert_int_equal(
	    jq_check(j, (struct str){big, JQ_PROGRAM_MAX + 1}, &e), ERR_LIMIT);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(filters, set_up, take_down),
	    cmocka_unit_test_setup_teardown(checks, set_up, take_down),
	    cmocka_unit_test_setup_teardown(renders, set_up, take_down),
	    cmocka_unit_test_setup_teardown(stops, set_up, take_down),
	    cmocka_unit_test_setup_teardown(stops_templates, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		overruns_by_event, set_up, take_down),
	    cmocka_unit_test_setup_teardown(survives_kill, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		survives_kills_meanwhile, set_up, take_down),
	    cmocka_unit_test_setup_teardown(knows_texts, set_up, take_down),
	    cmocka_unit_test_setup_teardown(backs_off, set_up, take_down),
	    cmocka_unit_test_setup_teardown(is_caged, set_up, take_down),
	    cmocka_unit_test_setup_teardown(
		keeps_what_is_compiled, set_up, take_down),
	    cmocka_unit_test_setup_teardown(ends, set_up, take_down),
	    cmocka_unit_test_setup_teardown(is_bounded, set_up, take_down),
	};
	const struct cage_kind *const kinds[] = {&JQ_CHILD, NULL};
	int status = cage_main(kinds, argc, argv);

	if (status >= 0)
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
