#include "match/jq/plain.h"

#include "base/test.h"
#include "match/jq/jq_child.h"
#include "match/limits.h"

static uint32_t dice = 1;

static uint32_t
roll(uint32_t n)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 8) % n;
}

static void
parses(void **)
{
	static const struct {
		const char *program;
		bool plain;
	} ROWS[] = {
	    {".payload.amount > 100", true},
	    {".type == \"x\"", true},
	    {"\"x\"==.type", true},
	    {".a", true},
	    {"true", true},
	    {" ( .a == 1 and .b != null ) or (.c | not) ", true},
	    {".a <= -1.5e3", true},
	    {".a|not|not", true},
	    {".and == 1", true},
	    {".a == 1and .b", false},
	    {"", false},
	    {".", false},
	    {".a .b", false},
	    {".a.", false},
	    {".a..b", false},
	    {".1", false},
	    {".a == .b", false},
	    {"1 == 1", false},
	    {".a == 1 == true", false},
	    {"(.a == 1) == true", false},
	    {".a == \"\\n\"", false},
	    {".a == \"\\(1)\"", false},
	    {".a == 007", false},
	    {".a == 1.", false},
	    {".a == - 1", false},
	    {".a == nan", false},
	    {".a == nullx", false},
	    {".a andx", false},
	    {".a and", false},
	    {"not", false},
	    {".a | .b", false},
	    {".a, .b", false},
	    {".a // 1", false},
	    {".a[0] == 1", false},
	    {".a == 1 # c", false},
	    {"(.a", false},
	    {".a)", false},
	    {".a =", false},
	    {".a == \"\xff\"", false},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct plain *p = plain_parse(str_of(ROWS[i].program));

		if ((p != NULL) != ROWS[i].plain)
			fail_msg("%s", ROWS[i].program);
		free(p);
	}
}

static void
has_bounds(void **)
{
	struct buf b = BUF(MIB);
	struct plain *p;

	for (int i = 0; i <= PLAIN_DEPTH_MAX; i++)
		buf_addc(&b, '(');
	buf_addz(&b, ".a");
	for (int i = 0; i <= PLAIN_DEPTH_MAX; i++)
		buf_addc(&b, ')');
	assert_null(plain_parse(buf_str(&b)));
	p = plain_parse((struct str){b.p + 1, b.n - 2});
	assert_non_null(p);
	free(p);
	buf_clear(&b);
	buf_addz(&b, ".a");
	for (int i = 0; i < PLAIN_NODES_MAX; i++)
		buf_addz(&b, " or .a");
	assert_null(plain_parse(buf_str(&b)));
	buf_done(&b);
}

/* Values, and constants of programs, that meet each other often. */
static const char *const VALUES[] = {"null", "false", "true", "0", "-1", "1",
    "1.5", "100", "1e2", "9007199254740993", "1e400", "-0", "\"\"", "\"a\"",
    "\"b\"", "\"ab\"", "\"\xc3\xa9\"", "\"\xf0\x9f\x98\x80\"", "0.1"};
static const char *const ODD[] = {"[]", "[1]", "{}", "{\"a\":1}",
    "{\"b\":null}", "{\"a\":{\"b\":2}}", "\"\\u00e9\"", "\"a\\u0000\"",
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890"};
static const char *const SIGNS[] = {"==", "!=", "<", "<=", ">", ">="};
static const char *const PATHS[] = {".a", ".b", ".a.b", ".b.a", ".a.b.a", ".c"};

static void
add_value(struct buf *b, int deep)
{
	static const char *const NAMES[] = {"a", "b", "c"};
	uint32_t n = 0;

	if (deep == 0 || roll(3) == 0) {
		n = roll(COUNT_OF(VALUES) + COUNT_OF(ODD));
		buf_addz(b, n < COUNT_OF(VALUES) ? VALUES[n]
						 : ODD[n - COUNT_OF(VALUES)]);
		return;
	}
	buf_addc(b, '{');
	for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
		if (roll(3) == 0)
			continue;
		buf_fmt(b, "%s\"%s\":", n++ ? "," : "", NAMES[i]);
		add_value(b, deep - 1);
	}
	buf_addc(b, '}');
}

