#include "seal/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/test.h"
#include "seal/base64.h"
#include "seal/digest.h"

#define NOW 1768000000

/* The provider: its keys, and one that is not its. */
static struct {
	EVP_PKEY *rsa, *ec, *other_rsa, *other_ec;
	struct buf set; /* JWKS with the first two */
	struct jwks *keys;
	struct arena *arena;
} p;

static const struct jwt_want WANT = {
    .issuer = {"https://issuer.example", 22},
    .client_id = {"us", 2},
    .nonce = {"n-123", 5},
    .now_s = NOW,
};

#define CLAIMS                                                                   \
	"\"iss\":\"https://issuer.example\",\"aud\":\"us\",\"nonce\":\"n-123\"," \
	"\"sub\":\"248289761001\",\"iat\":1767999990,\"exp\":1768000300"

static void
add_number(struct buf *b, const char *name, const EVP_PKEY *k, const char *what,
    int bytes)
{
	unsigned char raw[1024];
	BIGNUM *n = NULL;
	int len;

	assert_int_equal(EVP_PKEY_get_bn_param(k, what, &n), 1);
	len = bytes ? bytes : BN_num_bytes(n);
	assert_int_equal(BN_bn2binpad(n, raw, len), len);
	buf_fmt(b, ",\"%s\":\"", name);
	base64_url_add(b, (struct str){(const char *)raw, (size_t)len});
	buf_addc(b, '"');
	BN_free(n);
}

static void
add_rsa(struct buf *b, const EVP_PKEY *k, const char *more)
{
	buf_fmt(b, "{\"kty\":\"RSA\"%s", more);
	add_number(b, "n", k, OSSL_PKEY_PARAM_RSA_N, 0);
	add_number(b, "e", k, OSSL_PKEY_PARAM_RSA_E, 0);
	buf_addc(b, '}');
}

static void
add_ec(struct buf *b, const EVP_PKEY *k, const char *more)
{
	buf_fmt(b, "{\"kty\":\"EC\",\"crv\":\"P-256\"%s", more);
	add_number(b, "x", k, OSSL_PKEY_PARAM_EC_PUB_X, 32);
	add_number(b, "y", k, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
	buf_addc(b, '}');
}

static int
setup(void **)
{
	struct err e;

	p.rsa = EVP_RSA_gen(2048);
	p.other_rsa = EVP_RSA_gen(2048);
	p.ec = EVP_EC_gen("P-256");
	p.other_ec = EVP_EC_gen("P-256");
	p.set = BUF(64 * KIB);
	p.arena = arena_new(16 * MIB);
	buf_addz(&p.set, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"},7,");
	add_rsa(&p.set, p.rsa, ",\"kid\":\"r\",\"use\":\"sig\"");
	buf_addc(&p.set, ',');
	add_ec(&p.set, p.ec, ",\"kid\":\"e\",\"alg\":\"ES256\"");
	buf_addz(&p.set, "]}");
	if (jwks_parse(buf_str(&p.set), p.arena, &p.keys, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(jwks_count(p.keys), 2);
	return 0;
}

static int
teardown(void **)
{
	jwks_free(p.keys);
	buf_done(&p.set);
	arena_free(p.arena);
	EVP_PKEY_free(p.rsa);
	EVP_PKEY_free(p.ec);
	EVP_PKEY_free(p.other_rsa);
	EVP_PKEY_free(p.other_ec);
	return 0;
}

/* As JOSE writes a signature: DER becomes r and s. */
static struct str
sign(EVP_PKEY *k, struct str text)
{
	unsigned char *sig = arena_alloc(p.arena, 1024), raw[64];
	const unsigned char *at = sig;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	ECDSA_SIG *pair;
	size_t n = 1024;

	assert_int_equal(
	    EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k), 1);
	assert_int_equal(
	    EVP_DigestSign(ctx, sig, &n, (const unsigned char *)text.p, text.n),
	    1);
	EVP_MD_CTX_free(ctx);
	if (EVP_PKEY_get_base_id(k) != EVP_PKEY_EC)
		return (struct str){(const char *)sig, n};
	pair = d2i_ECDSA_SIG(NULL, &at, (long)n);
	assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32), 32);
	assert_int_equal(
	    BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32), 32);
	ECDSA_SIG_free(pair);
	return arena_dup(p.arena, (struct str){(const char *)raw, 64});
}

enum by { BY_RSA, BY_EC, OTHER_RSA, OTHER_EC, PUBLIC_AS_SECRET, NOBODY };

/* HS256 whose secret is what everybody can read. */
static struct str
sign_public(struct str text)
{
	struct hmac *h = hmac_new(buf_str(&p.set));
	unsigned char *sum = arena_alloc(p.arena, DIGEST_LEN);

	hmac_sum(h, &text, 1, sum);
	hmac_free(h);
	return (struct str){(const char *)sum, DIGEST_LEN};
}

