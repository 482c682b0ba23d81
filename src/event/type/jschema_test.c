#include "event/type/jschema.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

#include "event/limits.h"
#include "event/type/fault.h"
#include "event/type/pattern.h"

static struct arena *arena;
static struct err e;

static int
setup(void **)
{
	arena = arena_new(32 * MIB);
	return 0;
}

static int
teardown(void **)
{
	arena_free(arena);
	return 0;
}

static struct json *
parse(const char *text)
{
	struct json *j = NULL;

	if (json_parse(arena, str_of(text), &j, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return j;
}

static struct jschema *
compile(const char *text)
{
	struct jschema *s = NULL;

	e = (struct err){0};
	if (jschema_compile(arena, parse(text), "/schema", &s, &e) < 0)
		fail_msg("%s: %s: %s", text, e.at, e.text);
	return s;
}

/* "" when it fits; else the pointers of what does not, with blanks. */
static const char *
faults_of(struct jschema *s, const struct json *doc)
{
	static char text[4096];
	struct faults f = {.arena = arena};
	size_t n = 0;

	text[0] = '\0';
	jschema_check(s, doc, "/p", &f);
	for (const struct fault *x = f.first; x; x = x->next)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s",
		    n ? " " : "", STR_ARG(x->at));
	return text;
}

static void
documents_fit_or_not(void **)
{
	static const struct {
		const char *schema, *doc, *at;
	} T[] = {
	    {"true", "1", ""},
	    {"false", "1", "/p"},
	    {"{}", "[1]", ""},
	    {"{\"type\":\"integer\"}", "1", ""},
	    {"{\"type\":\"integer\"}", "1.0", ""},
	    {"{\"type\":\"integer\"}", "1e2", ""},
	    {"{\"type\":\"integer\"}", "1.5", "/p"},
	    {"{\"type\":\"integer\"}", "123456789012345678901234567890", ""},
	    {"{\"type\":\"number\"}", "7", ""},
	    {"{\"type\":[\"string\",\"null\"]}", "null", ""},
	    {"{\"type\":[\"string\",\"null\"]}", "1", "/p"},
	    {"{\"const\":{\"a\":[1,2]}}", "{\"a\":[1.0,2]}", ""},
	    {"{\"enum\":[\"a\",1]}", "1", ""},
	    {"{\"enum\":[\"a\",1]}", "\"b\"", "/p"},
	    {"{\"minimum\":1,\"maximum\":2}", "2", ""},
	    {"{\"minimum\":1,\"maximum\":2}", "2.5", "/p"},
	    {"{\"exclusiveMinimum\":1}", "1", "/p"},
	    {"{\"exclusiveMaximum\":9007199254740993}", "9007199254740992", ""},
	    {"{\"minLength\":2,\"maxLength\":3}",
		"\"\xe9\xa3\x9b\xe8\x84\x9a\"", ""},
	    {"{\"minLength\":2}", "\"a\"", "/p"},
	    {"{\"pattern\":\"^ord_[a-z0-9]+$\"}", "\"ord_a1\"", ""},
	    {"{\"pattern\":\"^ord_[a-z0-9]+$\"}", "\"ord_A1\"", "/p"},
	    {"{\"format\":\"uuid\"}", "\"x\"", "/p"},
	    {"{\"format\":\"date-time\"}", "\"2026-01-10T12:34:56Z\"", ""},
	    {"{\"format\":\"date\"}", "\"2026-02-30\"", "/p"},
	    {"{\"format\":\"uri\"}", "\"https://a.example/x?y\"", ""},
	    {"{\"format\":\"uri\"}", "\"/x\"", "/p"},
	    {"{\"format\":\"email\"}", "\"a@b.example\"", ""},
	    {"{\"format\":\"email\"}", "\"a b@c\"", "/p"},
	    {"{\"items\":{\"type\":\"string\"}}", "[\"a\",1,2]", "/p/1 /p/2"},
	    {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}",
		"[\"a\",1]", "/p/1"},
	    {"{\"minItems\":1,\"maxItems\":1}", "[]", "/p"},
	    {"{\"uniqueItems\":true}", "[1,2,1.0]", "/p/2"},
	    {"{\"required\":[\"a\",\"b\"]}", "{\"c\":1}", "/p/a /p/b"},
	    {"{\"properties\":{\"a\":{\"type\":\"string\"}},"
	     "\"additionalProperties\":false}",
		"{\"a\":1,\"b\":2}", "/p/a /p/b"},
	    {"{\"required\":[\"a\"],\"additionalProperties\":{\"type\":"
	     "\"string\"}}",
		"{\"a\":1}", "/p/a"},
	    {"{\"minProperties\":2}", "{\"a\":1}", "/p"},
	    {"{\"allOf\":[{\"type\":\"string\"},{\"minLength\":2}]}", "\"a\"",
		"/p"},
	    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
		"/p"},
	    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "1", ""},
	    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3", "/p"},
	    {"{\"not\":{\"type\":\"string\"}}", "\"a\"", "/p"},
	    {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\","
	     "\"properties\":{\"next\":{\"$ref\":\"#/$defs/n\"}},"
	     "\"required\":[\"v\"]}}}",
		"{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}", "/p/next/next/v"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		const char *got =
		    faults_of(compile(T[i].schema), parse(T[i].doc));

		if (strcmp(got, T[i].at) != 0)
			fail_msg("%s of %s: %s", T[i].doc, T[i].schema, got);
	}
}

