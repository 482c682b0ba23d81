/*
 * people.h - people over HTTP: how they log in, and what is theirs.
 *
 *   GET    /auth/providers             OPEN  ON_HTTP  api_auth_providers
 *   GET    /auth/google/login          OPEN  ON_HTTP  api_oidc_login
 *   GET    /auth/google/callback       OPEN  ON_HTTP  api_oidc_callback
 *   POST   /auth/login                 OPEN  ON_HTTP  api_auth_login
 *   POST   /auth/logout                OPEN  ON_HTTP  api_auth_logout
 *   GET    /auth/me                    USER  ON_READ  api_auth_me
 *   DELETE /api/users/me               USER  ON_HTTP  api_me_delete
 *   GET    /api/users/me/settings      USER  ON_READ  api_me_settings_get
 *   PUT    /api/users/me/settings      USER  ON_HTTP  api_me_settings_put
 *
 * A login makes a session (account/session.h) and answers its cookie. Errors
 * have the shape of http/server/person.h.
 */
#ifndef API_PEOPLE_PEOPLE_H
#define API_PEOPLE_PEOPLE_H

#include "account/session.h"
#include "http/server/req.h"

struct user_new;

int api_auth_providers(struct req *r, struct db *db, struct err *e);
int api_auth_login(struct req *r, struct db *db, struct err *e);
int api_auth_logout(struct req *r, struct db *db, struct err *e);
int api_auth_me(struct req *r, struct db *db, struct err *e);
int api_oidc_login(struct req *r, struct db *db, struct err *e);
int api_oidc_callback(struct req *r, struct db *db, struct err *e);
int api_me_delete(struct req *r, struct db *db, struct err *e);
int api_me_settings_get(struct req *r, struct db *db, struct err *e);
int api_me_settings_put(struct req *r, struct db *db, struct err *e);

/* A session on its way to the store; in the request's arena. */
struct api_login {
	struct str provider;
	int64_t user; /* an account that was checked, */
	unsigned scopes;
	const struct user_new *person; /* or whoever the provider names, */
	bool may_come;                 /* also for the first time; else */
	int (*refuse)(struct req *r, struct err *e); /* answers */
	const char
	    *location; /* the answer leads there; NULL: tells who it is */

	/* login.c's */
	char text[SESSION_TEXT_LEN + 1];
	unsigned char id[DIGEST_LEN];
	unsigned char old[DIGEST_LEN]; /* what the browser had before */
	bool has_old, ended, again, refused;
};

/* Makes the session, answers its cookie. Only from the http thread. */
int api_login(struct req *r, struct api_login *l, struct err *e) MUST_CHECK;

/* The session of the request's cookie; false when there is none of ours. */
bool api_own_session(const struct req *r, unsigned char ret_id[DIGEST_LEN]);
/* The session's cookie; an empty text clears it. */
int api_session_cookie(
    struct req *r, const char *text, struct err *e) MUST_CHECK;

#endif
