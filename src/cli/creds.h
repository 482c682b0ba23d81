/*
 * creds.h - the servers that were logged in to, and the keys for them.
 *
 * A file of lines "URL KEY [ID [CA]]", the newest last; ID is that of a key
 * which `login` made and `logout` may revoke, - for one that was given; CA is
 * the file of its authorities. It is $XDG_CONFIG_HOME/hikyaku/credentials, or
 * ~/.config/hikyaku/credentials: mode 0600, in a folder of mode 0700, written
 * anew beside it and renamed. One that others may read is refused.
 */
#pragma once

#include "base/base.h"

struct cred {
	struct str url; /* as target_url() writes it */
	struct str key, id, ca;
};

/* All of them, in the arena; none is no error. */
int creds_read(struct arena *a, struct cred **ret, size_t *ret_n,
    struct err *e) MUST_CHECK;
/* In place of the one for its URL, as the newest; without a key it goes. */
int creds_put(struct arena *a, const struct cred *c, struct err *e) MUST_CHECK;
