#include "seal/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/limits.h"

#define P256_BYTES 32

enum alg { ALG_NONE, ALG_RS256, ALG_ES256 };

struct key {
	enum alg alg;
	EVP_PKEY *pkey;
	char kid[JWT_KID_MAX + 1];
	size_t n_kid;
};

struct jwks {
	size_t n;
	struct key keys[JWKS_KEYS_MAX];
};

static int
bad(struct err *e, const char *what)
{
	return err_set(e, ERR_INVALID, "the id_token %s", what);
}

static enum alg
alg_of(struct str name)
{
	return str_eq(name, STR("RS256"))   ? ALG_RS256
	       : str_eq(name, STR("ES256")) ? ALG_ES256
					    : ALG_NONE;
}

/* ---- keys ---- */

static EVP_PKEY *
from_params(const char *type, OSSL_PARAM *params)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *pkey = NULL;

	if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
		pkey = NULL;
	EVP_PKEY_CTX_free(ctx);
	return pkey;
}

static BIGNUM *
big_number(struct str text)
{
	char bytes[JWT_RSA_MAX / 8];
	size_t n = 0;

	if (!base64_url_read(text, bytes, sizeof(bytes), &n) || n == 0)
		return NULL;
	return BN_bin2bn((const unsigned char *)bytes, (int)n, NULL);
}

static EVP_PKEY *
rsa_key(const struct json *j)
{
	BIGNUM *n = big_number(json_text(j, "n")),
	       *x = big_number(json_text(j, "e"));
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	OSSL_PARAM *params = NULL;
	EVP_PKEY *pkey = NULL;

	/* A huge exponent makes each check slow; real ones are 65537. */
	if (n && x && bld && BN_num_bits(n) >= JWT_RSA_MIN && BN_is_odd(n) &&
	    BN_num_bits(x) <= 32 && BN_is_odd(x) && !BN_is_one(x) &&
	    OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
	    OSSL_PARAM_BLD_push_BN(bld, OSSL_PKEY_PARAM_RSA_E, x) == 1)
		params = OSSL_PARAM_BLD_to_param(bld);
	if (params)
		pkey = from_params("RSA", params);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(bld);
	BN_free(n);
	BN_free(x);
	return pkey;
}

/* OpenSSL refuses a point that is not on the curve. */
static EVP_PKEY *
ec_key(const struct json *j)
{
	unsigned char point[1 + 2 * P256_BYTES] = {4};
	char group[] = "prime256v1";
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string(
		OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
	    OSSL_PARAM_construct_octet_string(
		OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)),
	    OSSL_PARAM_construct_end(),
	};
	size_t nx = 0, ny = 0;

	if (!str_eq(json_text(j, "crv"), STR("P-256")) ||
	    !base64_url_read(
		json_text(j, "x"), (char *)point + 1, P256_BYTES, &nx) ||
	    !base64_url_read(json_text(j, "y"), (char *)point + 1 + P256_BYTES,
		P256_BYTES, &ny) ||
	    nx != P256_BYTES || ny != P256_BYTES)
		return NULL;
	return from_params("EC", params);
}

/* False when it is none that we can use. */
static bool
read_key(const struct json *j, struct key *ret)
{
	struct str kty = json_text(j, "kty"), kid = json_text(j, "kid");
	struct str use = json_text(j, "use"), alg = json_text(j, "alg");
	struct key k = {.n_kid = kid.n};

	if (!json_is(j, JSON_OBJECT) || kid.n > JWT_KID_MAX ||
	    (use.n > 0 && !str_eq(use, STR("sig"))))
		return false;
	if (str_eq(kty, STR("RSA")))
		k.alg = ALG_RS256;
	else if (str_eq(kty, STR("EC")))
		k.alg = ALG_ES256;
	if (k.alg == ALG_NONE || (alg.n > 0 && alg_of(alg) != k.alg))
		return false;
	k.pkey = k.alg == ALG_RS256 ? rsa_key(j) : ec_key(j);
	ERR_clear_error();
	if (!k.pkey)
		return false;
	memcpy(k.kid, kid.p, kid.n);
	*ret = k;
	return true;
}

