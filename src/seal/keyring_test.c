/* Sealing: vectors, tampering, keys from everywhere, rotation. */
#include "seal/keyring.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "seal/limits.h"

#define RAW_KEY "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define OTHER   "//ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define PHRASE  "correct horse battery staple"
#define WHERE   STR("api_key.webhook_secret:1")

struct world {
	char dir[64], path[96];
	struct arena *a;
	struct err e;
};

static void
remove_files(struct world *w)
{
	static const char *const FILES[] = {
	    "seal.key", "seal.salt", "seal.key.new", "mine"};
	char path[128];

	for (size_t i = 0; i < COUNT_OF(FILES); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", w->dir, FILES[i]);
		(void)unlink(path);
	}
}

static int
begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/hk-seal-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->path, sizeof(w->path), "%s/seal.key", w->dir);
	w->a = arena_new(8 * MIB);
	assert_non_null(w->a);
	(void)unsetenv("HK_T_KEY");
	(void)unsetenv("HK_T_KEY_OLD");
	*state = w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	remove_files(w);
	(void)rmdir(w->dir);
	arena_free(w->a);
	free(w);
	return 0;
}

static void
put_file(struct world *w, const char *text, mode_t mode)
{
	FILE *f = fopen(w->path, "w");

	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
	assert_int_equal(chmod(w->path, mode), 0);
}

static int
open_as(struct world *w, const char *source, bool first, struct keyring **ret)
{
	struct keyring_opts o = {.source = source,
	    .dir = w->dir,
	    .file = "",
	    .env_name = "HK_T_KEY",
	    .first = first,
	    .kms = {"aws", "", "", ""}};

	return keyring_open(&o, ret, &w->e);
}

static struct keyring *
ring_env(struct world *w, const char *key, const char *old)
{
	struct keyring *k = NULL;

	assert_int_equal(setenv("HK_T_KEY", key, 1), 0);
	if (old)
		assert_int_equal(setenv("HK_T_KEY_OLD", old, 1), 0);
	else
		(void)unsetenv("HK_T_KEY_OLD");
	if (open_as(w, "env", false, &k) < 0)
		fail_msg("%s", w->e.text);
	return k;
}

#define LIT(l)                                                                 \
	{                                                                      \
		(l), sizeof(l) - 1                                             \
	}

/* Sealed elsewhere: a published vector, and what another program made. */
static void
test_vectors(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *key, *sealed;
		struct str where, plain;
	} rows[] = {
	    /* AES-256-GCM with data beside it: the GCM paper's test case 16 */
	    {"env:/v/pkoZlcxxtao+UZzCDCP7/6ZKGZXMcbWqPlGcwgwg=",
		"{\"v\":1,\"kid\":\"env\",\"iv\":\"yv66vvrO263eyviI\",\"ct\":\"Ui3B8JlWfQf0fzejKoRCfWQ6jNy/5cDJdZiivSVV0aqMsI5IWQ27PaewixBWgog4xfYeY5O6egq8yfZi\",\"tag\":\"dvxuzg9OF2jN34hTuy1VGw==\"}",
		LIT("\xfe\xed\xfa\xce\xde\xad\xbe\xef\xfe\xed\xfa\xce\xde\xad\xbe\xef\xab\xad\xda\xd2"),
		LIT("\xd9\x31\x32\x25\xf8\x84\x06\xe5\xa5\x59\x09\xc5\xaf\xf5\x26\x9a\x86\xa7\xa9\x53\x15\x34\xf7\xda\x2e\x4c\x30\x3d\x8a\x31\x8a\x72\x1c\x3c\x0c\x95\x95\x68\x09\x53\x2f\xcf\x0e\x24\x49\xa6\xb5\x25\xb1\x6a\xed\xf5\xaa\x0d\xe6\x57\xba\x63\x7b\x39")},
	    {"correct horse battery staple",
		"{\"v\":1,\"kid\":\"env\",\"s\":\"AAECAwQFBgcICQoLDA0ODw==\",\"iv\":\"AAECAwQFBgcICQoL\",\"ct\":\"Ahi+NMgYW7EpCDV6XRI=\",\"tag\":\"ydh5WA61FJ2MzPoeolyYyQ==\"}",
		LIT("here"), LIT("attack at dawn")},
	    {"p"
	     "\xc3\xa4"
	     "sswort mit Umlaut",
		"{\"v\":1,\"kid\":\"env\",\"s\":\"AAECAwQFBgcICQoLDA0ODw==\",\"iv\":\"AAECAwQFBgcICQoL\",\"ct\":\"BPcIPJw4Ue92bQFpkBk=\",\"tag\":\"ASKslL/d2yqJ+xXvXbIrOQ==\"}",
		LIT("here"), LIT("attack at dawn")},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct keyring *k = ring_env(w, rows[i].key, NULL);
		struct str plain;

		if (keyring_unseal(k, w->a, rows[i].where,
			str_of(rows[i].sealed), &plain, &w->e) < 0)
			fail_msg("row %zu: %s", i, w->e.text);
		assert_true(str_eq(plain, rows[i].plain));
		keyring_close(k);
	}
}

