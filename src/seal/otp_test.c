#include "seal/otp.h"

#include "base/test.h"

/* RFC 6238, appendix B; each hash has a key of its own length. */
static void
test_rfc6238(void **)
{
	static const char *const keys[] = {
	    "12345678901234567890",
	    "12345678901234567890123456789012",
	    "1234567890123456789012345678901234567890123456789012345678901234",
	};
	static const struct {
		int64_t at_s;
		const char *want[3];
	} rows[] = {
	    {59, {"94287082", "46119246", "90693936"}},
	    {1111111109, {"07081804", "68084774", "25091201"}},
	    {1111111111, {"14050471", "67062674", "99943326"}},
	    {1234567890, {"89005924", "91819424", "93441116"}},
	    {2000000000, {"69279037", "90698825", "38618901"}},
	    {20000000000, {"65353130", "77737706", "47863826"}},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int h = 0; h < 3; h++) {
			struct otp o = {.secret = str_of(keys[h]),
			    .hash = (enum otp_hash)h,
			    .step_s = 30,
			    .digits = 8};
			char code[OTP_MAX + 1];

			assert_int_equal(otp_make(&o, STR_EMPTY,
					     rows[i].at_s * US_PER_S, code),
			    8);
			assert_string_equal(code, rows[i].want[h]);
			/* t0 shifts the clock. */
			o.t0_s = 30000;
			(void)otp_make(&o, STR_EMPTY,
			    (rows[i].at_s + 30000) * US_PER_S, code);
			assert_string_equal(code, rows[i].want[h]);
		}
}

/* The key of RFC 6238 in each spelling. */
static void
test_keys(void **)
{
	static const struct {
		enum otp_key form;
		const char *text, *want; /* NULL: refused */
	} rows[] = {
	    {OTP_KEY_TEXT, "12345678901234567890", "12345678901234567890"},
	    {OTP_KEY_BASE32, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
		"12345678901234567890"},
	    {OTP_KEY_BASE32, "gezdgnbv", "12345"},
	    {OTP_KEY_BASE32, "GE======", "1"},
	    {OTP_KEY_BASE32, "GEZA", "12"},
	    {OTP_KEY_BASE32, "GEZ", NULL},
	    {OTP_KEY_BASE32, "GE1A", NULL},
	    {OTP_KEY_BASE32, "GE ZA", NULL},
	    {OTP_KEY_HEX, "3132333435", "12345"},
	    {OTP_KEY_HEX, "313", NULL},
	    {OTP_KEY_HEX, "3g", NULL},
	    {OTP_KEY_BASE64, "MTIzNDU2Nzg5MA==", "1234567890"},
	    {OTP_KEY_BASE64, "MTIzNDU2Nzg5MA", "1234567890"},
	    {OTP_KEY_BASE64, "MTIz!", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char key[64];
		size_t n = 0;
		bool ok = otp_key(rows[i].form, str_of(rows[i].text), key, &n);

		if (ok != (rows[i].want != NULL))
			fail_msg("%s", rows[i].text);
		if (ok && !str_eq((struct str){key, n}, str_of(rows[i].want)))
			fail_msg("%s: %.*s", rows[i].text, (int)n, key);
	}
}

/* A code is good in its step and one to either side. */
static void
test_window(void **)
{
	struct otp o = {
	    .secret = STR("12345678901234567890"), .step_s = 30, .digits = 6};
	char code[OTP_MAX + 1];
	int64_t step = 0;

	(void)otp_make(&o, STR_EMPTY, 3000 * US_PER_S, code);
	for (int64_t at = 2900; at < 3100; at++) {
		bool good = at >= 2970 && at < 3060;

		assert_int_equal(otp_check(&o, STR_EMPTY, str_of(code),
				     at * US_PER_S, &step),
		    good);
		if (good)
			assert_int_equal(step, 100);
	}
	assert_false(otp_check(&o, STR_EMPTY, STR(""), 3000 * US_PER_S, NULL));
	assert_false(
	    otp_check(&o, STR("t1"), str_of(code), 3000 * US_PER_S, NULL));
}

/* Salt at its place equals a longer key or message, and nothing else. */
static void
test_salt_and_encodings(void **)
{
	static const struct {
		enum otp_salt mode;
		enum otp_encoding encoding;
		unsigned digits;
		const char *bound, *want;
	} rows[] = {
	    /* HMAC-SHA1 of a counter of 2, written with another program. */
	    {OTP_SALT_NONE, OTP_HEX, 40, "",
		"780c115a89221c5132fcfe2dcde758a371f0a867"},
	    {OTP_SALT_NONE, OTP_HEX, 8, "", "780c115a"},
	    {OTP_SALT_NONE, OTP_BASE32, 32, "",
		"PAGBCWUJEIOFCMX47YW43Z2YUNY7BKDH"},
	    {OTP_SALT_NONE, OTP_BASE64, 27, "", "eAwRWokiHFEy/P4tzedYo3HwqGc"},
	    {OTP_SALT_KEY_BEFORE, OTP_HEX, 40, "",
		"1f3af2d97ff573384a32fd17ddb726f22b689c93"},
	    {OTP_SALT_KEY_AFTER, OTP_HEX, 40, "",
		"c0215eadaea8bddde323f7e9fc339e0c67266419"},
	    {OTP_SALT_MESSAGE_BEFORE, OTP_HEX, 40, "",
		"52a1debdae532613ccea0fa3646dd164a36e71b0"},
	    {OTP_SALT_MESSAGE_AFTER, OTP_HEX, 40, "",
		"7f37b3d0aea1aa1799d6995ac8e137e5d8ab0b8c"},
	    {OTP_SALT_NONE, OTP_HEX, 40, "tenant1",
		"05f06e71f53c9d898f0d5a055f47356b9a7a3a94"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct otp o = {.secret = STR("key"),
		    .salt = rows[i].mode ? STR("salt") : STR_EMPTY,
		    .salt_mode = rows[i].mode,
		    .encoding = rows[i].encoding,
		    .step_s = 30,
		    .digits = rows[i].digits};
		char code[OTP_MAX + 1];
		struct err e;

		assert_int_equal(otp_valid(&o, "/otp", &e), OK);
		(void)otp_make(&o, str_of(rows[i].bound), 60 * US_PER_S, code);
		assert_string_equal(code, rows[i].want);
	}
}

static void
test_refused(void **)
{
	static const struct otp good = {
	    .secret = {"s", 1}, .step_s = 30, .digits = 8};
	struct otp rows[] = {good, good, good, good, good, good, good};
	static const char *const at[] = {"/otp/secret", "/otp/step",
	    "/otp/digits", "/otp/digits", "/otp/saltMode", "/otp/saltMode",
	    "/otp/t0"};

	rows[0].secret = STR_EMPTY;
	rows[1].step_s = 0;
	rows[2].digits = 11;
	rows[3].digits = 3;
	rows[4].salt_mode = OTP_SALT_KEY_AFTER;
	rows[5].salt = STR("x");
	rows[6].t0_s = -1;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err e;

		assert_int_equal(otp_valid(&rows[i], "/otp", &e), ERR_INVALID);
		assert_string_equal(e.at, at[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rfc6238),
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_window),
	    cmocka_unit_test(test_salt_and_encodings),
	    cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