static struct str
token(const char *header, const char *claims, enum by by)
{
	EVP_PKEY *const keys[] = {p.rsa, p.ec, p.other_rsa, p.other_ec};
	struct buf b = BUF(64 * KIB);
	struct str text, sig = STR_EMPTY;

	base64_url_add(&b, str_of(header));
	buf_addc(&b, '.');
	base64_url_add(&b, arena_fmt(p.arena, "{%s}", claims));
	text = buf_str(&b);
	if (by == PUBLIC_AS_SECRET)
		sig = sign_public(text);
	else if (by != NOBODY)
		sig = sign(keys[by], text);
	buf_addc(&b, '.');
	base64_url_add(&b, sig);
	text = arena_dup(p.arena, buf_str(&b));
	buf_done(&b);
	return text;
}

#define RS "{\"alg\":\"RS256\",\"kid\":\"r\"}"
#define ES "{\"alg\":\"ES256\",\"kid\":\"e\",\"typ\":\"JWT\"}"

static void
test_tokens(void **)
{
	static const struct {
		const char *header, *claims;
		enum by by;
		int want;
		const char *says;
	} rows[] = {
	    {RS, CLAIMS, BY_RSA, OK, ""},
	    {ES, CLAIMS, BY_EC, OK, ""},
	    {"{\"alg\":\"RS256\"}", CLAIMS, BY_RSA, OK, ""},
	    {"{\"alg\":\"ES256\"}", CLAIMS, BY_EC, OK, ""},
	    /* whose signature it is */
	    {RS, CLAIMS, OTHER_RSA, ERR_INVALID, "not signed"},
	    {ES, CLAIMS, OTHER_EC, ERR_INVALID, "not signed"},
	    {RS, CLAIMS, BY_EC, ERR_INVALID, "not signed"},
	    {ES, CLAIMS, BY_RSA, ERR_INVALID, "not signed"},
	    {"{\"alg\":\"RS256\",\"kid\":\"x\"}", CLAIMS, BY_RSA, ERR_ABSENT,
		"not among"},
	    {"{\"alg\":\"ES256\",\"kid\":\"r\"}", CLAIMS, BY_EC, ERR_ABSENT,
		"not among"},
	    /* what it says of itself */
	    {"{\"alg\":\"none\"}", CLAIMS, NOBODY, ERR_INVALID, "form"},
	    {"{\"alg\":\"none\"}", CLAIMS, BY_RSA, ERR_INVALID, "algorithm"},
	    {"{\"alg\":\"None\"}", CLAIMS, BY_RSA, ERR_INVALID, "algorithm"},
	    {"{\"alg\":\"HS256\",\"kid\":\"r\"}", CLAIMS, PUBLIC_AS_SECRET,
		ERR_INVALID, "algorithm"},
	    {RS, CLAIMS, PUBLIC_AS_SECRET, ERR_INVALID, "not signed"},
	    {"{\"alg\":\"PS256\",\"kid\":\"r\"}", CLAIMS, BY_RSA, ERR_INVALID,
		"algorithm"},
	    {"{\"kid\":\"r\"}", CLAIMS, BY_RSA, ERR_INVALID, "algorithm"},
	    {"{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[\"b64\"]}", CLAIMS,
		BY_RSA, ERR_INVALID, "algorithm"},
	    {"{\"alg\":[\"RS256\"]}", CLAIMS, BY_RSA, ERR_INVALID, "algorithm"},
	    {"[]", CLAIMS, BY_RSA, ERR_INVALID, "form"},
	    /* whom it is of and for */
	    {RS,
		"\"iss\":\"https://evil.example\",\"aud\":\"us\","
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "issuer"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"them\","
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "another client"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":[\"us\"],"
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, OK, ""},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":[\"us\",\"them\"],"
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "given to another"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":[\"us\",\"them\"],"
		"\"azp\":\"us\",\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,"
		"\"exp\":1768000300",
		BY_RSA, OK, ""},
	    {RS, CLAIMS ",\"azp\":\"us\"", BY_RSA, OK, ""},
	    {RS, CLAIMS ",\"azp\":\"them\"", BY_RSA, ERR_INVALID, "given to"},
	    {RS, CLAIMS ",\"azp\":7", BY_RSA, ERR_INVALID, "given to"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\","
		"\"nonce\":\"n-124\",\"sub\":\"1\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "not of this login"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\",\"sub\":\"1\","
		"\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "not of this login"},
	    /* when */
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\","
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,\"exp\":1767999940",
		BY_RSA, ERR_INVALID, "expired"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\","
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,"
		"\"exp\":1767999941.5",
		BY_RSA, OK, ""},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\","
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1,"
		"\"exp\":\"1768000300\"",
		BY_RSA, ERR_INVALID, "no exp"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\","
		"\"nonce\":\"n-123\",\"sub\":\"1\",\"iat\":1768000061,"
		"\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "future"},
	    {RS, CLAIMS ",\"nbf\":1768000060", BY_RSA, OK, ""},
	    {RS, CLAIMS ",\"nbf\":1768000061", BY_RSA, ERR_INVALID, "yet"},
	    /* whom it names */
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\","
		"\"nonce\":\"n-123\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "nobody"},
	    {RS,
		"\"iss\":\"https://issuer.example\",\"aud\":\"us\",\"sub\":\"\","
		"\"nonce\":\"n-123\",\"iat\":1,\"exp\":1768000300",
		BY_RSA, ERR_INVALID, "nobody"},
	    {RS, CLAIMS ",\"sub\":\"2\"", BY_RSA, ERR_INVALID, "form"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str t =
		    token(rows[i].header, rows[i].claims, rows[i].by);
		struct jwt_claims c = {0};
		struct err e = {0};
		int rc = jwt_verify(p.keys, t, &WANT, p.arena, &c, &e);

		if (rc != rows[i].want || !strstr(e.text, rows[i].says))
			fail_msg("row %zu: %d %s", i, rc, e.text);
		assert_int_equal(c.subject.n > 0, rc == OK);
	}
}

