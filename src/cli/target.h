/*
 * target.h - which server a verb talks to, and as whom.
 *
 * The first of these that is there:
 *   1. --server URL
 *   2. --data DIR
 *   3. HIKYAKU_URL
 *   4. the data folder that the settings name (--config, the environment), or
 *      ./data when there is one
 *   5. the server that was logged in to last (creds.h)
 *   6. ./data, and so the error that there is none
 * The key for a URL: --key, HIKYAKU_KEY, the one kept by `login` for that URL.
 * With HIKYAKU_URL, HIKYAKU_KEY is for that server alone: --server does not
 * send it elsewhere.
 *
 * http is for this machine (localhost, 127.0.0.0/8, ::1) and for what was
 * logged in to so; elsewhere the key could be read on the way, and it takes
 * --insecure.
 */
#pragma once

#include "cli/cli.h"
#include "cli/client.h"

/* A URL as it is kept and compared: no slash, query or port of the scheme at
 * its end. */
int target_url(struct cli *c, const char *text, const char **ret,
    bool *ret_near, struct err *e) MUST_CHECK;
/* ERR_INVALID for http to another machine without --insecure. */
int target_plain(
    const struct cli *c, const char *url, bool near, struct err *e) MUST_CHECK;
/* 1 and *ret, or 0: the data folder. */
int target_find(struct cli *c, struct client_at *ret, struct err *e) MUST_CHECK;
