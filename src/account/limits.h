/*
 * limits.h - the bounds of access: names, logins, caches, rates.
 */
#pragma once

#include "match/limits.h"

/* Access. Names fit principal.name. */
#define ACCOUNT_NAME_MAX 63
#define KEY_NAME_MAX     63
#define KEY_TENANTS_MAX                                                        \
	MATCH_TENANTS_MAX       /* copied into each request of such a key */
#define KEY_SECRET_MAX      128 /* bytes of one that is given */
#define KEY_RATE_MAX        10000000 /* a second: past what a node takes */
/* Who calls: kept per http thread, asked again after this. */
#define AUTH_CACHE_MAX      256
#define AUTH_FRESH_S        5
#define AUTH_VERIFIED_S     300 /* a checked password is trusted so long */
#define AUTH_VERIFIED_MAX   1024
/* One check takes 7 MiB and some 30 ms: one at a time, 2 s of queue. */
#define AUTH_CHECKS_MAX     64
#define AUTH_CHECKS_EACH    8  /* of these, by one network */
#define KEY_TOUCH_S         60 /* "last used" is written at most so often */
/* Failed logins of a minute: lines in the log, rows in the audit (some 7 MB a
 * day of it under a siege), and notes that wait for the jobs thread. */
#define LOGIN_LINES_MAX     60
#define LOGIN_ROWS_MAX      17
#define LOGIN_NOTES_MAX     4096
#define LOCKOUT_MAX         4096 /* (account, network) pairs remembered */
#define LIMITER_MAX         4096 /* keys that are busy in the same second */
/* People, and networks of nobody we know, that are busy in the same minute. */
#define LIMITER_PEOPLE_MAX  16384
#define LIMITER_NETWORK_MAX 16384
/* What people took is shared by nodes so often, of so many at a time
 * (account/rates.h); the next look of the jobs thread goes on. */
#define RATES_MS            1000
#define RATES_MOST          256
#define SESSIONS_EACH       20 /* of one person: browsers and devices */
#define IDENTITIES_MAX      20 /* of one person: ways to log in */

/* Logins by another's word (account/oidc.h). */
#define OIDC_ANSWER_MAX (64 * KIB) /* of a provider, each */
#define OIDC_FRESH_S    3600       /* its document and keys are believed */
#define OIDC_KEYS_S     10        /* at least between two looks for a new key */
#define OIDC_FAILED_MS  1000      /* a failure is believed so long */
#define OIDC_LOGIN_S    600       /* from our page to the provider's and back */
#define OIDC_FLOWS_MAX  64        /* logins that wait for a provider at once */
#define OIDC_TOTAL_MS   10000     /* one call to it */
#define OIDC_MEM        (1 * MIB) /* its answers, parsed */

/* Apps that read for a person (account/tokens.h). */
#define APP_TOKENS_MAX 50 /* app passwords of one person */
