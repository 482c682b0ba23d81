/*
 * tokens.h - app passwords: what a person gives to an app that reads for them.
 *
 *   abcdef-ghjkmn-pqrstu-vwxyz2     24 of 31 letters and digits: 118 bits
 *
 * Made by us and shown once, so that no app ever holds the password of an
 * account, each can be taken back alone, and those who log in elsewhere (OIDC)
 * have one too. The letters are those that nobody mistakes for another, since
 * some are typed on a phone.
 *
 * WHY NO SLOW HASH. As for keys (seal/token.h): nobody guesses 118 bits.
 *
 * An app sends it as a password or token. Fever sends the MD5 of
 * "login:password"; a SHA-256 of that is stored too. It is good for the routes
 * of apps alone (auth.h), never for the account's own.
 */
#pragma once

#include "seal/digest.h"

struct db;

#define APP_TOKEN_LEN  27
#define APP_SHOWN_LEN  6
#define FEVER_KEY_LEN  32 /* MD5 in hex */
#define APP_NAME_CHARS 100

struct app_token {
	int64_t id, user;
	struct uuid uid, user_uid;
	struct str name, login, shown;
	int64_t created_us, last_used_us; /* 0: never */
};

/* Has it the form of one? Before anything is hashed or looked up. */
bool token_app_formed(struct str text);

/*
 * Inside a transaction. ERR_CONFLICT past APP_TOKENS_MAX, ERR_ABSENT without
 * such a person. Takes user and name, which says what it is for, from *t and
 * fills in the rest but for the row's id.
 */
int tokens_add(struct db *db, struct app_token *t, int64_t now_us,
    struct arena *a, char ret_text[APP_TOKEN_LEN + 1],
    struct err *e) MUST_CHECK;
/* By the SHA-256 of itself or of Fever's key. ERR_ABSENT. */
int tokens_find(struct db *db, const unsigned char hash[DIGEST_LEN], bool fever,
    struct arena *a, struct app_token *ret, struct err *e) MUST_CHECK;
int tokens_list(struct db *db, int64_t user, struct arena *a,
    struct app_token **ret, size_t *ret_n, struct err *e) MUST_CHECK;
/* ERR_ABSENT */
int tokens_remove(
    struct db *db, int64_t user, struct uuid uid, struct err *e) MUST_CHECK;
int tokens_touch(
    struct db *db, int64_t id, int64_t now_us, struct err *e) MUST_CHECK;

/* The person who has this login: the account's name, or the address. */
int tokens_user(struct db *db, struct str login, int64_t *ret_user,
    struct err *e) MUST_CHECK;

/* As the API shows it; `text` once, else NULL. */
void token_json(const struct app_token *t, const char *text, struct buf *b);
