#include "seal/token.h"

#define PREFIX "hk_"

static const char LETTERS[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

void
token_text(char *ret, size_t n, struct str alphabet)
{
	/* Bytes at or past the last whole multiple would favour the first. */
	size_t even;
	size_t made = 0;

	assert(alphabet.n >= 2 && alphabet.n <= 256);
	even = 256 - 256 % alphabet.n;
	while (made < n) {
		unsigned char byte;

		rand_bytes(&byte, 1);
		if (byte < even)
			ret[made++] = alphabet.p[byte % alphabet.n];
	}
	ret[n] = '\0';
}

void
token_make(struct token *ret)
{
	memcpy(ret->text, PREFIX, sizeof(PREFIX));
	token_text(ret->text + strlen(PREFIX), TOKEN_LEN - strlen(PREFIX),
	    STR(LETTERS));
	memcpy(ret->shown, ret->text, TOKEN_SHOWN);
	ret->shown[TOKEN_SHOWN] = '\0';
	digest_sha256((struct str){ret->text, TOKEN_LEN}, ret->hash);
}

bool
token_formed(struct str text)
{
	if (text.n != TOKEN_LEN || !str_starts(text, STR(PREFIX)))
		return false;
	for (size_t i = strlen(PREFIX); i < text.n; i++)
		if (!str_is_letter(text.p[i]) && !str_is_digit(text.p[i]))
			return false;
	return true;
}
