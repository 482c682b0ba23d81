#include "seal/password.h"

#include "base/test.h"
#include "seal/limits.h"
#include "seal/token.h"

static void
test_lengths(void **)
{
	static const struct {
		size_t n;
		int want;
	} rows[] = {{0, ERR_INVALID}, {PASSWORD_MIN - 1, ERR_INVALID},
	    {PASSWORD_MIN, OK}, {PASSWORD_MAX, OK},
	    {PASSWORD_MAX + 1, ERR_INVALID}};
	char long_one[PASSWORD_MAX + 1];
	struct err e;

	for (size_t i = 0; i < sizeof(long_one); i++)
		long_one[i] = (char)('a' + i * i % 23);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    password_check((struct str){long_one, rows[i].n}, NULL,
			"/password", &e),
		    rows[i].want);
	assert_string_equal(e.at, "/password");
	assert_int_equal(
	    password_check(STR("password1"), NULL, "/password", &e),
	    ERR_INVALID);
	assert_string_equal(e.at, "/password");
}

static void
test_hash(void **)
{
	char one[PASSWORD_HASH_SIZE], two[PASSWORD_HASH_SIZE];
	struct str pw = STR("correct horse");
	bool same = false;
	struct err e;

	assert_int_equal(password_hash(pw, one, &e), OK);
	assert_int_equal(password_hash(pw, two, &e), OK);
	assert_string_not_equal(one, two);
	assert_true(
	    str_starts(str_of(one), STR("$argon2id$v=19$m=7168,t=5,p=1$")));
	assert_int_equal(password_verify(str_of(one), pw, &same, &e), OK);
	assert_true(same);
	assert_int_equal(
	    password_verify(str_of(one), STR("correct horsf"), &same, &e), OK);
	assert_false(same);
	password_waste(pw);
}

static void
test_foreign(void **)
{
	/* Other parameters than ours, still good. */
	struct str old = STR("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$"
			     "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4");
	bool same = false;
	struct err e;

	assert_int_equal(password_verify(old, STR("password"), &same, &e), OK);
	assert_true(same);
	assert_int_equal(
	    password_verify(STR("plain"), STR("plain"), &same, &e), ERR_STORE);
	assert_true(same);
}

static void
test_made(void **)
{
	char a[PASSWORD_MADE_LEN + 1], b[PASSWORD_MADE_LEN + 1];

	for (int i = 0; i < 100; i++) {
		password_make(a);
		password_make(b);
		assert_int_equal(strlen(a), PASSWORD_MADE_LEN);
		assert_string_not_equal(a, b);
		assert_null(strpbrk(a, "0Oo1lI"));
	}
}

static void
test_token(void **)
{
	static const char *const bad[] = {"", "hk_", "hk_short",
	    "hk_0123456789012345678901234567890123456789012x",
	    "hk-0123456789012345678901234567890123456789012",
	    "hk_012345678901234567890123456789012345678901-",
	    "hk_012345678901234567890123456789012345678901\n"};
	struct token t, u;
	unsigned char hash[DIGEST_LEN];

	token_make(&t);
	token_make(&u);
	assert_string_not_equal(t.text, u.text);
	assert_true(token_formed(str_of(t.text)));
	assert_int_equal(strlen(t.shown), TOKEN_SHOWN);
	assert_memory_equal(t.text, t.shown, TOKEN_SHOWN);
	digest_sha256(str_of(t.text), hash);
	assert_memory_equal(hash, t.hash, sizeof(hash));
	assert_true(token_formed(
	    STR("hk_0123456789012345678901234567890123456789012")));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(token_formed(str_of(bad[i])));
}

/* Every letter comes up, about as often as every other. */
static void
test_even(void **)
{
	enum { DRAWS = 64000 };
	char *text = malloc(DRAWS + 1);
	int seen[256] = {0};

	assert_non_null(text);
	token_text(text, DRAWS, STR("abcde"));
	for (int i = 0; i < DRAWS; i++)
		seen[(unsigned char)text[i]]++;
	for (char c = 'a'; c <= 'e'; c++)
		assert_in_range(
		    seen[(unsigned char)c], DRAWS / 5 - 1000, DRAWS / 5 + 1000);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_hash),
	    cmocka_unit_test(test_foreign),
	    cmocka_unit_test(test_made),
	    cmocka_unit_test(test_token),
	    cmocka_unit_test(test_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
