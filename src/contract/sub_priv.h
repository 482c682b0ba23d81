/*
 * sub_priv.h - between sub.c and sub_parts.c, which reads and writes
 * the members that are objects and lists.
 */
#pragma once

#include "contract/member.h"
#include "contract/sub.h"

/*
 * Members of SUB_BODY. `base` is a struct sub_conf; `ctx` is what reading needs to
 * know of the world (struct sub_rules), NULL: it was checked before. When a
 * subscription is shown, a ctx says that the newest secret is shown as it is.
 */
#define SUB_MEMBER(name)                                                       \
	int sub_##name##_read(const struct member_io *io,                      \
	    const struct json *j, void *base, struct err *e);                  \
	int sub_##name##_write(const struct member_io *io, const void *base,   \
	    struct buf *b, struct err *e)
SUB_MEMBER(types);
SUB_MEMBER(headers);
SUB_MEMBER(auth);
SUB_MEMBER(retry);
SUB_MEMBER(hub);
SUB_MEMBER(secret);
SUB_MEMBER(secrets);
#undef SUB_MEMBER
extern const struct member SUB_HUB[]; /* of `hub` */

/* Makes one when the preset wants it and none is there; then the signers. */
int sub_secrets_arm(struct sub_conf *s, struct err *e);
void sub_secrets_done(struct sub_conf *s);

/* What must hold for the whole, whichever members were given. */
int sub_headers_check(const struct sub_conf *s, struct err *e);
int sub_auth_check(
    const struct sub_conf *s, const struct sub_rules *k, struct err *e);
int sub_hub_check(
    const struct sub_conf *s, const struct sub_rules *k, struct err *e);
/* A change must not send secrets elsewhere; `was`: before it was read. */
int sub_kept_check(
    const struct sub_conf *s, const struct sub_conf *was, struct err *e);
int sub_url_check(
    const struct sub_rules *k, struct str url, const char *at, struct err *e);
