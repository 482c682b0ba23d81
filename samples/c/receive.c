/*
 * receive.c - verifies one webhook: a CGI program, or any handler's core.
 *
 *   cc -o receive receive.c -lcrypto
 *   receive SCHEME SECRET < body
 *
 * SCHEME is standard, repository, task or hub; SECRET of standard is whsec_
 * (HMAC), or whpk_: the public key of ed25519. The headers come as CGI gives
 * them (HTTP_WEBHOOK_ID and so on; most servers hide HTTP_AUTHORIZATION unless
 * told otherwise, which hub needs). Answers 204, or 401 with the reason; the exit
 * status is 0 when it was verified.
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOLERANCE_S 300
#define BODY_MAX    (16u << 20)

static const char *
header(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* HMAC-SHA256 of head and body. */
static void
mac(const unsigned char *key, size_t key_n, const char *head,
    const unsigned char *body, size_t n, unsigned char ret[32])
{
	size_t head_n = strlen(head);
	unsigned char *all = malloc(head_n + n + 1);

	if (!all)
		exit(2);
	memcpy(all, head, head_n);
	memcpy(all + head_n, body, n);
	HMAC(EVP_sha256(), key, (int)key_n, all, head_n + n, ret, NULL);
	free(all);
}

static void
hex(const unsigned char bytes[32], char ret[65])
{
	for (int i = 0; i < 32; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* Takes the same time wherever the two differ. */
static int
same(const char *a, size_t a_n, const char *b)
{
	return a_n == strlen(b) && CRYPTO_memcmp(a, b, a_n) == 0;
}

static int
fresh(const char *text, long long per_second)
{
	char *end;
	long long at = strtoll(text, &end, 10) / per_second;
	long long now = (long long)time(NULL);

	return *text && !*end && at >= now - TOLERANCE_S &&
	       at <= now + TOLERANCE_S;
}

/* The bytes of base64, or -1; ret has room for max. */
static int
decode(const char *text, size_t n, unsigned char *ret, size_t max)
{
	int got;

	if (n == 0 || n % 4 != 0 || n / 4 * 3 > max)
		return -1;
	got = EVP_DecodeBlock(ret, (const unsigned char *)text, (int)n);
	for (size_t i = n; got > 0 && i > n - 2 && text[i - 1] == '='; i--)
		got--;
	return got;
}

/* One of the signatures v1a,… by the key whpk_…. */
static const char *
ed25519(const char *text, const char *head, const char *list,
    const unsigned char *body, size_t n)
{
	unsigned char key[36], sum[72];
	size_t head_n = strlen(head);
	unsigned char *all = malloc(head_n + n + 1);
	EVP_PKEY *k = NULL;
	int good = 0;

	if (decode(text, strlen(text), key, sizeof(key)) == 32)
		k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, 32);
	if (!k || !all) {
		free(all);
		return "whpk_ must be followed by 32 bytes in base64";
	}
	memcpy(all, head, head_n);
	memcpy(all + head_n, body, n);
	while (*list) {
		size_t len = strcspn(list, " ");
		EVP_MD_CTX *m = EVP_MD_CTX_new();

		if (m && strncmp(list, "v1a,", 4) == 0 &&
		    decode(list + 4, len - 4, sum, sizeof(sum)) == 64 &&
		    EVP_DigestVerifyInit(m, NULL, NULL, NULL, k) == 1)
			good |= EVP_DigestVerify(m, sum, 64, all, head_n + n) == 1;
		EVP_MD_CTX_free(m);
		list += len + (list[len] == ' ');
	}
	EVP_PKEY_free(k);
	free(all);
	return good ? NULL : "wrong signature";
}

/* Several signatures may stand there while a secret is rotated. */
static const char *
standard(const char *secret, const unsigned char *body, size_t n)
{
	const char *id = header("HTTP_WEBHOOK_ID");
	const char *at = header("HTTP_WEBHOOK_TIMESTAMP");
	const char *list = header("HTTP_WEBHOOK_SIGNATURE");
	unsigned char key[128], sum[32];
	char want[64] = "v1,", head[512];
	int key_n, good = 0;

	if (!fresh(at, 1))
		return "too old";
	if (snprintf(head, sizeof(head), "%s.%s.", id, at) >=
	    (int)sizeof(head))
		return "the id is too long";
	if (strncmp(secret, "whpk_", 5) == 0)
		return ed25519(secret + 5, head, list, body, n);
	if (strncmp(secret, "whsec_", 6) == 0)
		secret += 6;
	key_n = decode(secret, strlen(secret), key, sizeof(key));
	if (key_n < 0)
		return "the secret is not base64";
	mac(key, (size_t)key_n, head, body, n, sum);
	EVP_EncodeBlock((unsigned char *)want + 3, sum, 32);
	while (*list) {
		size_t len = strcspn(list, " ");

		good |= same(list, len, want);
		list += len + (list[len] == ' ');
	}
	return good ? NULL : "wrong signature";
}

static const char *
repository(const char *secret, const unsigned char *body, size_t n)
{
	const char *got = header("HTTP_X_NEMAKIWARE_SIGNATURE");
	unsigned char sum[32];
	char want[72] = "sha256=";

	mac((const unsigned char *)secret, strlen(secret), "", body, n, sum);
	hex(sum, want + 7);
	return same(got, strlen(got), want) ? NULL : "wrong signature";
}

static const char *
task(const char *secret, const unsigned char *body, size_t n)
{
	const char *got = header("HTTP_X_SIGNATURE");
	const char *at = header("HTTP_X_TIMESTAMP");
	unsigned char sum[32];
	char want[65], head[64];

	if (!fresh(at, 1000))
		return "too old";
	snprintf(head, sizeof(head), "%s.", at);
	mac((const unsigned char *)secret, strlen(secret), head, body, n, sum);
	hex(sum, want);
	return same(got, strlen(got), want) ? NULL : "wrong signature";
}

/*
 * A one-time code (RFC 6238: SHA-1, 30 s, 8 digits). It proves who called, not
 * what was said.
 */
static const char *
hub(const char *secret)
{
	const char *got = header("HTTP_AUTHORIZATION");
	long long now = (long long)time(NULL) / 30;
	int good = 0;

	for (long long step = now - 1; step <= now + 1; step++) {
		unsigned char counter[8], sum[20], *p;
		char want[16];
		unsigned n;

		for (int i = 0; i < 8; i++)
			counter[i] = (unsigned char)(step >> (56 - 8 * i));
		HMAC(EVP_sha1(), secret, (int)strlen(secret), counter, 8, sum,
		    NULL);
		p = sum + (sum[19] & 15);
		n = (unsigned)(p[0] & 0x7f) << 24 | (unsigned)p[1] << 16 |
		    (unsigned)p[2] << 8 | p[3];
		snprintf(want, sizeof(want), "%08u", n % 100000000);
		good |= same(got, strlen(got), want);
	}
	return good ? NULL : "wrong or old code";
}

int
main(int argc, char **argv)
{
	unsigned char *body = malloc(BODY_MAX);
	const char *why = "unknown scheme";
	size_t n;

	if (argc != 3 || !body)
		return 2;
	n = fread(body, 1, BODY_MAX, stdin);
	if (strcmp(argv[1], "standard") == 0)
		why = standard(argv[2], body, n);
	else if (strcmp(argv[1], "repository") == 0)
		why = repository(argv[2], body, n);
	else if (strcmp(argv[1], "task") == 0)
		why = task(argv[2], body, n);
	else if (strcmp(argv[1], "hub") == 0)
		why = hub(argv[2]);
	printf("Status: %s\r\n\r\n%s\n", why ? "401" : "204", why ? why : "");
	free(body);
	return why ? 1 : 0;
}
