#include "account/signup.h"

#include "base/test.h"
#include "seal/jwt.h"

static void
test_allows(void **)
{
	static const struct {
		const char *rules, *email;
		bool verified;
		const char *groups;
		bool want;
	} rows[] = {
	    {"closed", "ann@example.com", true, "[\"closed\"]", false},
	    {"", "ann@example.com", true, "[]", false},
	    {"open", "", false, "null", true},
	    {"@example.com", "ann@example.com", true, "[]", true},
	    {"@Example.COM", "Ann@eXample.com", true, "[]", true},
	    {"@example.com", "ann@example.com", false, "[]", false},
	    {"@example.com", "ann@sub.example.com", true, "[]", false},
	    {"@example.com", "ann@notexample.com", true, "[]", false},
	    {"@example.com", "ann@example.com@evil.org", true, "[]", false},
	    {"@example.com", "@example.com@", true, "[]", false},
	    {"@example.com", "", true, "[]", false},
	    {"@a.org,ann@example.com", "ann@example.com", true, "[]", true},
	    {"ann@example.com", "bob@example.com", true, "[]", false},
	    {"ann@example.com", "ann@example.com", false, "[]", false},
	    {"group:staff", "", false, "[\"all\",\"staff\"]", true},
	    {"group:staff", "", false, "[\"Staff\",7,\"staff2\"]", false},
	    {"group:staff", "", false, "\"staff\"", false},
	    {"@a.org, group:staff", "b@b.org", true, "[\"staff\"]", true},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena *a = arena_new(64 * KIB);
		struct json *j = NULL;
		struct err e;
		struct jwt_claims c = {.email = str_of(rows[i].email),
		    .email_verified = rows[i].verified};

		assert_int_equal(
		    json_parse(a, str_of(rows[i].groups), &j, &e), OK);
		c.groups = j;
		if (signup_allows(str_of(rows[i].rules), &c) != rows[i].want)
			fail_msg("row %zu: %s", i, rows[i].rules);
		arena_free(a);
	}
}

static void
test_check(void **)
{
	static const struct {
		const char *rules;
		int want;
		bool groups;
	} rows[] = {
	    {"open", OK, false},
	    {"closed", OK, false},
	    {"@example.com,ann@example.org,group:staff", OK, true},
	    {"group:", ERR_INVALID, true},
	    {"example.com", ERR_INVALID, false},
	    {"ann@", ERR_INVALID, false},
	    {"@example.com,open", ERR_INVALID, false},
	    {"Open", ERR_INVALID, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err e;

		if (signup_check(str_of(rows[i].rules), &e) != rows[i].want ||
		    signup_groups(str_of(rows[i].rules)) != rows[i].groups)
			fail_msg("%s", rows[i].rules);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_allows),
	    cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