int
jwks_parse(
    struct str text, struct arena *scratch, struct jwks **ret, struct err *e)
{
	struct json *j = NULL;
	const struct json *keys;
	struct jwks *k;

	TRY(json_parse(scratch, text, &j, e));
	keys = json_get(j, "keys");
	if (!json_is(keys, JSON_ARRAY))
		return err_set(e, ERR_INVALID, "the key set has no keys");
	k = mem_get(sizeof(*k));
	for (const struct json *one = keys->child; one && k->n < JWKS_KEYS_MAX;
	     one = one->next)
		k->n += read_key(one, &k->keys[k->n]);
	if (k->n == 0) {
		free(k);
		return err_set(e, ERR_INVALID,
		    "the key set has no key for RS256 or ES256");
	}
	*ret = k;
	return OK;
}

void
jwks_free(struct jwks *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->n; i++)
		EVP_PKEY_free(k->keys[i].pkey);
	free(k);
}

size_t
jwks_count(const struct jwks *k)
{
	return k->n;
}

/* ---- the signature ---- */

/* r and s, 32 bytes each, as OpenSSL wants them. NULL: no memory. */
static unsigned char *
to_der(const unsigned char raw[2 * P256_BYTES], int *ret_n)
{
	ECDSA_SIG *sig = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(raw, P256_BYTES, NULL);
	BIGNUM *s = BN_bin2bn(raw + P256_BYTES, P256_BYTES, NULL);
	unsigned char *der = NULL;

	if (!sig || !r || !s || ECDSA_SIG_set0(sig, r, s) != 1) {
		BN_free(r);
		BN_free(s);
	} else {
		*ret_n = i2d_ECDSA_SIG(sig, &der);
		if (*ret_n <= 0)
			der = NULL;
	}
	ECDSA_SIG_free(sig);
	return der;
}

static bool
signed_by(const struct key *k, struct str text, struct str signature)
{
	const unsigned char *sig = (const unsigned char *)signature.p;
	unsigned char *der = NULL;
	int n = (int)signature.n;
	EVP_MD_CTX *ctx;
	bool ok;

	if (k->alg == ALG_ES256) {
		if (signature.n != 2 * P256_BYTES)
			return false;
		sig = der = to_der(sig, &n);
		if (!der)
			return false;
	}
	ctx = EVP_MD_CTX_new();
	ok =
	    ctx &&
	    EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->pkey) == 1 &&
	    EVP_DigestVerify(ctx, sig, (size_t)n, (const unsigned char *)text.p,
		text.n) == 1;
	EVP_MD_CTX_free(ctx);
	OPENSSL_free(der);
	ERR_clear_error();
	return ok;
}

/* A token without kid is tried with each key of its kind. */
static int
check_signature(const struct jwks *set, enum alg alg, struct str kid,
    struct str text, struct str signature, struct err *e)
{
	bool found = false;

	for (size_t i = 0; i < set->n; i++) {
		const struct key *k = &set->keys[i];

		if (k->alg != alg ||
		    (kid.n > 0 && !str_eq(kid, (struct str){k->kid, k->n_kid})))
			continue;
		found = true;
		if (signed_by(k, text, signature))
			return OK;
	}
	if (found)
		return bad(e, "is not signed by the provider");
	return err_set(
	    e, ERR_ABSENT, "the id_token's key is not among the provider's");
}

/* ---- the parts ---- */

/* Bytes of a part; .p NULL when it is no base64url. */
static struct str
decode(struct str part, struct arena *a)
{
	char *to = arena_alloc(a, part.n + 1);
	size_t n = 0;

	if (!base64_url_read(part, to, part.n, &n))
		return (struct str){.p = NULL};
	return (struct str){to, n};
}

static int
read_json(struct str part, struct arena *a, struct json **ret, struct err *e)
{
	struct str text = decode(part, a);
	struct err inner;

	if (!text.p || json_parse(a, text, ret, &inner) < 0 ||
	    !json_is(*ret, JSON_OBJECT))
		return bad(e, "is not of the form that it should have");
	return OK;
}

/* Seconds; RFC 7519 lets them have a fraction, which we drop. */
static bool
read_time(const struct json *v, int64_t *ret)
{
	struct str s;

	if (!json_is(v, JSON_NUMBER))
		return false;
	s = v->raw;
	return str_int(str_cut(&s, '.'), ret);
}

