/*
 * people.h - people over HTTP: how they log in, and what is theirs.
 *
 * A login makes a session (account/session.h) and answers its cookie. Errors
 * have the shape of api/people/person.h.
 *
 * LINKING (1.7) is a login at the provider that makes no session: it begins with
 * a POST from a page of ours, so that no other page begins it, and ends in the
 * same browser, with the person who began still logged in there.
 */
#pragma once

#include "account/session.h"
#include "api/handlers.h"
#include "http/server/req.h"

struct user_new;

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

/* An identity on its way to a person; in the request's arena. */
struct api_link {
	struct uuid uid; /* of whoever began */
	const struct user_new *person;
	int (*refuse)(struct req *r, const char *code, const char *why);
	const char *location; /* where the answer leads */
};

/* Only from the http thread. */
int api_link(struct req *r, struct api_link *l, struct err *e) MUST_CHECK;

/* The session of the request's cookie; false when there is none of ours. */
bool api_own_session(const struct req *r, unsigned char ret_id[DIGEST_LEN]);
/* 302; OK. */
int api_lead_to(struct req *r, const char *url);
/* A cookie of ours, and that of the session; an empty text clears it. */
void api_cookie(struct req *r, const char *name, struct str text,
    const char *path, int64_t age_s);
void api_session_cookie(struct req *r, const char *text);
/* The request's own once more, until its session's new end. */
void api_renew_cookie(struct req *r);
