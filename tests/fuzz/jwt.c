/* What a provider answers: a key set, an empty line, an id_token. The set is
 * read; with keys that nobody here has the secret of, no token is believed;
 * and whatever is refused is refused in words that can be shown. */
#include "seal/jwt.h"

#include "account/limits.h"
#include "seal/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* RSA and P-256, made once; the private halves were thrown away. */
static const char OURS[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r\",\"use\":\"sig\",\"alg\":\"RS256\",\"n"
    "\":\"xv_f75j275qmTynyUW3-po-2CmZlM6l6jGW0YYp7e-UMtbJd_t6Rx5zja"
    "UMLqj6s7Tkluh22Lw9tmtBcgS6m_tGIXEyG4Y0USgZ4EE3082kOv_6m_ZiKX"
    "-WOxrbFIZue6TVSzsXtcaoQv-9n1J21GVBnOd-0qAu8GzxuFN-73hq7cIkgn"
    "asFXSrWo7SSqBvVhvsLjP-MJnUAoVsf8rNdVav99w3HUUhV6MdGOhhF6gst2"
    "zhXrncMHH0Qj6ow-Yf3jyUAGYNfwyyL-ShtwV_kA-vZTSmVgrFYtjrg-bQ4-"
    "96iFtBET38gIrPssQ9T2MfjkB_ajuEQ5XF9avG__-VBHQ\",\"e\":\"AQAB\"},{"
    "\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\",\"use\":\"sig\",\"x\":\"rTxc40VK"
    "j26cetIBGsgcZWN3Dr1oPPXpVQoQm4sZqdc\",\"y\":\"txznpWhV3Fz0kl_jrD"
    "-6hR1lOVdAjJZ3RsujSHvRQY8\"}]}";

static void
try(const struct jwks *k, struct str token, struct arena *a, bool believe)
{
	struct jwt_want want = {
	    .issuer = STR("https://issuer.example"),
	    .client_id = STR("us"),
	    .nonce = STR("n"),
	    .now_s = 1768000000,
	};
	struct jwt_claims c;
	struct err e = {0};
	int rc = jwt_verify(k, token, &want, a, &c, &e);

	if (rc == OK && !believe)
		abort();
	if (rc < 0 && (rc != (int)e.code || e.text[0] == '\0' ||
			  str_utf8_bad(str_of(e.text)) != strlen(e.text)))
		abort();
	if (rc == OK && (c.subject.n == 0 || c.subject.n > JWT_SUBJECT_MAX ||
			    str_utf8_bad(c.name) != c.name.n))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct jwks *ours;
	struct arena *a = arena_new(OIDC_MEM);
	struct str text = {(const char *)data, n}, set = text;
	struct jwks *k = NULL;
	const char *cut = n ? memmem(data, n, "\n\n", 2) : NULL;
	struct err e = {0};

	if (!ours && jwks_parse(str_of(OURS), a, &ours, &e) < 0)
		abort();
	if (cut) {
		set.n = (size_t)(cut - text.p);
		text = str_from(text, set.n + 2);
	}
	if (jwks_parse(set, a, &k, &e) == OK) {
		if (jwks_count(k) == 0 || jwks_count(k) > JWKS_KEYS_MAX)
			abort();
		/* Whoever chooses the keys can sign. */
		try(k, text, a, true);
	}
	try(ours, text, a, false);
	jwks_free(k);
	arena_free(a);
	return 0;
}
