/*
 * token.h - secrets that programs carry: API keys.
 *
 *   hk_ 43 characters of 0-9 A-Z a-z
 *
 * Each character is drawn evenly from 62, so a token holds 43 × log2(62) = 256
 * bits. Letters and digits only: it survives a double click, a URL and a shell
 * unquoted. The first six after hk_ are shown in lists so that a key can be
 * told from another; 220 bits stay unknown.
 *
 * WHY NO SLOW HASH. argon2 makes guessing expensive where there is something
 * to guess. Nobody guesses 256 bits, so one SHA-256 of the whole token is what
 * the store keeps and what is looked up, and a request pays a microsecond.
 */
#pragma once

#include "seal/digest.h"

#define TOKEN_LEN   46 /* hk_ and 43 */
#define TOKEN_SHOWN 9  /* hk_ and 6 */

struct token {
	char text[TOKEN_LEN + 1]; /* given out once, never stored */
	char shown[TOKEN_SHOWN + 1];
	unsigned char hash[DIGEST_LEN]; /* its SHA-256 */
};

void token_make(struct token *ret);
/* Has it the form of one? Cheap, before anything is hashed or looked up. */
bool token_formed(struct str text);

/* n characters drawn evenly from `alphabet` (2..256 bytes), and a NUL. */
void token_text(char *ret, size_t n, struct str alphabet);
