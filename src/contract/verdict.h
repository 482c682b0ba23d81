/*
 * verdict.h - what an answer means: done, again, never, or gone for good.
 *
 * WHY A TABLE. Every receiver's contract draws the line elsewhere: one takes
 * any 2xx, another 200 alone; one retries a 404, another buries it at once.
 * So a preset holds rows, the first that fits decides, and this file knows no
 * preset. What no row fits is a dead letter.
 *
 * A row fits an answer by its status and, where it says so, by whether the
 * body is the *standard error form* of PCA Hub (W11): an object with `status`
 * a number and `code`, `message`, `domain`, `trace` strings, further members
 * allowed, at most VERDICT_BODY_MAX bytes. A row fits a missing answer by
 * what went wrong with the network.
 *
 * The names of reasons and verdicts are the API's; their numbers the store's.
 */
#pragma once

#include "base/base.h"

enum verdict {
	VERDICT_OK = 0,    /* "success" */
	VERDICT_RETRY = 1, /* "retry": when the schedule has one left */
	VERDICT_DEAD = 2,  /* "dead" */
	VERDICT_GONE = 3,  /* "gone": dead, and the subscription is disabled */
	VERDICT_HOLD = 4,  /* "hold": later, and no try is used up */
};

enum reason {
#define REASON(name, number, text) REASON_##name = (number),
#include "contract/reasons.tbl"
#undef REASON
};

/* How a call ended, as the HTTP client tells it. */
enum outcome_net {
	NET_ANSWER,    /* there is a status */
	NET_TIMEOUT,   /* connecting or answering took too long */
	NET_NETWORK,   /* connect, reset, broken answer */
	NET_DNS,       /* no such host, or no answer of the resolver */
	NET_TLS,       /* certificate or handshake */
	NET_REFUSED,   /* the URL guard: nothing was sent */
	NET_TOO_LARGE, /* the answer was cut off, before a status came */
};

struct outcome {
	enum outcome_net net;
	int status;      /* NET_ANSWER: 100..599 */
	struct str body; /* as much of it as was kept */
	bool cut;        /* there was more */
};

enum verdict_body {
	BODY_ANY,
	BODY_STANDARD_ERROR,
	BODY_NOT_STANDARD_ERROR,
};

struct verdict_row {
	int from, to;  /* statuses; 0, 0 for a row about the network */
	unsigned nets; /* bits 1u << enum outcome_net */
	enum verdict_body body;
	enum verdict verdict;
};

struct judgement {
	enum verdict verdict;
	enum reason reason; /* REASON_NONE with VERDICT_OK */
};

/* The arena is for looking into the body. */
struct judgement verdict_of(struct arena *a, const struct verdict_row *rows,
    size_t n, const struct outcome *o);

bool verdict_standard_error(struct arena *a, struct str body);

const char *reason_name(enum reason r); /* "HTTP_STATUS" */
const char *reason_text(enum reason r);
/* Whether the subscription wants the event is not known: its filter failed. */
bool reason_unjudged(int r);
bool reason_find(struct str name, enum reason *ret);
bool outcome_net_find(struct str name, enum outcome_net *ret); /* "timeout" */
