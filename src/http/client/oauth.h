/*
 * oauth.h - bearer tokens by OAuth2 client credentials (RFC 6749, 4.4).
 *
 * Many deliveries to one endpoint share one token. It is fetched when first
 * asked for, by one request however many ask, and renewed before its end while
 * the old one still serves, so that no delivery waits for it again. A failure
 * is answered to all who wait, and to all who ask within OAUTH_FAILED_MS, so
 * that a backlog does not fall on the token endpoint.
 *
 * The secret is part of what names a token: who knows only the client's id
 * must not get the token of one who knows its secret.
 *
 * LIFE. Belongs to the thread of its client, through which (and through whose
 * guard) tokens are fetched. client_free() comes first: it ends what is still
 * being fetched, and so what is still asked. A question's struct is the
 * asker's, and is ours until done() or oauth_drop().
 */
#pragma once

#include "base/base.h"

struct client;
struct oauth;
struct oauth_token;

struct oauth_conf {
	struct str token_url, client_id, client_secret;
	struct str scope; /* may be empty */
	/* By HTTP Basic, which every server knows, or in the form. */
	bool secret_in_body;
	int connect_ms, total_ms;
	/* As in client.h. Borrowed for as long as the oauth lives, since a
	 * token is renewed when nobody waits for it. */
	const char *proxy, *user_agent;
};

struct oauth_ask {
	/*
	 * `token` is what stands behind "Bearer ", and lives until done()
	 * returns. Without one it is empty and *e says why: ERR_AWAY when it
	 * may be tried again, else ERR_DENIED.
	 */
	void (*done)(
	    struct oauth_ask *q, struct str token, const struct err *e);
	/* ours */
	struct link link;
	struct list *in; /* NULL: nobody is asked */
};

/* "Basic " and base64 of id:secret, each encoded as in a form (2.3.1). */
void oauth_basic(struct buf *b, struct str id, struct str secret);

struct oauth *oauth_new(struct client *client);
void oauth_free(struct oauth *o); /* after client_free(); NULL is fine */

/*
 * now_ms is clock_mono_ms(). The texts of conf are copied. done() runs before this returns
 * when the answer is known, else from client_wait() or client_free().
 */
void oauth_get(struct oauth *o, const struct oauth_conf *conf, int64_t now_ms,
    struct oauth_ask *q);
void oauth_drop(struct oauth_ask *q); /* it is not to be answered any more */
/* The endpoint refused this token: the next who asks gets another. */
void oauth_refused(
    struct oauth *o, const struct oauth_conf *conf, struct str token);
