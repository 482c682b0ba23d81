/* Sealed bytes: published vectors, every changed byte, keys, in place. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "seal/keyring.h"

#define ONES   "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
#define THREES "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="
#define PHRASE "correct horse battery staple"
#define WHERE  STR("log.body:1")

static char dir[] = "/tmp/hk-bytes-XXXXXX";

static struct keyring *
ring(const char *key, const char *old)
{
	struct keyring_opts o = {.source = "env",
	    .dir = dir,
	    .file = "",
	    .env_name = "HK_B_KEY",
	    .kms = {"aws", "", "", ""}};
	struct keyring *k = NULL;
	struct err e;

	(void)setenv("HK_B_KEY", key, 1);
	if (old)
		(void)setenv("HK_B_KEY_OLD", old, 1);
	else
		(void)unsetenv("HK_B_KEY_OLD");
	assert_int_equal(keyring_open(&o, &k, &e), OK);
	return k;
}

/* The two vectors of C2SP's XAES-256-GCM: text and tag of "XAES-256-GCM". */
static const struct {
	const char *key, *aad, *hex;
} VECTORS[] = {
    {ONES, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
    {THREES, "c2sp.org/XAES-256-GCM",
	"986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
};

static void
test_vectors(void **)
{
	for (size_t i = 0; i < COUNT_OF(VECTORS); i++) {
		struct keyring *k = ring(VECTORS[i].key, NULL);
		unsigned char both[28];
		char sealed[128] = "\x01\x03"
				   "envABCDEFGHIJKLMNOPQRSTUVWX";
		struct str out;
		struct err e;

		for (size_t j = 0; j < sizeof(both); j++) {
			char two[3] = {VECTORS[i].hex[2 * j],
			    VECTORS[i].hex[2 * j + 1], '\0'};

			both[j] = (unsigned char)strtoul(two, NULL, 16);
		}
		memcpy(sealed + 29, both + 12, 16);
		memcpy(sealed + 45, both, 12);
		assert_int_equal(
		    keyring_unseal_bytes(k, str_of(VECTORS[i].aad),
			(struct str){sealed, 57}, sealed, &out, &e),
		    OK);
		assert_str(out, "XAES-256-GCM");
		keyring_close(k);
	}
}

static void
test_round(void **)
{
	static const char *const KEYS[] = {ONES, "k-1:" THREES, PHRASE};
	char plain[3000], room[3000 + SEAL_BYTES_MORE];
	char back[sizeof(room)];

	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = (char)(i * 7);
	for (size_t i = 0; i < COUNT_OF(KEYS); i++) {
		struct keyring *k = ring(KEYS[i], NULL);

		for (size_t n = 0; n <= sizeof(plain); n += 300) {
			struct str s = {plain, n}, sealed, out;
			struct err e;

			sealed = keyring_seal_bytes(k, WHERE, s, room);
			assert_true(keyring_is_bytes(sealed));
			assert_true(sealed.n <= n + SEAL_BYTES_MORE);
			assert_true(str_eq(keyring_bytes_id(sealed),
			    str_of(keyring_id(k, 0))));
			assert_int_equal(keyring_unseal_bytes(
					     k, WHERE, sealed, back, &out, &e),
			    OK);
			assert_true(str_eq(out, s));
			/* in place */
			assert_int_equal(keyring_unseal_bytes(
					     k, WHERE, sealed, room, &out, &e),
			    OK);
			assert_true(str_eq(out, s));
		}
		keyring_close(k);
	}
}

static void
test_changed(void **)
{
	struct keyring *k = ring(PHRASE, NULL);
	char room[64 + SEAL_BYTES_MORE], to[sizeof(room)];
	struct str sealed, out = STR("untouched");
	struct err e;

	sealed = keyring_seal_bytes(k, WHERE, STR("{\"a\":1}"), room);
	for (size_t i = 0; i < sealed.n; i++) {
		/* Another salt costs a derivation: one of those is enough. */
		if (i > 5 && i < 21)
			continue;
		room[i] ^= 1;
		assert_int_equal(
		    keyring_unseal_bytes(k, WHERE, sealed, to, &out, &e),
		    ERR_INVALID);
		room[i] ^= 1;
	}
	for (size_t n = 0; n < sealed.n; n++)
		assert_int_equal(keyring_unseal_bytes(k, WHERE,
				     (struct str){room, n}, to, &out, &e),
		    ERR_INVALID);
	assert_int_equal(
	    keyring_unseal_bytes(k, STR("log.body:2"), sealed, to, &out, &e),
	    ERR_INVALID);
	assert_str(out, "untouched");
	assert_int_equal(
	    keyring_unseal_bytes(k, WHERE, sealed, to, &out, &e), OK);
	assert_false(keyring_is_bytes(STR("{}")));
	assert_false(keyring_is_bytes(STR_EMPTY));
	keyring_close(k);
}

static void
test_keys(void **)
{
	struct keyring *k = ring("a:" ONES, NULL);
	char room[64 + SEAL_BYTES_MORE], to[sizeof(room)];
	struct str sealed, out;
	struct err e;

	sealed = keyring_seal_bytes(k, WHERE, STR("text"), room);
	keyring_close(k);
	k = ring("b:" THREES, "a:" ONES); /* rotated */
	assert_int_equal(
	    keyring_unseal_bytes(k, WHERE, sealed, to, &out, &e), OK);
	assert_str(out, "text");
	keyring_close(k);
	k = ring("b:" THREES, NULL); /* gone */
	assert_int_equal(
	    keyring_unseal_bytes(k, WHERE, sealed, to, &out, &e), ERR_INVALID);
	assert_non_null(strstr(e.text, "the key a,"));
	keyring_close(k);
	k = ring("a:" THREES, NULL); /* another of the same name */
	assert_int_equal(
	    keyring_unseal_bytes(k, WHERE, sealed, to, &out, &e), ERR_INVALID);
	keyring_close(k);
	k = ring("a:" PHRASE, NULL);
	assert_int_equal(
	    keyring_unseal_bytes(k, WHERE, sealed, to, &out, &e), ERR_INVALID);
	keyring_close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vectors),
	    cmocka_unit_test(test_round),
	    cmocka_unit_test(test_changed),
	    cmocka_unit_test(test_keys),
	};
	char salt[64];
	int rc;

	assert_non_null(mkdtemp(dir));
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)snprintf(salt, sizeof(salt), "%s/seal.salt", dir);
	(void)unlink(salt);
	(void)rmdir(dir);
	return rc;
}
