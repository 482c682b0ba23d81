/*
 * limits.h - the bounds of what we ask of others and take from them.
 */
#pragma once

#include "base/base.h"

/* The thread that calls for others (http/client/caller.h). */
#define CALLER_CONNECTIONS 64
#define CALLER_BODY_MAX    (5 * MIB) /* of one answer; each asker keeps less */

#define RESOLVE_CACHE_MAX  4096  /* names known at once, each about 2 KiB */
#define RESOLVE_FRESH_MS   30000 /* an answer is believed so long at most */
#define RESOLVE_LEAST_MS   1000  /* and so long at least; failures too */
#define RESOLVE_CONF_MS    5000  /* between looks at resolv.conf */
#define RESOLVE_ADDRS_MAX  64    /* of a name; all are judged, so none is cut */
#define CLIENT_PINS_MAX    8     /* of these, how many a connect may try */
#define CLIENT_HEADERS_MAX 128   /* of a request */
#define CLIENT_TEXT_MAX    (64 * KIB) /* its URL and headers */
#define CLIENT_HEAD_KEEP   (2 * KIB)  /* of an answer's, shown to people */
#define CLIENT_HEAD_MAX    (64 * KIB) /* of an answer's, read */
/* A Retry-After past this says the same as this: a day. */
#define CLIENT_RETRY_MAX_S 86400
/* OAuth2: tokens known at once, and what one may be. */
#define OAUTH_TOKENS_MAX   1024
#define OAUTH_TOKEN_MAX    (8 * KIB)  /* it travels as a header */
#define OAUTH_ANSWER_MAX   (64 * KIB) /* of a token endpoint */
#define OAUTH_KEY_MAX      (8 * KIB)  /* URL, client, secret and scope */
#define OAUTH_LIFE_S       300        /* of a token whose answer does not say */
#define OAUTH_LIFE_MAX_S   86400 /* a token is asked for once a day at least */
#define OAUTH_EARLY_MAX_MS 60000 /* a token is renewed so long before its end */
#define OAUTH_FAILED_MS    1000  /* a failure is believed so long */
/* Redirects that are followed for a reader (seed 002), and how long one hop
 * may take to connect. */
#define FOLLOW_HOPS_MAX    5
#define FOLLOW_CONNECT_MS  5000
