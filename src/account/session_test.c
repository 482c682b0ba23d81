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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_cookie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
