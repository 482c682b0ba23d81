/*
 * follow.h - one GET, wherever it leads: redirects, gzip and br, one at a time.
 *
 * WHAT. Over the client (client.h): up to FOLLOW_HOPS_MAX redirects, each of
 * which the guard judges like any other URL, since the client does; a body
 * that is unpacked and whole, at most `keep_max` bytes of it; one limit of time
 * over all hops, so that a server that drips is cut like one that is silent.
 *
 * ONE HOST AT A TIME. People who run a server see how often they are asked, and
 * a reader that comes ten times at once is shut out. So a request waits here
 * until no other of this program is under way to the same host, whoever asks:
 * the schedule, a person who adds a feed, an icon. While it waits its time does
 * not run.
 *
 *   follow_start ──▶ WAITING ──host is free──▶ RUNNING ──answer──▶ done
 *                       ▲                        │ redirect
 *                       └────────────────────────┘
 *
 * LIFE. All of it belongs to the client's thread. A follow and what it borrows
 * belong to us from follow_start() until done(), which is called exactly once,
 * never from follow_start(); inside it others may be started, also itself.
 *
 * INVARIANTS
 *   1. At most one request is under way to a host.
 *   2. Credentials (n_own) go to the origin that was asked for first alone.
 *   3. A body is never longer than keep_max: ANSWERED means that it is whole.
 */
#pragma once

#include "http/client/client.h"
#include "http/limits.h"
#include "http/url.h"

struct follows;

enum follow_result {
	FOLLOW_ANSWERED,
	FOLLOW_FAILED,    /* see the client's result */
	FOLLOW_LOST,      /* too many redirects, a loop, or one to nowhere */
	FOLLOW_TOO_LARGE, /* the body, unpacked, is over keep_max */
};

struct follow_answer {
	enum follow_result result;
	struct client_answer last; /* its took_us is over all hops */
	struct str url;            /* where it ended, as url_show() writes it */
	int hops;                  /* redirects that were followed */
	bool permanent; /* all of them were (301, 308), and there was one */
};

struct follow {
	/* Of it the method (a redirect of anything but GET is an answer), the
	 * URL, the query (not for where a redirect leads), headers, body,
	 * user_agent, keep_max and total_ms, which is over all hops, are the
	 * caller's. */
	struct client_send send;
	/* Of the headers the last so many are for the URL's own origin: behind
	 * a redirect to another none of them is sent any more. */
	size_t n_own;
	void (*done)(struct follow *f, const struct follow_answer *a);

	/* ours */
	struct follows *all;
	struct link link;
	int64_t took_us;
	int hops;
	bool permanent;
	size_t n_at;
	char host[URL_HOST_MAX + 1];
	char at[URL_TEXT_MAX]; /* where it is now */
	char error[256];
};

/* proxy: of the operator (client.h), or NULL; both outlive it. */
struct follows *follows_new(struct client *c, const char *proxy);
/* All are cancelled: those that wait at once, the others by client_wait().
 * Nothing may be started behind it. */
void follows_close(struct follows *fs);
void follows_free(struct follows *fs); /* behind client_free(); NULL is fine */

void follow_start(struct follows *fs, struct follow *f);
/* Would a request to this URL start at once? */
bool follow_free_host(const struct follows *fs, struct str url);

/* The value of the last header of that name, trimmed; .p NULL: there is none. */
struct str follow_header(struct str head, const char *name);
/* All of that name, with commas between them. */
void follow_headers(struct str head, const char *name, struct buf *to);

/*
 * `ref` as a Location means it, seen from `base`, into ret; 0 when it leads to
 * no http or https URL. For who has no browser's leniency at hand.
 */
size_t follow_resolve(
    const struct url *base, struct str ref, char ret[URL_TEXT_MAX]);