static void
what_is_not_taken_is_named(void **)
{
	static const struct {
		const char *schema, *at, *says;
	} T[] = {
	    {"{\"if\":{}}", "/schema/if", "if is a keyword"},
	    {"{\"properties\":{\"a\":{\"patternProperties\":{}}}}",
		"/schema/properties/a/patternProperties", "not taken"},
	    {"7", "/schema", "must be a schema"},
	    {"{\"type\":\"text\"}", "/schema/type", "must be of null"},
	    {"{\"type\":[]}", "/schema/type", "must name"},
	    {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}",
		"/schema/$schema", "2020-12"},
	    {"{\"$ref\":\"other.json\"}", "/schema/$ref", "this schema"},
	    {"{\"$ref\":\"#/$defs/x\"}", "/schema/$ref", "nothing"},
	    {"{\"$ref\":\"#\"}", "/schema/$ref", "back to itself"},
	    {"{\"allOf\":[{\"anyOf\":[{\"$ref\":\"#\"}]}]}", "/schema/$ref",
		"back to itself"},
	    {"{\"format\":\"ipv4\"}", "/schema/format", "date-time"},
	    {"{\"pattern\":\"(?=a)\"}", "/schema/pattern", "not taken"},
	    {"{\"minLength\":-1}", "/schema/minLength", "whole number"},
	    {"{\"required\":[1]}", "/schema/required", "names"},
	    {"{\"enum\":[]}", "/schema/enum", "values"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct jschema *s = NULL;

		e = (struct err){0};
		assert_int_equal(jschema_compile(arena, parse(T[i].schema),
				     "/schema", &s, &e),
		    ERR_INVALID);
		if (strcmp(e.at, T[i].at) != 0 || !strstr(e.text, T[i].says))
			fail_msg("%s: %s: %s", T[i].schema, e.at, e.text);
	}
}

static void
patterns_match(void **)
{
	static const struct {
		const char *pattern, *text;
		int is; /* -1: not taken */
	} T[] = {
	    {"", "", 1},
	    {"", "x", 1},
	    {"a", "bab", 1},
	    {"^a$", "a", 1},
	    {"^a$", "ab", 0},
	    {"^(a|bc)*$", "abcbca", 1},
	    {"^(a|bc)*$", "abcb", 0},
	    {"^a{2,3}$", "aaa", 1},
	    {"^a{2,3}$", "aaaa", 0},
	    {"^a{2,3}$", "a", 0},
	    {"^a{2,}b?$", "aaaaab", 1},
	    {"^a{0}$", "", 1},
	    {"^[A-Z]{3}-\\d+$", "EUR-17", 1},
	    {"^[^a-c]+$", "xyzb", 0},
	    {"^[\\w.-]+@\\S+$", "a.b-c@d", 1},
	    {"^\\u98db.$", "\xe9\xa3\x9b\xe8\x84\x9a", 1},
	    {"^.$", "\xf0\x9f\x98\x80", 1},
	    {"^(?:x+x+)+y$", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 0},
	    {"^[]a]$", "a", 0},
	    {"a|^$", "", 1},
	    {"^\\D\\W\\s$", "a- ", 1},
	    {"(a", "", -1},
	    {"a)", "", -1},
	    {"[a", "", -1},
	    {"*", "", -1},
	    {"a**", "", -1},
	    {"a*?", "", -1},
	    {"\\b", "", -1},
	    {"(a)\\1", "", -1},
	    {"\\p{L}", "", -1},
	    {"a{3,2}", "", -1},
	    {"((((a{9}){9}){9}){9}){9}", "", -1},
	    {"((((((((((((((((((((((a?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)"
	     "?)?",
		"", -1},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		size_t left = 100000;
		struct pattern *p = NULL;
		int rc = pattern_compile(arena, str_of(T[i].pattern), &p, &e);

		if ((rc < 0) != (T[i].is < 0))
			fail_msg("%s: %d %s", T[i].pattern, rc, e.text);
		if (rc == OK &&
		    pattern_matches(p, str_of(T[i].text), &left) != T[i].is)
			fail_msg("%s of %s", T[i].pattern, T[i].text);
	}
}