static void
add_program(struct buf *b, int deep)
{
	const char *path = PATHS[roll(COUNT_OF(PATHS))];
	const char *constant = VALUES[roll(COUNT_OF(VALUES))];
	const char *sign = SIGNS[roll(COUNT_OF(SIGNS))];
	uint32_t form = roll(deep > 0 ? 8 : 3);

	if (form == 0) {
		buf_fmt(b, "%s%s%s", path, sign, constant);
	} else if (form == 1) {
		buf_fmt(b, "%s %s %s", constant, sign, path);
	} else if (form == 2) {
		buf_addz(b, roll(4) ? path : constant);
	} else if (form == 3) {
		buf_addc(b, '(');
		add_program(b, deep - 1);
		buf_addc(b, ')');
	} else if (form == 4) {
		buf_addc(b, '(');
		add_program(b, deep - 1);
		buf_addz(b, "|not)");
	} else {
		add_program(b, deep - 1);
		buf_addz(b, roll(2) ? " and " : " or ");
		add_program(b, deep - 1);
	}
}

#define PROGRAMS 150
#define DOCS     50

/* The same program, so that it is not plain: jq runs it. */
static int
for_jq(struct jq *j, struct str program)
{
	struct buf b = BUF(MIB);
	struct err e = {.text = ""};
	int id = -1;

	buf_fmt(&b, "%.*s\n# for jq", STR_ARG(program));
	if (jq_program(j, buf_str(&b), &id, &e) < 0)
		fail_msg("%s", e.text);
	buf_done(&b);
	return id;
}

static void
agrees_with_jq(void **)
{
	struct buf program = BUF(MIB), docs[DOCS];
	struct jq_item items[DOCS];
	struct json *trees[DOCS];
	struct jq_said want[DOCS];
	struct arena *a = arena_new(16 * MIB);
	unsigned seen[3] = {0};
	struct jq *j = NULL;
	struct err e;

	j = jq_new("/proc/self/exe");
	for (size_t d = 0; d < DOCS; d++) {
		docs[d] = BUF(MIB);
		add_value(&docs[d], 3);
		items[d].input = buf_str(&docs[d]);
		assert_int_equal(
		    json_parse(a, items[d].input, &trees[d], &e), OK);
	}
	for (int i = 0; i < PROGRAMS; i++) {
		struct plain *p;
		int id;

		buf_clear(&program);
		add_program(&program, 3);
		if (roll(4) == 0)
			buf_addz(&program, " | not");
		p = plain_parse(buf_str(&program));
		if (!p)
			fail_msg("%.*s", STR_ARG(buf_str(&program)));
		id = for_jq(j, buf_str(&program));
		for (size_t d = 0; d < DOCS; d++)
			items[d].program = id;
		assert_int_equal(jq_filter(j, items, DOCS, want, &e), OK);
		for (size_t d = 0; d < DOCS; d++) {
			enum jq_verdict got = plain_run(p, trees[d]);

			if (got != want[d].verdict)
				fail_msg("%.*s over %.*s: %d, jq says %d",
				    STR_ARG(buf_str(&program)),
				    STR_ARG(items[d].input), got,
				    want[d].verdict);
			seen[got]++;
		}
		jq_forget(j, id);
		free(p);
	}
	for (int v = JQ_FALSE; v <= JQ_ERROR; v++)
		assert_true(seen[v] > PROGRAMS * DOCS / 50);
	for (size_t d = 0; d < DOCS; d++)
		buf_done(&docs[d]);
	buf_done(&program);
	jq_free(j);
	arena_free(a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parses),
	    cmocka_unit_test(has_bounds),
	    cmocka_unit_test(agrees_with_jq),
	};
	const struct cage_kind *const kinds[] = {&JQ_CHILD, NULL};
	int status = cage_main(kinds, argc, argv);

	if (status >= 0)
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
