/*
 * sub_priv.h - between sub.c and sub_parts.c, which reads and writes
 * the members that are objects and lists.
 */
#ifndef CONTRACT_SUB_PRIV_H
#define CONTRACT_SUB_PRIV_H

#include "base/json.h"
#include "contract/member.h"
#include "contract/sub.h"

struct sub_reader {
	struct member_io io;
	struct sub_conf *s;
	const struct sub_rules *rules; /* NULL: it was checked before */
	struct err *e;
};

struct sub_writer {
	struct member_io io;
	const struct sub_conf *s;
	bool once; /* FORM_USER: the newest secret is shown as it is */
	struct buf *b;
	struct err *e;
};

/* Each takes the member's value, which may be null. */
int sub_types_read(struct sub_reader *r, const struct json *j);
int sub_tenants_read(struct sub_reader *r, const struct json *j);
int sub_headers_read(struct sub_reader *r, const struct json *j);
int sub_auth_read(struct sub_reader *r, const struct json *j);
int sub_retry_read(struct sub_reader *r, const struct json *j);
int sub_hub_read(struct sub_reader *r, const struct json *j);
int sub_secret_read(struct sub_reader *r, const struct json *j);
int sub_secrets_read(struct sub_reader *r, const struct json *j);

/* And these write name and value. */
int sub_types_write(const struct sub_writer *w);
int sub_tenants_write(const struct sub_writer *w);
int sub_headers_write(const struct sub_writer *w);
int sub_auth_write(const struct sub_writer *w);
int sub_retry_write(const struct sub_writer *w);
int sub_hub_write(const struct sub_writer *w);
int sub_secret_write(const struct sub_writer *w);
int sub_secrets_write(const struct sub_writer *w);

/* Makes one when the preset wants it and none is there; then the signers. */
int sub_secrets_arm(struct sub_conf *s, struct err *e);
void sub_secrets_done(struct sub_conf *s);

/* What must hold for the whole, whichever members were given. */
int sub_headers_check(const struct sub_reader *r);
int sub_auth_check(const struct sub_reader *r);
int sub_hub_check(const struct sub_reader *r);
/* A change must not send secrets elsewhere; `was`: before it was read. */
int sub_kept_check(const struct sub_reader *r, const struct sub_conf *was);
int sub_url_check(const struct sub_reader *r, struct str url, const char *at);

#endif
