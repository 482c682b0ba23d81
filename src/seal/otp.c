#include "seal/otp.h"

#include <openssl/evp.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/limits.h"

enum {
	HASH_MAX = 64,
	COUNTER_LEN = 8,
	DECIMAL_MAX = 10, /* 31 bits have no more */
	DIGITS_MIN = 4,   /* fewer are guessed */
	STEP_MAX_S = 86400,
};

const char *const OTP_HASHES[] = {"sha1", "sha256", "sha512", NULL};
const char *const OTP_ENCODINGS[] = {
    "decimal", "hex", "base32", "base64", NULL};
const char *const OTP_SALTS[] = {
    "none", "key-before", "key-after", "message-before", "message-after", NULL};

const char *const OTP_KEYS[] = {"text", "base32", "hex", "base64", NULL};

static const size_t HASH_LEN[] = {20, 32, 64};

static int
otp_wrong(struct err *e, const char *at, const char *name, const char *why)
{
	char here[128];

	(void)snprintf(here, sizeof(here), "%s/%s", at, name);
	return err_at(e, ERR_INVALID, here, "%s %s", name, why);
}

static int
base32_digit(char c)
{
	if (c >= '2' && c <= '7')
		return c - '2' + 26;
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'z' ? c - 'a' : -1;
}

static bool
base32_read(struct str text, char *ret, size_t *ret_n)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;

	while (text.n > 0 && text.p[text.n - 1] == '=')
		text.n--;
	for (size_t i = 0; i < text.n; i++) {
		int digit = base32_digit(text.p[i]);

		if (digit < 0)
			return false;
		bits = bits << 5 | (uint32_t)digit;
		have += 5;
		if (have >= 8) {
			have -= 8;
			ret[n++] = (char)(bits >> have & 0xff);
		}
	}
	*ret_n = n;
	return have < 5; /* else a character too many */
}

bool
otp_key(enum otp_key form, struct str text, char *ret, size_t *ret_n)
{
	switch (form) {
	case OTP_KEY_TEXT:
		if (text.n > 0)
			memcpy(ret, text.p, text.n);
		*ret_n = text.n;
		return true;
	case OTP_KEY_BASE32:
		return base32_read(text, ret, ret_n);
	case OTP_KEY_HEX:
		*ret_n = text.n / 2;
		return str_unhex(text, ret);
	case OTP_KEY_BASE64:
		return base64_read(text, ret, text.n, ret_n) ||
		       base64_url_read(text, ret, text.n, ret_n);
	}
	return false;
}

/* The most characters that an encoding gives for the hash. */
static unsigned
longest(const struct otp *o)
{
	static const unsigned BITS[] = {
	    [OTP_HEX] = 4, [OTP_BASE32] = 5, [OTP_BASE64] = 6};
	unsigned each = o->encoding == OTP_DECIMAL ? 0 : BITS[o->encoding];

	/* Without padding. */
	return each ? (8 * (unsigned)HASH_LEN[o->hash] + each - 1) / each
		    : DECIMAL_MAX;
}

int
otp_valid(const struct otp *o, const char *at, struct err *e)
{
	char why[80];

	if (o->secret.n < 1 || o->secret.n > SIGN_TEXT_MAX)
		return otp_wrong(e, at, "secret", "must be 1 to 4096 bytes");
	if (o->salt.n > SIGN_TEXT_MAX)
		return otp_wrong(e, at, "salt", "must be at most 4096 bytes");
	if ((o->salt_mode == OTP_SALT_NONE) != (o->salt.n == 0))
		return otp_wrong(e, at, "saltMode",
		    o->salt.n ? "must say where the salt goes"
			      : "needs a salt");
	if (o->step_s < 1 || o->step_s > STEP_MAX_S)
		return otp_wrong(e, at, "step", "must be 1 to 86400 seconds");
	if (o->t0_s < 0 || o->t0_s > INT32_MAX)
		return otp_wrong(
		    e, at, "t0", "must be 0 to 2147483647 seconds");
	if (o->digits < DIGITS_MIN || o->digits > longest(o)) {
		(void)snprintf(why, sizeof(why),
		    "must be %d to %u with this encoding", DIGITS_MIN,
		    longest(o));
		return otp_wrong(e, at, "digits", why);
	}
	return OK;
}

