#include "seal/worst.h"

#include "base/test.h"
#include "seal/password.h"

static void
test_why(void **)
{
	static const struct {
		const char *password;
		const char *why; /* a part of it; NULL: fine */
	} rows[] = {
	    {"password", "common"},
	    {"PassWord", "common"},
	    {"Password123!", "common"},
	    {"p4ssw0rd", "common"},
	    {"P@$$w0rd1", "common"},
	    {"trustno1", "common"},
	    {"letmein!!", "common"},
	    {"123dragon", "common"},
	    {"changeme", "common"},
	    {"hikyaku2026", "common"},
	    {"11223344", "common"},
	    {"correcthorsebatterystaple", "common"},
	    {"aaaaaaaa", "over and over"},
	    {"abcabcabca", "over and over"},
	    {"12121212", "over and over"},
	    {"12345678", "run"},
	    {"1234567890", "run"},
	    {"87654321", "run"},
	    {"abcdefgh", "run"},
	    {"zyxwvuts", "run"},
	    {"QWERTYUIOP", "run"},
	    {"1q2w3e4r5t", "run"},
	    {"1qaz2wsx", "run"},
	    {"anna.smith", "account"},
	    {"Anna.Smith", "account"},
	    {"anna.smith99", "account"},
	    {"news.example.com", "server"},
	    {"News2026!", "server"},
	    {"correct-horse-battery", NULL},
	    {"anna.smith and her dog", NULL},
	    {"passwords are hard", NULL},
	    {"12345679", NULL},
	    {"abcdabcdx", NULL},
	    {"\xc3\xa9t\xc3\xa9-indien", NULL},
	    {"!!!!2345", NULL},
	};
	struct password_of of = {
	    .name = STR("anna.smith"), .url = STR("https://news.example.com/")};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *why = worst_why(str_of(rows[i].password), &of);

		if (!why != !rows[i].why || (why && !strstr(why, rows[i].why)))
			fail_msg("%s: %s", rows[i].password, why ? why : "-");
	}
	assert_null(worst_why(STR("anna.smith"), NULL));
}

/* Each line of the table is in the form that is looked for. */
static void
test_table(void **)
{
	static const char *const words[] = {
#define WORST(...) __VA_ARGS__,
#include "seal/worst.tbl"
#undef WORST
	};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!worst_why(str_of(words[i]), NULL))
			fail_msg("%s is not found", words[i]);
		for (const char *c = words[i]; *c; c++)
			if (*c >= 'A' && *c <= 'Z')
				fail_msg("%s has capitals", words[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_why),
	    cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
