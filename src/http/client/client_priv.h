/*
 * client_priv.h - the two halves of the client: the loop, and one transfer.
 *
 * client.c owns the loop: epoll, timers, the resolver, who waits and who ended.
 * client_xfer.c knows libcurl's handles: what a request is made of, and what
 * comes back. Each transfer has a handle of its own, which costs two
 * microseconds; connections and sessions of TLS are the client's.
 *
 *   client_start --> DNS --pinned--> RUNNING --libcurl--> ENDED --done--> freed
 *        |            |                 |                   ^
 *        |            +----refused------+----cancelled------+
 *        +---refused, no address needed to know-------------+
 */
#pragma once

#include <curl/curl.h>

#include "http/client/client.h"
#include "http/client/resolve.h"
#include "http/url.h"

enum xfer_state { XFER_NEW, XFER_DNS, XFER_RUNNING, XFER_ENDED };

/* Room for "+host:port:" and the pinned addresses. */
#define PIN_MAX (URL_HOST_MAX + 16 + CLIENT_PINS_MAX * (ADDR_TEXT_MAX + 3))

struct client_xfer {
	struct client *client;
	struct client_send *send;
	CURL *easy;
	enum xfer_state state;
	struct link link; /* of those that run, or have ended */
	struct resolve_ask ask;
	struct url url;
	int64_t started_us;

	/* the request; libcurl borrows the lines */
	struct buf text;
	struct curl_slist lines[CLIENT_HEADERS_MAX + 4];
	size_t n_lines;
	struct buf pem; /* certificate and key */
	struct curl_slist pin;
	char pin_text[PIN_MAX];

	/* the answer */
	struct buf head, body;
	size_t head_bytes, body_bytes, head_keep;
	bool cut, too_large, refused, head_whole;
	int64_t retry_after_ms;
	enum client_result result;
	struct err refusal; /* with `refused` */
	char error[CURL_ERROR_SIZE];
};

struct client {
	struct client_opts o;
	CURLM *multi;
	struct resolve *resolve;
	int epoll_fd, wake_fd;
	int64_t curl_due_us; /* -1: no timer */
	CURLSH *sessions;    /* of TLS, for all handles */
	struct list active, ended;
	struct list looks; /* struct client_look: asking the resolver */
};

/* guard_connect() of what a name leads to; the log has the address. */
int client_judge(const struct client *c, enum guard_use use,
    const struct url *u, const struct sockaddr *sa, struct err *e) MUST_CHECK;

struct client_xfer *xfer_new(struct client *c, struct client_send *s);
void xfer_free(struct client_xfer *x);
/* Reads URL and headers of x->send; ERR_INVALID, ERR_DENIED, ERR_LIMIT. */
int xfer_prepare(struct client_xfer *x, struct err *e) MUST_CHECK;
/* Judges all addresses; ERR_DENIED when one is not to be used. */
int xfer_pin(
    struct client_xfer *x, const struct resolved *r, struct err *e) MUST_CHECK;
/* Sets up the handle, which is then ready for curl_multi_add_handle(). */
void xfer_arm(struct client_xfer *x, long left_ms);
/* What libcurl made of it. */
void xfer_ended(struct client_xfer *x, CURLcode code);
void xfer_answer(struct client_xfer *x, struct client_answer *ret);