static void
test_claims(void **)
{
	struct jwt_want want = WANT;
	struct jwt_claims c;
	struct str t = token(RS,
	    CLAIMS ",\"email\":\"anna@example.com\",\"email_verified\":true,"
		   "\"name\":\"Anna \\u4e16\"",
	    BY_RSA);
	struct err e;

	assert_int_equal(jwt_verify(p.keys, t, &WANT, p.arena, &c, &e), OK);
	assert_true(str_eq(c.subject, STR("248289761001")));
	assert_true(str_eq(c.email, STR("anna@example.com")));
	assert_true(str_eq(c.name, STR("Anna \xe4\xb8\x96")));
	assert_true(c.email_verified);
	/* Google has two spellings of its name. */
	want.issuer_too = want.issuer;
	want.issuer = STR("issuer.example");
	assert_int_equal(jwt_verify(p.keys, t, &want, p.arena, &c, &e), OK);
	t = token(RS, CLAIMS ",\"name\":\"a\\u0000b\\n\",\"email\":7", BY_RSA);
	assert_int_equal(jwt_verify(p.keys, t, &WANT, p.arena, &c, &e), OK);
	assert_int_equal(c.name.n + c.email.n, 0);
}

/* No byte of a good token can be changed. */
static void
test_each_byte(void **)
{
	static const struct {
		const char *header;
		enum by by;
	} rows[] = {{RS, BY_RSA}, {ES, BY_EC}};
	struct jwt_claims c;
	struct err e;

	for (size_t k = 0; k < COUNT_OF(rows); k++) {
		struct str t = token(rows[k].header, CLAIMS, rows[k].by);

		for (size_t i = 0; i < t.n; i++) {
			char *copy = (char *)(uintptr_t)arena_dup(p.arena, t).p;

			copy[i] = copy[i] == 'A' ? 'B' : 'A';
			if (jwt_verify(p.keys, (struct str){copy, t.n}, &WANT,
				p.arena, &c, &e) == OK)
				fail_msg("byte %zu of %.*s", i, STR_ARG(t));
		}
		for (size_t n = 0; n < t.n; n++)
			assert_true(jwt_verify(p.keys, (struct str){t.p, n},
					&WANT, p.arena, &c, &e) < 0);
	}
}

static void
test_sets(void **)
{
	EVP_PKEY *small = EVP_RSA_gen(1024);
	struct buf b = BUF(16 * KIB);
	struct jwks *k = NULL;
	struct err e;

	static const struct {
		const char *text;
		int want;
	} rows[] = {
	    {"", ERR_SYNTAX},
	    {"{}", ERR_INVALID},
	    {"{\"keys\":{}}", ERR_INVALID},
	    {"{\"keys\":[]}", ERR_INVALID},
	    {"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
		ERR_INVALID},
	    /* a point that is not on the curve */
	    {"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
	     "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"y\":"
	     "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
		ERR_INVALID},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    jwks_parse(str_of(rows[i].text), p.arena, &k, &e),
		    rows[i].want);
	/* too small; for another use; for another algorithm */
	buf_addz(&b, "{\"keys\":[");
	add_rsa(&b, small, "");
	buf_addc(&b, ',');
	add_rsa(&b, p.rsa, ",\"use\":\"enc\"");
	buf_addc(&b, ',');
	add_rsa(&b, p.rsa, ",\"alg\":\"RS512\"");
	buf_addc(&b, ',');
	add_rsa(&b, p.rsa, ",\"alg\":\"ES256\"");
	buf_addz(&b, "]}");
	assert_int_equal(jwks_parse(buf_str(&b), p.arena, &k, &e), ERR_INVALID);
	buf_done(&b);
	EVP_PKEY_free(small);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tokens),
	    cmocka_unit_test(test_claims),
	    cmocka_unit_test(test_each_byte),
	    cmocka_unit_test(test_sets),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
