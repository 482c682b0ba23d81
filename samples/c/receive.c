/*
 * receive.c - verifies one webhook: a CGI program, or any handler's core.
 *
 *   cc -o receive receive.c -lcrypto
 *   receive SCHEME SECRET < body
 *
 * SCHEME is standard, repository or task. The headers come as CGI gives them
 * (HTTP_WEBHOOK_ID and so on). Answers 204, or 401 with the reason; the exit
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

/* Several signatures may stand there while a secret is rotated. */
static const char *
standard(const char *secret, const unsigned char *body, size_t n)
{
	const char *id = header("HTTP_WEBHOOK_ID");
	const char *at = header("HTTP_WEBHOOK_TIMESTAMP");
	const char *list = header("HTTP_WEBHOOK_SIGNATURE");
	unsigned char key[128], sum[32];
	char want[64] = "v1,", head[512];
	size_t text_n;
	int key_n, good = 0;

	if (strncmp(secret, "whsec_", 6) == 0)
		secret += 6;
	text_n = strlen(secret);
	if (text_n > 128 || (key_n = EVP_DecodeBlock(key,
				 (const unsigned char *)secret, (int)text_n)) < 0)
		return "the secret is not base64";
	for (size_t i = text_n; i > 0 && secret[i - 1] == '='; i--)
		key_n--;
	if (!fresh(at, 1))
		return "too old";
	if (snprintf(head, sizeof(head), "%s.%s.", id, at) >=
	    (int)sizeof(head))
		return "the id is too long";
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
	printf("Status: %s\r\n\r\n%s\n", why ? "401" : "204", why ? why : "");
	free(body);
	return why ? 1 : 0;
}