static void
test_round(void **state)
{
	static const char *const keys[] = {RAW_KEY, PHRASE, "k1:" RAW_KEY};
	struct world *w = *state;
	char big[4096];

	memset(big, 0xfe, sizeof(big));
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct keyring *k = ring_env(w, keys[i], NULL);
		struct str in[] = {
		    STR(""), STR("x"), STR("whsec_abc"), {big, sizeof(big)}};

		for (size_t n = 0; n < COUNT_OF(in); n++) {
			struct str sealed, again, out;

			assert_int_equal(
			    keyring_seal(k, w->a, WHERE, in[n], &sealed, &w->e),
			    OK);
			assert_int_equal(
			    keyring_seal(k, w->a, WHERE, in[n], &again, &w->e),
			    OK);
			assert_false(str_eq(sealed, again));
			for (size_t at = 0; at < sealed.n; at++)
				assert_in_range(sealed.p[at], ' ', '~');
			assert_int_equal(
			    keyring_unseal(k, w->a, WHERE, sealed, &out, &w->e),
			    OK);
			assert_true(str_eq(out, in[n]));
		}
		keyring_close(k);
	}
}

/* No other byte anywhere, none less, none more, and no other place. */
static void
test_tampered(void **state)
{
	static const char *const keys[] = {"k:" RAW_KEY, "k:" PHRASE};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct keyring *k = ring_env(w, keys[i], NULL);
		struct str sealed, out;
		char text[512];

		assert_int_equal(keyring_seal(k, w->a, WHERE, STR("a secret"),
				     &sealed, &w->e),
		    OK);
		assert_in_range(sealed.n, 1, sizeof(text) - 1);
		for (size_t at = 0; at < sealed.n; at++) {
			static const char with[] = "A0=\"}{,: x\x01\xff";

			for (size_t c = 0; c < sizeof(with); c++) {
				struct arena *a = arena_new(MIB);

				memcpy(text, sealed.p, sealed.n);
				if (text[at] != with[c]) {
					/* Another salt is another derivation
					 * each: one of them is enough. */
					text[at] = with[c];
					if (!(i == 1 && at > 20 && at < 44 &&
						c > 0) &&
					    keyring_unseal(k, a, WHERE,
						(struct str){text, sealed.n},
						&out, &w->e) == OK)
						fail_msg("%.*s", (int)sealed.n,
						    text);
				}
				arena_free(a);
			}
			assert_int_equal(
			    keyring_unseal(k, w->a, WHERE,
				(struct str){sealed.p, at}, &out, &w->e),
			    ERR_INVALID);
		}
		assert_int_equal(
		    keyring_unseal(k, w->a, STR("api_key.webhook_secret:2"),
			sealed, &out, &w->e),
		    ERR_INVALID);
		keyring_close(k);
	}
}

static void
test_wrong_key(void **state)
{
	struct world *w = *state;
	struct keyring *k = ring_env(w, "a:" RAW_KEY, NULL);
	struct str sealed, out;
	static const struct {
		const char *key, *says;
	} rows[] = {
	    {"a:" OTHER, "key a is another"},
	    {"b:" RAW_KEY, "key a, which sealed"},
	    {"a:" PHRASE, "key a is another"},
	};

	assert_int_equal(
	    keyring_seal(k, w->a, WHERE, STR("x"), &sealed, &w->e), OK);
	keyring_close(k);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		k = ring_env(w, rows[i].key, NULL);
		assert_int_equal(
		    keyring_unseal(k, w->a, WHERE, sealed, &out, &w->e),
		    ERR_INVALID);
		if (!strstr(w->e.text, rows[i].says))
			fail_msg("%s", w->e.text);
		keyring_close(k);
	}
}

