/*
 * log_page.h - a page of the log for a caller: what it asked for, and may see.
 *
 * Shared by the list, the long poll and the stream. A page shows at most
 * `limit` events and PAGE_BYTES, and looks at no more than PAGE_SCAN entries to
 * find them, so that a filter which matches nothing costs no more than one
 * that matches all.
 */
#pragma once

#include "api/io.h"
#include "event/limits.h"
#include "seal/tenant.h"

struct db;
struct keyring;
struct principal;
struct req;

struct log_filter {
	struct str type;   /* exactly; .p NULL: any */
	struct str prefix; /* from `name.*`, with its dot; .p NULL: any */
	struct str key;
	struct str tenant; /* 16 bytes */
	struct uuid tenant_id;
	bool correlated; /* of this correlationId alone */
	struct uuid correlation;
	char low[UUID_LEN + 1], up[UUID_LEN + 1];
	int64_t after, limit;
};

struct log_page {
	int64_t next; /* where the next page begins */
	size_t shown;
	bool at_end; /* nothing newer was in the log */
};

/* As a user gives them; empty: any. */
struct log_words {
	struct str type, key, tenant, correlation;
};

/* The filter borrows the words, and points into itself: it is not copied. */
int log_filter_set(
    struct log_filter *f, const struct log_words *w, struct err *e) MUST_CHECK;
/* Rows of a query whose struct has a `struct log_words words`. */
#define LOG_WORDS(of)                                                          \
	{"type", MEMBER_STRING, offsetof(of, words.type), 0, EVENT_TYPE_MAX,   \
	    .about = "exactly, or name.*"},                                    \
	    {"key", MEMBER_STRING, offsetof(of, words.key), 0, EVENT_KEY_MAX}, \
	    {"correlationId", MEMBER_STRING, offsetof(of, words.correlation),  \
		0, UUID_LEN},                                                  \
	{                                                                      \
		"tenant", MEMBER_STRING, offsetof(of, words.tenant), 0,        \
		    TENANT_MAX, .about = "a name or a UUID"                    \
	}
/* The same; a tenant that is not the caller's is denied. */
int log_filter_read(const struct req *r, const struct log_words *w,
    struct log_filter *ret, struct err *e) MUST_CHECK;

/* A cursor given as the header or parameter `name`. */
int log_cursor_read(
    struct str text, const char *name, int64_t *ret, struct err *e) MUST_CHECK;

struct log_view {
	struct keyring *keyring;
	const struct principal *who;
	const struct log_filter *filter;
	void (*show)(struct buf *b, struct str body, int64_t seq,
	    int64_t received_us, size_t nth);
};
/*
 * Writes each event's text by `show`, in the order of the log. One that is
 * sealed and can't be opened stands there with its ids, type and an `error`
 * instead of all else: those behind it must not wait for a key.
 */
int log_page_read(struct db *db, const struct log_view *v, struct buf *out,
    struct log_page *ret, struct err *e) MUST_CHECK;