static bool
has_audience(const struct json *aud, struct str id, bool *ret_several)
{
	bool has = false;

	*ret_several = false;
	if (json_is(aud, JSON_STRING))
		return str_eq(aud->text, id);
	if (!json_is(aud, JSON_ARRAY))
		return false;
	*ret_several = aud->n > 1;
	for (const struct json *v = aud->child; v; v = v->next)
		has = has || (json_is(v, JSON_STRING) && str_eq(v->text, id));
	return has;
}

static int
check_times(const struct json *j, int64_t now_s, struct err *e)
{
	const struct json *nbf = json_get(j, "nbf");
	int64_t at = 0;

	if (!read_time(json_get(j, "exp"), &at))
		return bad(e, "has no exp");
	if (at <= now_s - JWT_SKEW_S)
		return bad(e, "has expired");
	if (!read_time(json_get(j, "iat"), &at))
		return bad(e, "has no iat");
	if (at > now_s + JWT_SKEW_S)
		return bad(e, "is from the future");
	if (nbf && (!read_time(nbf, &at) || at > now_s + JWT_SKEW_S))
		return bad(e, "is not valid yet");
	return OK;
}

static int
check_claims(const struct json *j, const struct jwt_want *w, struct err *e)
{
	struct str iss = json_text(j, "iss"), nonce = json_text(j, "nonce");
	const struct json *azp = json_get(j, "azp");
	bool several;

	if (!str_eq(iss, w->issuer) &&
	    !(w->issuer_too.n > 0 && str_eq(iss, w->issuer_too)))
		return bad(e, "is of another issuer");
	if (!has_audience(json_get(j, "aud"), w->client_id, &several))
		return bad(e, "is for another client");
	if ((several && !azp) ||
	    (azp && !str_eq(json_text(j, "azp"), w->client_id)))
		return bad(e, "was given to another client");
	if (nonce.n != w->nonce.n || nonce.n == 0 ||
	    !digest_eq(nonce.p, w->nonce.p, nonce.n))
		return bad(e, "is not of this login");
	return check_times(j, w->now_s, e);
}

/* One that can be shown: valid UTF-8 is known, so no control characters. */
static struct str
shown(struct str s, size_t most)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return STR_EMPTY;
	return s.n <= most ? s : STR_EMPTY;
}

static int
take_claims(const struct json *j, struct jwt_claims *ret, struct err *e)
{
	struct jwt_claims c = {
	    .subject = shown(json_text(j, "sub"), JWT_SUBJECT_MAX),
	    .email = shown(json_text(j, "email"), JWT_TEXT_MAX),
	    .name = shown(json_text(j, "name"), JWT_TEXT_MAX),
	    .email_verified = json_true(j, "email_verified"),
	    .groups = json_get(j, "groups"),
	};

	if (c.subject.n == 0)
		return bad(e, "names nobody");
	*ret = c;
	return OK;
}

int
jwt_verify(const struct jwks *k, struct str token, const struct jwt_want *want,
    struct arena *a, struct jwt_claims *ret, struct err *e)
{
	struct str rest = token, head, claims, signature;
	struct json *header = NULL, *j = NULL;
	enum alg alg;

	if (token.n > JWT_MAX)
		return bad(e, "is too long");
	head = str_cut(&rest, '.');
	claims = str_cut(&rest, '.');
	/* All but the signature, with the dot between. */
	token.n = head.n + 1 + claims.n;
	signature = decode(rest, a);
	if (head.n == 0 || claims.n == 0 || rest.n == 0 || !signature.p)
		return bad(e, "is not of the form that it should have");
	TRY(read_json(head, a, &header, e));
	alg = alg_of(json_text(header, "alg"));
	if (alg == ALG_NONE || json_get(header, "crit"))
		return bad(e, "is signed by no algorithm that is known here");
	TRY(check_signature(
	    k, alg, json_text(header, "kid"), token, signature, e));
	TRY(read_json(claims, a, &j, e));
	TRY(check_claims(j, want, e));
	return take_claims(j, ret, e);
}
