/*
 * resolve.h - from a host name to its addresses, without waiting.
 *
 * c-ares asks /etc/hosts and the servers of /etc/resolv.conf. Questions for
 * the same name share one look-up, and an answer is kept for as long as it
 * says, from RESOLVE_LEAST_MS to RESOLVE_FRESH_MS; so is a failure, for the
 * least. No search domains: a name means what it says, or the lists of the
 * guard would be judged by another name than the one that is used.
 *
 * LIFE. One thread, whose epoll the sockets of c-ares are put into, marked
 * with `tag` in the upper half of the event's u64 and the fd in the lower.
 * That thread calls resolve_event() for these and resolve_tick() when
 * resolve_timeout_ms() have passed. A question's struct is the asker's, and is
 * the resolver's until done() or resolve_drop().
 */
#pragma once

#include "http/client/limits.h"
#include "http/url.h"

struct resolve;

struct resolved {
	size_t n;
	int64_t fresh_ms; /* how long this may be believed */
	union addr v[RESOLVE_ADDRS_MAX];
};

struct resolve_opts {
	int64_t timeout_ms;
	int epoll_fd;
	uint32_t tag;
	const char *servers; /* "127.0.0.1:53,…"; NULL: /etc/resolv.conf's */
};

struct resolve_ask {
	/* r is NULL when there is no answer, and why says so. */
	void (*done)(
	    struct resolve_ask *q, const struct resolved *r, const char *why);
	/* the resolver's */
	struct list *in; /* those of the same name */
	struct link of_name, by_due;
	int64_t due_ms;
};

int resolve_new(const struct resolve_opts *o, struct resolve **ret,
    struct err *e) MUST_CHECK;
void resolve_free(struct resolve *r); /* open questions get no answer */

/*
 * `host` is as in struct url. It is waited for no longer than most_ms and
 * timeout_ms. done() may run before this returns.
 */
void resolve_ask(struct resolve *r, const char *host, int64_t most_ms,
    struct resolve_ask *q);
void resolve_drop(struct resolve *r, struct resolve_ask *q);

void resolve_event(struct resolve *r, int fd, bool readable, bool writable);
void resolve_tick(struct resolve *r);
int64_t resolve_timeout_ms(struct resolve *r); /* -1: nothing to wait for */
