#include "match/jq/jq_scan.h"

#include "base/test.h"
#include "match/limits.h"

static void
scans(void **)
{
	static const struct {
		const char *program, *why; /* NULL: fine */
	} ROWS[] = {
	    {"", NULL},
	    {".payload.amount > 100", NULL},
	    {".input, .env.debug", NULL},
	    {"{input: .a, env, \"halt\": 1, debug}", NULL},
	    {". as {env: $e, $input} | $e, $env", NULL},
	    {"# env\n.a", NULL},
	    {"\"env \\\" input\"", NULL},
	    {"\"a\\(.b)env\"", NULL},
	    {"@base64 \"env\\(.a | @json)\"", NULL},
	    {".a | inputs_of", NULL},
	    {"[.[] | {(.k): .v}] | add", NULL},
	    {"$__loc__", NULL},
	    {"\"unclosed", NULL},
	    {")))", NULL},
	    {"env", "line 1, column 1: env is not available"},
	    {"env.PATH", "line 1, column 1: env"},
	    {"$ENV.PATH", "line 1, column 2: $ENV is not available"},
	    {"$ ENV", "column 3: $ENV"},
	    {"{$ENV}", "column 3: $ENV"},
	    {".a |\n  input", "line 2, column 3: input is"},
	    {"[inputs]", "column 2: inputs"},
	    {"{a: env}", "column 5: env"},
	    {"{a: (1, env)}", "column 9: env"},
	    {"[1, env]", "column 5: env"},
	    {"{a: [env]}", "column 6: env"},
	    {"\"\\(env)\"", "column 4: env"},
	    {"\"\\({a: 1} | {b: env})\"", "column 17: env"},
	    {"\"\\(\"\\(1)\" + input)\"", "column 13: input"},
	    {"import \"a\" as a; 1", "column 1: import"},
	    {"include \"a\"; 1", "column 1: include"},
	    {"debug, halt", "column 1: debug"},
	    {"halt_error", "halt_error"},
	    {"input_line_number", "input_line_number"},
	    {"# c\nstderr", "line 2, column 1: stderr"},
	    {"\xff", "line 1, column 1: this is no UTF-8"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct err e = {.text = ""};
		int rc = jq_scan(str_of(ROWS[i].program), &e);

		if (rc != (ROWS[i].why ? ERR_INVALID : OK))
			fail_msg("%s: %d %s", ROWS[i].program, rc, e.text);
		if (ROWS[i].why && !strstr(e.text, ROWS[i].why))
			fail_msg("%s: %s", ROWS[i].program, e.text);
	}
}

static void
has_bounds(void **)
{
	static char text[JQ_PROGRAM_MAX + 1];
	struct err e;

	memset(text, ' ', sizeof(text));
	assert_int_equal(jq_scan((struct str){text, JQ_PROGRAM_MAX}, &e), OK);
	assert_int_equal(
	    jq_scan((struct str){text, sizeof(text)}, &e), ERR_LIMIT);
	memset(text, '(', JQ_NEST_MAX + 1);
	assert_int_equal(jq_scan((struct str){text, JQ_NEST_MAX}, &e), OK);
	assert_int_equal(
	    jq_scan((struct str){text, JQ_NEST_MAX + 1}, &e), ERR_INVALID);
	assert_int_equal(jq_scan((struct str){"a\0b", 3}, &e), ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(scans),
	    cmocka_unit_test(has_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
