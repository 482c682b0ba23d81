#include "account/session.h"

#include "base/test.h"
#include "seal/token.h"

/* Only what was made under this secret is read, to the last bit. */
static void
test_text(void **)
{
	struct session_key k = {{1, 2, 3}}, other = {{1, 2, 4}};
	unsigned char id[DIGEST_LEN], got[DIGEST_LEN];
	char text[SESSION_TEXT_LEN + 1], bad[SESSION_TEXT_LEN + 1];
	struct str whole = {text, SESSION_TEXT_LEN};

	session_make(&k, text, id);
	assert_int_equal(strlen(text), SESSION_TEXT_LEN);
	assert_true(session_read(&k, whole, got));
	assert_memory_equal(id, got, sizeof(id));
	assert_false(session_read(&other, whole, got));
	for (size_t i = 0; i < SESSION_TEXT_LEN; i++) {
		memcpy(bad, text, sizeof(bad));
		bad[i] = bad[i] == 'A' ? 'B' : 'A';
		if (session_read(&k, str_of(bad), got))
			fail_msg("byte %zu of %s", i, text);
		assert_false(session_read(&k, (struct str){text, i}, got));
	}
	session_make(&k, bad, got);
	assert_string_not_equal(text, bad);
	/* The store knows it by the token, not by what signs it. */
	digest_sha256((struct str){text, SESSION_TOKEN_LEN}, got);
	assert_memory_equal(id, got, sizeof(id));
}

static void
test_cookie(void **)
{
	static const struct {
		const char *header, *want;
	} rows[] = {
	    {"", ""},
	    {"a=1", ""},
	    {"hikyaku_session=x", "x"},
	    {"a=1; hikyaku_session=x.y; b=2", "x.y"},
	    {"a=1;hikyaku_session=x", "x"},
	    {" hikyaku_session = x ;", "x"},
	    {"xhikyaku_session=1; hikyaku_sessionx=2", ""},
	    {"a=hikyaku_session=1", ""},
	    {"hikyaku_session=a=b", "a=b"},
	    {"hikyaku_session", ""},
	    /* the first one, as servers do */
	    {"hikyaku_session=1; hikyaku_session=2", "1"},
	    {";;;=;=", ""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (!str_eq(session_cookie(
				str_of(rows[i].header), STR(SESSION_COOKIE)),
			str_of(rows[i].want)))
			fail_msg("row %zu", i);
}

/* A use puts the end off, up to the last of all. */
static void
test_life(void **)
{
	static const struct {
		int64_t age_s, total_s, created_s, now_s, end_s, step_s;
	} rows[] = {
	    {86400, 2592000, 1000, 1000, 87400, 60},
	    {86400, 2592000, 1000, 5000, 91400, 60},
	    {86400, 2592000, 1000, 2592000 - 80000, 2593000, 60},
	    {86400, 3600, 1000, 1000, 4600, 60},
	    {100, 1000, 0, 500, 600, 5},
	    {100, 1000, 0, 950, 1000, 5},
	    {20, 20, 0, 10, 20, 1},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct session_life l = {
		    rows[i].age_s * US_PER_S, rows[i].total_s * US_PER_S};

		if (session_end(&l, rows[i].created_s * US_PER_S,
			rows[i].now_s * US_PER_S) != rows[i].end_s * US_PER_S ||
		    session_step(&l) != rows[i].step_s * US_PER_S)
			fail_msg("row %zu", i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_cookie),
	    cmocka_unit_test(test_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
