#include "seal/digest.h"

#include "base/test.h"
#include "loop/thread.h"
#include "seal/base64.h"

static void
check_hex(const unsigned char *got, size_t n, const char *want)
{
	struct buf b = BUF(256);

	buf_hex(&b, (struct str){(const char *)got, n});
	buf_addc(&b, '\0');
	assert_string_equal(b.p, want);
	buf_done(&b);
}

static void
test_sha256(void **)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
	    {"", "e3b0c44298fc1c149afbf4c8996fb924"
		 "27ae41e4649b934ca495991b7852b855"},
	    {"abc", "ba7816bf8f01cfea414140de5dae2223"
		    "b00361a396177a9cb410ff61f20015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039"
		"a33ce45964ff2167f6ecedd419db06c1"},
	};
	unsigned char d[DIGEST_LEN];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		digest_sha256(str_of(rows[i].in), d);
		check_hex(d, sizeof(d), rows[i].want);
	}
	digest_short(STR("abc"), d);
	check_hex(d, DIGEST_SHORT_LEN, "ba7816bf8f01cfea414140de5dae2223");
}

/* RFC 4231, cases 1, 2 and 6; a context is used again and again. */
static void
test_hmac(void **)
{
	char k1[20], k6[131];
	const struct {
		struct str key, data;
		const char *want;
	} rows[] = {
	    {{k1, sizeof(k1)}, STR("Hi There"),
		"b0344c61d8db38535ca8afceaf0bf12b"
		"881dc200c9833da726e9376c2e32cff7"},
	    {STR("Jefe"), STR("what do ya want for nothing?"),
		"5bdcc146bf60754e6a042426089575c7"
		"5a003f089d2739839dec58b964ec3843"},
	    {{k6, sizeof(k6)},
		STR("Test Using Larger Than Block-Size Key - Hash Key First"),
		"60e431591ee0b67f0d8a26aacbf5b77f"
		"8e0bc6213728c5140546040f0ee37f54"},
	};
	unsigned char d[DIGEST_LEN];

	memset(k1, 0x0b, sizeof(k1));
	memset(k6, 0xaa, sizeof(k6));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct hmac *h = hmac_new(rows[i].key);

		for (size_t cut = 0; cut <= rows[i].data.n; cut++) {
			struct str parts[2] = {
			    {rows[i].data.p, cut}, str_from(rows[i].data, cut)};

			hmac_sum(h, parts, 2, d);
			check_hex(d, sizeof(d), rows[i].want);
		}
		hmac_free(h);
	}
}

static void
test_eq(void **)
{
	char wiped[4] = "abc";

	assert_true(digest_eq("abcd", "abcd", 4));
	assert_false(digest_eq("abcd", "abce", 4));
	assert_false(digest_eq("xbcd", "abcd", 4));
	digest_wipe(wiped, sizeof(wiped));
	assert_memory_equal(wiped, "\0\0\0\0", 4);
}

static void
hash_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		digest_sha256(STR("abc"), arg);
}

/* Each thread has its own context, and gives it back when it ends. */
static void
test_threads(void **)
{
	unsigned char d[4][DIGEST_LEN], want[DIGEST_LEN];
	struct thread *t[4];
	struct err e;

	digest_sha256(STR("abc"), want);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
		    thread_start("hash", hash_often, d[i], &t[i], &e), OK);
	for (size_t i = 0; i < 4; i++) {
		thread_join(t[i]);
		assert_memory_equal(d[i], want, sizeof(want));
	}
}

static void
test_base64(void **)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
	    {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
	    {"\xfb\xff\xfe", "+//+"}};
	static const char *const bad[] = {"Z", "Zg",
	    "Zg=", "====", "Z===", "Zg==Zg==", "Zh==", "Zm9=", "Zm 9v",
	    "Zm9v\n", "Zm-_", "=Zg=", "Zg=A", "Zm9vYmFyZm9vYmFyZm9v"};
	struct buf b = BUF(64);
	char out[12];
	size_t n;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		buf_clear(&b);
		base64_add(&b, str_of(rows[i].bytes));
		assert_true(str_eq(buf_str(&b), str_of(rows[i].text)));
		assert_true(base64_read(buf_str(&b), out, sizeof(out), &n));
		assert_true(
		    str_eq((struct str){out, n}, str_of(rows[i].bytes)));
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(base64_read(str_of(bad[i]), out, sizeof(out), &n));
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sha256),
	    cmocka_unit_test(test_hmac),
	    cmocka_unit_test(test_eq),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