/* What is no key is told at the start, and is never shown. */
static void
test_bad_sources(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *env, *old, *file;
		mode_t mode;
		int want;
		const char *says;
	} rows[] = {
	    {NULL, NULL, NULL, 0, ERR_ABSENT, "HK_T_KEY, which is not set"},
	    {"", NULL, NULL, 0, ERR_ABSENT, "not set"},
	    {"hunter2", NULL, NULL, 0, ERR_INVALID, "too short"},
	    {"id:hunter2", NULL, NULL, 0, ERR_INVALID, "key id in HK_T_KEY"},
	    {RAW_KEY, "old:" OTHER, NULL, 0, ERR_INVALID, "both need an id"},
	    {"a:" RAW_KEY, "a:" OTHER, NULL, 0, ERR_INVALID, "same id"},
	    {NULL, NULL, RAW_KEY "\n", 0640, ERR_INVALID, "chmod 600"},
	    {NULL, NULL, RAW_KEY "\n", 0604, ERR_INVALID, "mode 604"},
	    {NULL, NULL, "", 0600, ERR_INVALID, "has no key"},
	    {NULL, NULL, "# none\n\n", 0600, ERR_INVALID, "has no key"},
	    {NULL, NULL, "a:" RAW_KEY "\na:" OTHER "\n", 0600, ERR_INVALID,
		"same id"},
	    {NULL, NULL, "hunter2\n", 0600, ERR_INVALID, "too short"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct keyring *k = NULL;

		(void)unsetenv("HK_T_KEY");
		(void)unsetenv("HK_T_KEY_OLD");
		if (rows[i].env)
			(void)setenv("HK_T_KEY", rows[i].env, 1);
		if (rows[i].old)
			(void)setenv("HK_T_KEY_OLD", rows[i].old, 1);
		if (rows[i].file)
			put_file(w, rows[i].file, rows[i].mode);
		assert_int_equal(
		    open_as(w, rows[i].file ? "file" : "env", true, &k),
		    rows[i].want);
		assert_null(k);
		if (!strstr(w->e.text, rows[i].says) ||
		    strstr(w->e.text, "hunter2") || strstr(w->e.text, RAW_KEY))
			fail_msg("row %zu: %s", i, w->e.text);
	}
}

/* A file is made the first time; later a lost one is an error. */
static void
test_file_made(void **state)
{
	struct world *w = *state;
	struct keyring *k = NULL;
	struct str sealed, out;
	struct stat st;

	assert_int_equal(open_as(w, "file", false, &k), ERR_ABSENT);
	assert_int_equal(open_as(w, "file", true, &k), OK);
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(
	    keyring_seal(k, w->a, WHERE, STR("kept"), &sealed, &w->e), OK);
	keyring_close(k);
	assert_int_equal(open_as(w, "file", true, &k), OK);
	assert_int_equal(
	    keyring_unseal(k, w->a, WHERE, sealed, &out, &w->e), OK);
	assert_str(out, "kept");
	keyring_close(k);
}

/* A new key seals at once; the old one still unseals, now and later. */
static void
test_rotation(void **state)
{
	struct world *w = *state;
	struct str sealed[3], out, id;
	struct keyring *k = NULL;
	char first[SEAL_ID_MAX + 1];

	put_file(w, "# mine\nold:" PHRASE "\n", 0600);
	assert_int_equal(open_as(w, "file", false, &k), OK);
	for (size_t i = 0; i < COUNT_OF(sealed); i++) {
		assert_int_equal(keyring_seal(k, w->a, WHERE, STR("kept"),
				     &sealed[i], &w->e),
		    OK);
		assert_int_equal(
		    keyring_id_of(w->a, sealed[i], &id, &w->e), OK);
		assert_true(str_eq(id, str_of(keyring_id(k, 0))));
		if (i == 0)
			assert_str(id, "old");
		assert_int_equal(keyring_add(k, &w->e), OK);
	}
	(void)snprintf(first, sizeof(first), "%s", keyring_id(k, 0));
	assert_string_equal(keyring_id(k, 3), "old");
	assert_null(keyring_id(k, 4));
	keyring_close(k);
	assert_int_equal(open_as(w, "file", false, &k), OK);
	assert_string_equal(keyring_id(k, 0), first);
	for (size_t i = 0; i < COUNT_OF(sealed); i++) {
		assert_int_equal(
		    keyring_unseal(k, w->a, WHERE, sealed[i], &out, &w->e), OK);
		assert_str(out, "kept");
	}
	while (keyring_id(k, SEAL_KEYS_MAX - 1) == NULL)
		assert_int_equal(keyring_add(k, &w->e), OK);
	assert_int_equal(keyring_add(k, &w->e), ERR_LIMIT);
	keyring_close(k);
	k = ring_env(w, "new:" OTHER, "old:" PHRASE);
	assert_int_equal(
	    keyring_unseal(k, w->a, WHERE, sealed[0], &out, &w->e), OK);
	assert_int_equal(keyring_add(k, &w->e), ERR_CONFLICT);
	keyring_close(k);
}

