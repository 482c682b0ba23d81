/*
 * setup.h - what the settings mean for `hikyaku serve`, before it builds a part.
 */
#pragma once

#include "base/conf/conf.h"
#include "base/log/log.h"
#include "event/retain.h"
#include "http/server/listen.h"

/* ERR_INVALID for a word of server.roles that is none of ours. */
int setup_roles(const struct conf *c, struct err *e) MUST_CHECK;
bool setup_role(const struct conf *c, const char *role);
enum log_level setup_log(const struct conf *c);
/* How long what is kept; the data folder is there, for its disk's size. */
struct retain_keep setup_keep(const struct conf *c);
int setup_threads(const struct conf *c); /* of HTTP */

/* Before there is a store: a port that is taken leaves nothing behind. */
int setup_listen(
    const struct conf *c, struct listening *ret, struct err *e) MUST_CHECK;
void setup_close(struct listening *l);

/* The address with the real port, as a URL. */
#define SETUP_URL_MAX 320
void setup_url(const struct conf *c, int port, char ret[SETUP_URL_MAX]);
/* The first password, below that address, and then it is gone; "": there is none. */
void setup_tell(FILE *out, char *password);
