/*
 * sub_priv.h - between sub.c and sub_parts.c, which reads and writes
 * the members that are objects and lists.
 */
#ifndef CONTRACT_SUB_PRIV_H
#define CONTRACT_SUB_PRIV_H

#include "base/json.h"
#include "contract/reading.h"
#include "contract/sub.h"

struct sub_reader {
	struct reading g;
	struct sub_conf *s;
	const struct sub_rules *rules; /* NULL: it was checked before */
};

/* Each takes the member's value, which may be null. */
void sub_types_read(struct sub_reader *r, const struct json *j);
void sub_tenants_read(struct sub_reader *r, const struct json *j);
void sub_headers_read(struct sub_reader *r, const struct json *j);
void sub_auth_read(struct sub_reader *r, const struct json *j);
void sub_retry_read(struct sub_reader *r, const struct json *j);
/* What a subscription has that says nothing: the settings. */
struct sub_batch sub_batch_initial(const struct sub_reader *r);
void sub_batch_read(struct sub_reader *r, const struct json *j);
void sub_hub_read(struct sub_reader *r, const struct json *j);
void sub_managed_read(struct sub_reader *r, const struct json *j);

/* As member_secret_read(). */
void sub_one_secret(struct sub_reader *r, const struct json *j, const char *at,
    size_t most, struct str *ret);
void sub_secret_read(struct sub_reader *r, const struct json *j);
void sub_secrets_read(struct sub_reader *r, const struct json *j);

/* Makes one when the preset wants it and none is there; then the signers. */
int sub_secrets_arm(struct sub_conf *s, struct err *e);
void sub_secrets_done(struct sub_conf *s);

/* What must hold for the whole, whichever members were given. */
void sub_headers_check(struct sub_reader *r);
void sub_auth_check(struct sub_reader *r);
void sub_hub_check(struct sub_reader *r);
/* A change must not send secrets elsewhere; `was`: before it was read. */
void sub_kept_check(struct sub_reader *r, const struct sub_conf *was);
void sub_url_check(struct sub_reader *r, struct str url, const char *at);

int sub_hub_write(const struct member_io *io, const struct sub_hub *h,
    struct buf *b, struct err *e);
/* "name":value for each of the others, a comma before each. */
int sub_parts_write(const struct member_io *io, const struct sub_conf *s,
    struct buf *b, struct err *e);

#endif
