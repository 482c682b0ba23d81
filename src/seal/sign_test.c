#include "seal/sign.h"

#include "base/test.h"
#include "seal/base64.h"

/* Hexadecimal digits to bytes; returns how many. */
static size_t
unhex(const char *hex, char *ret)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		ret[i] = (char)strtol(pair, NULL, 16);
	}
	return n;
}

static struct signer *
signer_of(struct str secret, enum secret_form form)
{
	struct signer *s = NULL;
	struct err e;

	assert_int_equal(signer_new(secret, form, "/secret", &s, &e), OK);
	return s;
}

/* A key as the text that Standard Webhooks writes. */
static struct str
prefixed(struct buf *b, const char *prefix, struct str key)
{
	buf_clear(b);
	buf_addz(b, prefix);
	base64_add(b, key);
	return buf_str(b);
}

/* RFC 8032, 7.1: tests 1, 2, 3. */
static void
test_ed25519_rfc8032(void **)
{
	static const struct {
		const char *seed, *public, *message, *signature;
	} rows[] = {
	    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		"",
		"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
		"5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
	    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
		"72",
		"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
		"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
	    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
		"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
		"af82",
		"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
		"18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
	};
	struct buf b = BUF(256);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char key[64], message[8], want[64], text[SECRET_TEXT_LEN];
		unsigned char got[SIGN_MAX];
		size_t n = unhex(rows[i].message, message);
		struct str part = {message, n};
		struct signer *s, *v;
		struct err e;

		(void)unhex(rows[i].seed, key);
		(void)unhex(rows[i].public, key + 32);
		(void)unhex(rows[i].signature, want);
		/* With the public key behind it, and without. */
		s = signer_of(prefixed(&b, "whsk_", (struct str){key, 64}),
		    SECRET_STANDARD);
		assert_int_equal(signer_sign(s, &part, 1, got, &e), 64);
		assert_memory_equal(got, want, 64);
		assert_true(sign_public(s, text));
		signer_free(s);
		s = signer_of(prefixed(&b, "whsk_", (struct str){key, 32}),
		    SECRET_STANDARD);
		assert_int_equal(signer_sign(s, &part, 1, got, &e), 64);
		assert_memory_equal(got, want, 64);

		v = signer_of(str_of(text), SECRET_STANDARD);
		assert_int_equal(signer_algorithm(v), SIGN_ED25519);
		assert_false(signer_can_sign(v));
		assert_true(signer_verify(v, &part, 1, (struct str){want, 64}));
		assert_false(
		    signer_verify(v, &part, 1, (struct str){want, 63}));
		want[5] ^= 1;
		assert_false(
		    signer_verify(v, &part, 1, (struct str){want, 64}));
		signer_free(s);
		signer_free(v);
	}
	buf_done(&b);
}

/* RFC 4231, cases 2 and 4, in parts; and the keys' forms. */
static void
test_hmac_rfc4231(void **)
{
	char key[64], want[32], data[50];
	unsigned char got[SIGN_MAX];
	struct buf b = BUF(256);
	struct signer *s = signer_of(STR("Jefe"), SECRET_TEXT);
	struct str parts[] = {STR("what do ya want "), STR("for nothing?")};
	struct str whole;
	struct err e;

	(void)unhex("5bdcc146bf60754e6a042426089575c7"
		    "5a003f089d2739839dec58b964ec3843",
	    want);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(signer_sign(s, parts, 2, got, &e), 32);
		assert_memory_equal(got, want, 32);
		assert_true(signer_verify(s, parts, 2, (struct str){want, 32}));
		assert_false(
		    signer_verify(s, parts, 1, (struct str){want, 32}));
	}
	signer_free(s);

	/* Case 4 has a key of 25 bytes: long enough for whsec_. */
	for (int i = 0; i < 25; i++)
		key[i] = (char)(i + 1);
	memset(data, 0xcd, sizeof(data));
	(void)unhex("82558a389a443c0ea4cc819899f2083a"
		    "85f0faa3e578f8077a2e3ff46729665b",
	    want);
	whole = (struct str){data, sizeof(data)};
	for (int form = 0; form < 2; form++) {
		s = signer_of(prefixed(&b, "whsec_", (struct str){key, 25}),
		    form ? SECRET_EITHER : SECRET_STANDARD);
		assert_int_equal(signer_sign(s, &whole, 1, got, &e), 32);
		assert_memory_equal(got, want, 32);
		signer_free(s);
	}
	buf_done(&b);
}

static void
test_forms_refused(void **)
{
	static const char *const rows[] = {
	    "secret",
	    "",
	    "whsec_",
	    "whsec_AAAA",
	    "whsec_!!!!",
	    /* 23 and 65 bytes */
	    "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	    "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	    "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
	    /* 64 bytes whose halves do not belong together */
	    "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
	    "whpk_AAAA",
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct signer *s = NULL;
		struct err e;

		assert_int_equal(signer_new(str_of(rows[i]), SECRET_STANDARD,
				     "/secret", &s, &e),
		    ERR_INVALID);
		assert_string_equal(e.at, "/secret");
		assert_null(s);
		/* What was given is not repeated. */
		if (strlen(rows[i]) > 10)
			assert_null(strstr(e.text, rows[i] + 6));
	}
}

static void
test_made(void **)
{
	struct str hi = STR("hi");
	struct err e;

	for (int i = 0; i < 20; i++) {
		char text[SECRET_TEXT_LEN], again[SECRET_TEXT_LEN];
		enum sign_algorithm algorithm = i % 2;
		unsigned char got[SIGN_MAX];
		struct signer *s;
		int n;

		sign_make_secret(algorithm, text);
		sign_make_secret(algorithm, again);
		assert_string_not_equal(text, again);
		s = signer_of(str_of(text), SECRET_STANDARD);
		assert_int_equal(signer_algorithm(s), algorithm);
		n = signer_sign(s, &hi, 1, got, &e);
		assert_int_equal(n, algorithm ? 64 : 32);
		assert_true(signer_verify(
		    s, &hi, 1, (struct str){(const char *)got, (size_t)n}));
		if (!algorithm)
			assert_false(sign_public(s, again));
		signer_free(s);

		sign_make_text(text);
		assert_int_equal(strlen(text), 64);
		assert_int_equal(strspn(text, "0123456789abcdef"), 64);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ed25519_rfc8032),
	    cmocka_unit_test(test_hmac_rfc4231),
	    cmocka_unit_test(test_forms_refused),
	    cmocka_unit_test(test_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
