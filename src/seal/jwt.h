/*
 * jwt.h - is this id_token the provider's, for us, and of now?
 *
 * A token (RFC 7519) is three base64url texts with dots between: a header that
 * names algorithm and key, claims, and a signature over both. The provider's
 * public keys come as a JWKS (RFC 7517).
 *
 * WHY SO LITTLE. All holes of JWT libraries lie in what the token may choose:
 * `none`, HS256 with the public key as its secret, a key in the header. Here a
 * key says what it is good for and the token must agree: RS256 with an RSA key
 * of 2048 bits or more, ES256 with one on P-256. Nothing else is known, and of
 * the header only alg and kid are looked at; `crit` is refused.
 *
 * The claims are checked as OpenID Connect Core 3.1.3.7 has it: iss is who we
 * asked, aud has us, azp is us when it is there and must be there when there
 * are several aud, exp is to come, iat and nbf are not, nonce is ours.
 *
 * LIFE. A jwks is made once and then only read. Claims are the arena's.
 *
 * INVARIANTS
 *   1. Nothing of the claims is believed before the signature was verified.
 */
#pragma once

#include "base/base.h"

struct jwks;

/*
 * ERR_SYNTAX or ERR_INVALID when it is no JWKS; a key in it that is not known
 * or not good for signatures is left out. `scratch` is for the parsing.
 */
int jwks_parse(struct str text, struct arena *scratch, struct jwks **ret,
    struct err *e) MUST_CHECK;
void jwks_free(struct jwks *k); /* NULL is fine */
size_t jwks_count(const struct jwks *k);

struct jwt_want {
	struct str issuer;
	struct str issuer_too; /* another spelling; may be empty */
	struct str client_id;
	struct str nonce;
	int64_t now_s;
};

struct jwt_claims {
	struct str subject;
	struct str email, name; /* empty when they are not there */
	bool email_verified;
	const struct json *groups; /* as it came, of any type; NULL: none */
};

/*
 * ERR_ABSENT when no key of the set has the token's kid: a newer set may have.
 * ERR_INVALID for everything else, with the reason.
 */
int jwt_verify(const struct jwks *k, struct str token,
    const struct jwt_want *want, struct arena *a, struct jwt_claims *ret,
    struct err *e) MUST_CHECK;