/* A schema and a document that would take for ever end with a fault. */
static void
work_is_bounded(void **)
{
	struct buf b = BUF(MIB);
	struct jschema *s;

	buf_addz(&b, "{\"$defs\":{\"a0\":{\"type\":\"string\"}");
	for (int i = 1; i < 40; i++)
		buf_fmt(&b,
		    ",\"a%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":"
		    "\"#/$defs/a%d\"}]}",
		    i, i - 1, i - 1);
	buf_addz(&b, "},\"$ref\":\"#/$defs/a39\"}");
	buf_addc(&b, '\0');
	s = compile(b.p);
	assert_string_equal(faults_of(s, parse("1")), "/p");
	buf_clear(&b);
	buf_addc(&b, '[');
	for (int i = 0; i < 20000; i++)
		buf_fmt(&b, "%s%d", i ? "," : "", i);
	buf_addz(&b, "]");
	buf_addc(&b, '\0');
	s = compile("{\"uniqueItems\":true}");
	assert_string_equal(faults_of(s, parse(b.p)), "/p");
	buf_done(&b);
}

/* What whoever knows the old one can read. */
static void
changes_are_compared(void **)
{
	static const struct {
		const char *old, *new, *at; /* NULL: fits; the first fault */
	} T[] = {
	    {"{}", "{\"type\":\"string\"}", NULL},
	    {"{\"type\":\"string\"}", "{}", "/schema"},
	    {"{\"type\":\"number\"}", "{\"type\":\"integer\"}", NULL},
	    {"{\"type\":\"integer\"}", "{\"type\":\"number\"}", "/schema"},
	    {"{\"required\":[\"a\"]}", "{\"required\":[\"a\",\"b\"]}", NULL},
	    {"{\"required\":[\"a\",\"b\"]}", "{\"required\":[\"a\"]}",
		"/schema/b"},
	    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}",
		"{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{}}}",
		NULL},
	    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}",
		"{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"]}}}",
		"/schema/a"},
	    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{}",
		"/schema/a"},
	    {"{\"additionalProperties\":false,\"properties\":{\"a\":{}}}",
		"{\"additionalProperties\":false,\"properties\":{\"a\":{},"
		"\"b\":{}}}",
		"/schema/b"},
	    {"{\"enum\":[1,2]}", "{\"enum\":[2]}", NULL},
	    {"{\"enum\":[1,2]}", "{\"enum\":[2,3]}", "/schema"},
	    {"{\"maximum\":9}", "{\"maximum\":8}", NULL},
	    {"{\"maximum\":9}", "{\"maximum\":10}", "/schema"},
	    {"{\"minLength\":2}", "{\"minLength\":1}", "/schema"},
	    {"{\"items\":{\"type\":\"string\"}}",
		"{\"items\":{\"const\":\"a\",\"type\":\"string\"}}", NULL},
	    {"{\"pattern\":\"a\"}", "{\"pattern\":\"b\"}", "/schema"},
	    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}",
		"{\"anyOf\":[{\"type\":\"null\"}]}", NULL},
	    {"{\"$defs\":{\"n\":{\"properties\":{\"x\":{\"$ref\":"
	     "\"#/$defs/n\"}}}},\"$ref\":\"#/$defs/n\"}",
		"{\"$defs\":{\"n\":{\"properties\":{\"x\":{\"$ref\":"
		"\"#/$defs/n\"}}}},\"$ref\":\"#/$defs/n\"}",
		NULL},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct faults f = {.arena = arena};

		jschema_compare(compile(T[i].old), compile(T[i].new), &f);
		if (!T[i].at
			? f.n > 0
			: f.n == 0 || !str_eq(f.first->at, str_of(T[i].at)))
			fail_msg("%s to %s: %.*s", T[i].old, T[i].new,
			    f.n ? (int)f.first->at.n : 2,
			    f.n ? f.first->at.p : "ok");
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(documents_fit_or_not),
	    cmocka_unit_test(what_is_not_taken_is_named),
	    cmocka_unit_test(patterns_match),
	    cmocka_unit_test(work_is_bounded),
	    cmocka_unit_test(changes_are_compared),
	};

	return cmocka_run_group_tests(TESTS, setup, teardown);
}
