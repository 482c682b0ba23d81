/*
 * receive.h - the other side: is this request really from where it says?
 *
 * `hikyaku listen` and `hikyaku verify` check what a receiver would check, for
 * any preset: what is signed, with what and in which header stands in the
 * preset, so a user's own scheme is verified by the same few lines.
 *
 * WHAT IS CHECKED. Each signature header that is there must hold a signature
 * by one of the secrets over the bytes of the body and, where the scheme signs
 * them, over the id and the time that stand in the headers; that time must be
 * within the tolerance of now. One header at least must be there. Comparing
 * takes the same time wherever two signatures differ.
 *
 * What a scheme does not sign proves nothing: X-NemakiWare-Signature covers the
 * body alone, so by itself it can be replayed for ever. A receiver that has
 * webhook-signature beside it should ask for that one.
 *
 * Whether the same message came before is for the receiver to remember, by
 * its id.
 */
#pragma once

#include "contract/preset.h"

struct received {
	struct str line; /* "POST /hook HTTP/1.1"; empty: none */
	const struct str_pair *headers;
	size_t n;
	struct str body;
};

enum receive_result {
	RECEIVE_OK,
	RECEIVE_NO_SCHEME, /* the preset signs nothing */
	RECEIVE_UNSIGNED,  /* no signature header */
	RECEIVE_NO_FIELD,  /* a header that is signed is missing */
	RECEIVE_TIME,      /* the time is no number, or too far from now */
	RECEIVE_WRONG,     /* no signature fits */
};

/*
 * A request as it came over the wire, or was captured by a tool: perhaps a
 * request line, headers, an empty line, the body. Lines end with LF or CRLF;
 * a Content-Length cuts what follows the body. ERR_SYNTAX with the line.
 */
int receive_parse(struct arena *a, struct str text, struct received *ret,
    struct err *e) MUST_CHECK;
/* Empty when absent. */
struct str receive_header(const struct received *r, const char *name);

/*
 * Stripe has the time and all signatures in one header: the same request with
 * the headers that its row in providers.tbl names.
 */
struct received receive_stripe(struct arena *a, const struct received *r);

struct receive_time {
	int64_t us, tolerance_s; /* now, and how far from it */
};

/* ERR_INVALID for a secret that is none of the scheme's; else *ret. */
int receive_verify(const struct preset *p, const struct str *secrets, size_t n,
    const struct received *r, struct receive_time now, enum receive_result *ret,
    struct err *e) MUST_CHECK;
const char *receive_text(enum receive_result r);