/* The HMAC of a counter; returns its length. */
static size_t
code_of(const struct otp *o, struct str bound, int64_t counter,
    unsigned char ret[HASH_MAX])
{
	static const char *const NAMES[] = {"SHA1", "SHA256", "SHA512"};
	struct buf key CLEANUP(digest_wipe_buf) = BUF(2 * SIGN_TEXT_MAX);
	struct buf msg CLEANUP(buf_done) = BUF(3 * SIGN_TEXT_MAX);
	size_t n = 0;
	unsigned char *done;

	if (o->salt_mode == OTP_SALT_KEY_BEFORE)
		buf_add(&key, o->salt);
	buf_add(&key, o->secret);
	if (o->salt_mode == OTP_SALT_KEY_AFTER)
		buf_add(&key, o->salt);
	if (o->salt_mode == OTP_SALT_MESSAGE_BEFORE)
		buf_add(&msg, o->salt);
	for (int i = COUNTER_LEN - 1; i >= 0; i--)
		buf_addc(&msg, (char)((uint64_t)counter >> (8 * i) & 0xff));
	if (o->salt_mode == OTP_SALT_MESSAGE_AFTER)
		buf_add(&msg, o->salt);
	buf_add(&msg, bound);
	assert(!key.failed && !msg.failed);
	done = EVP_Q_mac(NULL, "HMAC", NULL, NAMES[o->hash], NULL, key.p, key.n,
	    (const unsigned char *)msg.p, msg.n, ret, HASH_MAX, &n);
	assert(done && n == HASH_LEN[o->hash]);
	return n;
}

/* RFC 4226, 5.3: four bytes from where the last one's low bits say. */
static void
decimal(const unsigned char *mac, size_t n, unsigned digits, char *ret)
{
	const unsigned char *p = mac + (mac[n - 1] & 15);
	uint32_t v = (uint32_t)(p[0] & 0x7f) << 24 | (uint32_t)p[1] << 16 |
		     (uint32_t)p[2] << 8 | p[3];

	for (unsigned i = digits; i-- > 0; v /= 10)
		ret[i] = (char)('0' + v % 10);
}

static void
base32_add(struct buf *b, const unsigned char *p, size_t n)
{
	static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < n; i++) {
		bits = bits << 8 | p[i];
		for (have += 8; have >= 5; have -= 5)
			buf_addc(b, ALPHABET[bits >> (have - 5) & 31]);
	}
	if (have > 0)
		buf_addc(b, ALPHABET[bits << (5 - have) & 31]);
}

static size_t
at_counter(const struct otp *o, struct str bound, int64_t counter,
    char ret[OTP_MAX + 1])
{
	unsigned char mac[HASH_MAX];
	size_t n = code_of(o, bound, counter, mac);
	struct buf b CLEANUP(digest_wipe_buf) = BUF(2 * HASH_MAX);

	if (o->encoding == OTP_DECIMAL) {
		decimal(mac, n, o->digits, ret);
	} else {
		if (o->encoding == OTP_HEX)
			buf_hex(&b, (struct str){(const char *)mac, n});
		else if (o->encoding == OTP_BASE32)
			base32_add(&b, mac, n);
		else
			base64_add(&b, (struct str){(const char *)mac, n});
		assert(!b.failed && o->digits <= b.n);
		memcpy(ret, b.p, o->digits);
	}
	digest_wipe(mac, sizeof(mac));
	ret[o->digits] = '\0';
	return o->digits;
}

/* Rounded down, also before t0. */
static int64_t
counter_at(const struct otp *o, int64_t now_us)
{
	int64_t s = now_us / US_PER_S - o->t0_s;

	return s >= 0 ? s / o->step_s : -((-s + o->step_s - 1) / o->step_s);
}

size_t
otp_make(const struct otp *o, struct str bound, int64_t now_us,
    char ret[OTP_MAX + 1])
{
	return at_counter(o, bound, counter_at(o, now_us), ret);
}

bool
otp_check(const struct otp *o, struct str bound, struct str code,
    int64_t now_us, int64_t *ret_step)
{
	int64_t now = counter_at(o, now_us), found = 0;
	char want[OTP_MAX + 1];
	bool good = false;

	if (code.n != o->digits)
		return false;
	/* All three are made, whichever fits: the time tells nothing. */
	for (int64_t step = now - 1; step <= now + 1; step++) {
		(void)at_counter(o, bound, step, want);
		if (digest_eq(want, code.p, code.n)) {
			good = true;
			found = step;
		}
	}
	digest_wipe(want, sizeof(want));
	if (good && ret_step)
		*ret_step = found;
	return good;
}
