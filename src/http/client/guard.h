/*
 * guard.h - where this program may connect to: the one answer for all that
 * goes out.
 *
 * WHY. Whoever may name a URL (a subscription, a feed) could make the server
 * reach what only it can reach: its own ports, the private network, a cloud's
 * metadata service. So the scheme, the host and every address that the host
 * has are judged, by what they are and not by how they are spelled:
 *
 *   guard_url()      when a URL is saved, and again before each attempt
 *   guard_connect()  for each address that the name resolved to, when it is
 *                    saved as far as the resolver knows it (client_look()), and
 *                    at each attempt; and for the address of each socket that
 *                    is about to be connected
 *
 * One address that is not public refuses the whole name. A name can answer
 * differently every second, so the addresses that were judged are the ones
 * that are connected to (client.h).
 *
 * The allow list narrows what hosts may be named; it opens no private address.
 * Two settings alone do that, by network, each for its own use, since who may
 * add a feed is not who may add a webhook: `webhook.url.allow.private`, and http
 * towards these networks with it, and `fetch.url.allow.private` for what the
 * reader fetches. That a *name* leads there is known only when it has been
 * resolved: with such networks guard_url() lets a webhook's http to a name pass
 * and guard_connect() finishes the check.
 *
 * LIFE. Built at start, then only read: any thread.
 */
#pragma once

#include <sys/socket.h>

#include "base/base.h"

struct conf;
struct guard;
struct url;

enum guard_use {
	GUARD_WEBHOOK, /* https, unless webhook.url.allow.http */
	GUARD_READER,  /* https and http */
	GUARD_USES,    /* how many */
};
/* The setting that opens private networks for it. */
const char *guard_setting(enum guard_use use);

/*
 * ERR_INVALID naming the setting and the reason: for a list that can't be
 * read, and for the three switches that would turn protection off.
 */
int guard_new(
    const struct conf *c, struct guard **ret, struct err *e) MUST_CHECK;
void guard_free(struct guard *g); /* NULL is fine */

/*
 * All that can be said without DNS: form, scheme, host lists, and the address
 * when the host is one. ERR_INVALID or ERR_LIMIT for a URL that is none,
 * ERR_DENIED for one that may not be used.
 */
int guard_url(const struct guard *g, enum guard_use use, struct str url,
    struct err *e) MUST_CHECK;
/* The same for one that was parsed. */
int guard_target(const struct guard *g, enum guard_use use, const struct url *u,
    struct err *e) MUST_CHECK;

/* Whether others could know what the URL names: false for an address that is
 * not public, opened or not, for a name that only a local network can have, and
 * for what is no http or https URL. What a name resolves to is not asked. */
bool guard_public(const struct guard *g, struct str url);

/* ERR_DENIED unless the address is public or opened for this use. */
int guard_addr(const struct guard *g, enum guard_use use,
    const struct sockaddr *sa, struct err *e) MUST_CHECK;
/* guard_addr(), and whether http may be spoken there. */
int guard_connect(const struct guard *g, enum guard_use use, bool https,
    const struct sockaddr *sa, struct err *e) MUST_CHECK;
