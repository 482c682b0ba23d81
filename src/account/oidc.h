/*
 * oidc.h - somebody else says who it is: OpenID Connect, code flow with PKCE.
 *
 *   browser ─▶ /auth/google/login ─▶ (302) the provider's page, and back
 *           ─▶ /auth/google/callback?code ─▶ here: the code is exchanged for an
 *              id_token, which is verified (seal/jwt.h) and says who it is
 *
 * Google is one issuer; any other works the same. Its document (discovery) and
 * its keys are fetched together when first needed, by one fetch however many
 * wait, and believed for OIDC_FRESH_S. A token of a key that is not among them
 * has them fetched again, but not oftener than each OIDC_KEYS_S: keys change,
 * and strangers must not make us ask all day. A failure is believed for
 * OIDC_FAILED_MS.
 *
 * LIFE. All but the settings belongs to the caller's thread (http/client/caller.h),
 * through whose client and guard the provider is asked. A flow is its asker's
 * memory, and ours from oidc_start() until done(), which is called once, on
 * that thread. oidc_free() after caller_stop().
 *
 * INVARIANTS
 *   1. Of a provider nothing is believed that it did not sign, or that did not
 *      come from its own address over a checked connection.
 *   2. At most OIDC_FLOWS_MAX flows wait, each OIDC_TOTAL_MS for each of at
 *      most five calls.
 */
#pragma once

#include "http/client/caller.h"
#include "seal/jwt.h"

struct conf;
struct oidc;

/* OK when nothing is set, or all that is needed; else one error names it all. */
int oidc_check(const struct conf *c, struct err *e) MUST_CHECK;

/* NULL when no provider is set. The conf outlives it. */
struct oidc *oidc_new(const struct conf *c, struct caller *caller);
void oidc_free(struct oidc *o); /* NULL is fine */

/* "google", or the issuer: what identities are kept under. */
struct str oidc_provider(const struct oidc *o);
/* Whether it is our provider's name, with a slash at its end or without. */
bool oidc_is_issuer(const struct oidc *o, struct str issuer);

/* Room for what is made anew for each login: 43 characters, 256 bits. */
#define OIDC_WORD_LEN 43

struct oidc_flow {
	struct arena *arena;
	/* What the browser brought; an empty code: it has yet to go there. */
	struct str code, verifier, nonce;
	void (*done)(struct oidc_flow *f);
	void *arg;

	/*
	 * ERR_AWAY: the provider did not answer as it should; ERR_DENIED: it
	 * did not take the code; ERR_INVALID: its token is not good.
	 */
	int rc;
	struct err err;
	struct str authorize;     /* without a code: the provider's page */
	struct jwt_claims claims; /* with one: who it is */

	/* ours */
	struct oidc *oidc;
	struct call call;
	struct client_send send;
	struct client_header headers[3];
	struct str token;
	bool again;
	struct oidc_flow *next;
};

/* ERR_BUSY when too many wait. */
int oidc_start(struct oidc *o, struct oidc_flow *f, struct err *e) MUST_CHECK;

/*
 * The provider's page with our question; `authorize` is a flow's. The words
 * are what the browser must bring back, and what the token must hold.
 */
struct str oidc_page(const struct oidc *o, struct str authorize,
    struct str state, struct str nonce, struct str verifier, struct arena *a);