/* One folder, one salt: a start derives once, whatever was sealed before. */
static void
test_salt_stays(void **state)
{
	struct world *w = *state;
	struct keyring *k = ring_env(w, PHRASE, NULL);
	struct str a, b;

	assert_int_equal(keyring_seal(k, w->a, WHERE, STR("x"), &a, &w->e), OK);
	keyring_close(k);
	k = ring_env(w, PHRASE, NULL);
	assert_int_equal(keyring_seal(k, w->a, WHERE, STR("x"), &b, &w->e), OK);
	keyring_close(k);
	assert_memory_equal(
	    a.p, b.p, strlen("{\"v\":1,\"kid\":\"env\",\"s\":") + 24);
}

struct work {
	struct keyring *k;
	struct str other;
	int failures;
};

static void *
seal_many(void *arg)
{
	struct work *x = arg;

	for (int i = 0; i < 200; i++) {
		struct arena *a = arena_new(MIB);
		struct str sealed, out;
		struct err e;

		if (keyring_seal(x->k, a, WHERE, STR("shared"), &sealed, &e) <
			0 ||
		    keyring_unseal(x->k, a, WHERE, sealed, &out, &e) < 0 ||
		    keyring_unseal(x->k, a, WHERE, x->other, &out, &e) < 0 ||
		    !str_eq(out, STR("other")))
			x->failures++;
		arena_free(a);
	}
	return NULL;
}

/* Threads seal and unseal while keys come. */
static void
test_threads(void **state)
{
	struct world *w = *state;
	struct keyring *k = NULL;
	struct work work[3];
	pthread_t t[3];
	struct str other;

	put_file(w, "old:" PHRASE "\n", 0600);
	assert_int_equal(open_as(w, "file", false, &k), OK);
	assert_int_equal(
	    keyring_seal(k, w->a, WHERE, STR("other"), &other, &w->e), OK);
	for (int i = 0; i < 3; i++) {
		work[i] = (struct work){.k = k, .other = other};
		assert_int_equal(
		    pthread_create(&t[i], NULL, seal_many, &work[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(keyring_add(k, &w->e), OK);
	for (int i = 0; i < 3; i++) {
		(void)pthread_join(t[i], NULL);
		assert_int_equal(work[i].failures, 0);
	}
	keyring_close(k);
}

static void
test_too_much(void **state)
{
	struct world *w = *state;
	struct keyring *k = ring_env(w, RAW_KEY, NULL);
	struct arena *a = arena_new(8 * MIB);
	char *big = calloc(1, SEAL_PLAIN_MAX + 1);
	struct str sealed, out;

	assert_int_equal(
	    keyring_seal(k, a, WHERE, (struct str){big, SEAL_PLAIN_MAX + 1},
		&sealed, &w->e),
	    ERR_LIMIT);
	assert_int_equal(keyring_seal(k, a, WHERE,
			     (struct str){big, SEAL_PLAIN_MAX}, &sealed, &w->e),
	    OK);
	assert_int_equal(keyring_unseal(k, a, WHERE, sealed, &out, &w->e), OK);
	assert_int_equal(out.n, SEAL_PLAIN_MAX);
	free(big);
	arena_free(a);
	keyring_close(k);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
	    T(test_vectors),
	    T(test_round),
	    T(test_tampered),
	    T(test_wrong_key),
	    T(test_bad_sources),
	    T(test_file_made),
	    T(test_rotation),
	    T(test_salt_stays),
	    T(test_threads),
	    T(test_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
