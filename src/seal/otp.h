/*
 * otp.h - one-time codes from a shared secret and the time (RFC 6238).
 *
 * The receiver we make these for computes them in a way of its own, so what
 * can differ is a setting:
 *
 *   algorithm  HMAC with SHA-1, SHA-256 or SHA-512
 *   secret     its text, or what the text encodes, is the key
 *   step, t0   the counter is (now - t0) / step, in seconds
 *   encoding   decimal: truncated as in RFC 4226, `digits` digits; hex, base32,
 *              base64: the first `digits` characters of the whole HMAC
 *   salt       before or behind the key, or before or behind the counter
 *   bound      a text (the tenant's name, the issuer) that ends the message, so
 *              that a code holds for that one alone
 *
 * A code is made at each attempt, never stored and never logged. Who checks
 * codes keeps those seen within the window: a code is good once.
 */
#pragma once

#include "base/base.h"

#define OTP_MAX 128 /* hex of SHA-512, the longest code */

enum otp_hash { OTP_SHA1, OTP_SHA256, OTP_SHA512 };
enum otp_encoding { OTP_DECIMAL, OTP_HEX, OTP_BASE32, OTP_BASE64 };
enum otp_key { OTP_KEY_TEXT, OTP_KEY_BASE32, OTP_KEY_HEX, OTP_KEY_BASE64 };
enum otp_salt {
	OTP_SALT_NONE,
	OTP_SALT_KEY_BEFORE,
	OTP_SALT_KEY_AFTER,
	OTP_SALT_MESSAGE_BEFORE,
	OTP_SALT_MESSAGE_AFTER,
};

struct otp {
	struct str secret; /* its bytes are the key */
	enum otp_hash hash;
	enum otp_encoding encoding;
	enum otp_salt salt_mode;
	struct str salt;
	int64_t step_s, t0_s;
	unsigned digits;
};

/* The key that a secret's text stands for, at most text.n bytes of it. Base32
 * with or without padding, in either case. False: it is no such text. */
bool otp_key(
    enum otp_key form, struct str text, char *ret, size_t *ret_n) MUST_CHECK;
/* What came from a user; `at` is the JSON pointer of the object. */
int otp_valid(const struct otp *o, const char *at, struct err *e) MUST_CHECK;
/* The code at now_us, and its length. `bound` may be empty. */
size_t otp_make(const struct otp *o, struct str bound, int64_t now_us,
    char ret[OTP_MAX + 1]);
/*
 * Is it the code of now, or of one step before or after? *ret_step, when not
 * NULL, is the counter it belongs to, for the caller's memory of used ones.
 */
bool otp_check(const struct otp *o, struct str bound, struct str code,
    int64_t now_us, int64_t *ret_step);

/* The words of the settings: "sha256", "base32", "key-before". NULL ends. */
extern const char *const OTP_HASHES[],
    *const OTP_ENCODINGS[], *const OTP_SALTS[], *const OTP_KEYS[];
