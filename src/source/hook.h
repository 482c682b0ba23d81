/*
 * hook.h - incoming webhooks: what a provider posts becomes events.
 *
 *   POST /in/{name} ──▶ hook_verify ──▶ hook_events ──▶ the log
 *
 * A hook is a source: how its provider signs, with which secrets, and what
 * its requests mean. It is one row (`hook_source`); what a person writes is
 * JSON, docs/incoming.md is the reference:
 *
 *   scheme            standard, cloudevents, cloudevents-binary, repository,
 *                     task (the presets that sign), github, stripe, basic,
 *                     bearer, or none, which wants "unsafe": true
 *   secret            made when not given, where the provider takes ours
 *   username, header  basic: its name; bearer: the header that has the token
 *   toleranceSeconds  how old a signed time may be
 *   template          jq over {headers, query, body}: an envelope, an array of
 *                     them, or null for nothing
 *   defaults          tenantId, eventType, schemaVersion, partitionKey: for
 *                     what the template leaves out, or without one
 *   deliveryId        a text with variables that names a request
 *   networks          who may call; [] or absent: anybody
 *   ratePerSecond, enabled, description
 *
 * VARIABLES in eventType, partitionKey and deliveryId: {/json/pointer} into the
 * body, {Header-Name}. One that is not there makes the text absent.
 *
 * ONE REQUEST, ONE EVENT. The event's id is made of the source's name and what
 * the provider calls its delivery, so that its retry is the same event. Where
 * it calls it nothing it is made of the bytes and the time that it names; where
 * it names none, each request is an event of its own: dropping one that was
 * meant costs more than having one twice.
 *
 * WHAT A REFUSAL TELLS. hook_verify() says why, for the log and the test call;
 * whoever posted is told nothing.
 *
 * LIFE. A hook is one arena, never changed once read, but by hook_rotate().
 */
#pragma once

#include "contract/limits.h"
#include "contract/member.h"
#include "contract/receive.h"
#include "http/server/req.h"

struct entry;
struct envelope_opts;
struct jq;
struct presets;

struct hook;
struct hook_request;

/* How a request is verified, and what a provider means by it. */
struct hook_scheme {
	const char *name;
	/* NULL: by the hook's preset */
	enum receive_result (*verify)(
	    const struct hook *h, const struct hook_request *q);
	bool open;                /* there is no secret: anybody can post */
	bool username, header;    /* it takes these members */
	bool stripe;              /* receive_stripe() */
	const char *secret_from;  /* who makes the secret; NULL: we may */
	struct str id, type, key; /* what the members are when absent */
	const char *form;         /* the field of a form that has the body */
	const char *ping; /* the header that says so when it tells nothing */
};
/* That of all presets that sign when the name is none of another's. */
const struct hook_scheme *hook_scheme_find(struct str name);

struct hook_secret {
	struct str text;
	int64_t until_us; /* 0: for ever; the first always is */
};

struct hook_net {
	unsigned char b[16]; /* IPv4 as ::ffff:a.b.c.d */
	unsigned bits;
};

/* 192.0.2.1, or with a length: 192.0.2.0/24 */
bool hook_net_read(struct str text, struct hook_net *ret);

struct hook {
	struct arena *arena;
	struct str name, description;
	struct str scheme_name;
	const struct hook_scheme *scheme;
	const struct preset *preset; /* a reference of ours, or NULL */
	bool unsafe, enabled;
	struct str username, header;
	struct hook_secret secrets[SUB_SECRETS_MAX];
	size_t n_secrets;
	int64_t tolerance_s;
	struct str template;
	struct str delivery_id;
	struct str tenant_text, event_type, partition_key;
	int64_t schema_version;
	struct str *networks; /* as written */
	struct hook_net *nets;
	size_t n_nets;
	int64_t rate_per_s; /* 0: no limit */

	/* its row */
	int64_t id, version, created_us, changed_us;
	struct uuid uid;
	bool closed; /* its secrets can't be opened with the keys there are */
	int program; /* of the thread that runs it; -1: none */
};

/* What reading needs to know of the world. */
struct hook_rules {
	const struct presets *presets; /* the built-in ones */
	/* Compiles a jq program; NULL: not now. ERR_INVALID with the place. */
	int (*program_check)(void *arg, struct str program, struct err *e);
	void *arg;
};

/* ERR_INVALID: the name of a source is a-z 0-9 - _, up to HOOK_NAME_MAX. */
int hook_name_check(struct str name, struct err *e) MUST_CHECK;

extern const struct member HOOK_BODY[]; /* what may be said of one */

/*
 * PUT: all of it; what is absent has its default, but a secret that is absent
 * or masked stays that of `old` (NULL: none). ERR_SYNTAX, ERR_INVALID with the
 * pointer.
 */
int hook_read(struct str json, struct str name, const struct hook *old,
    const struct hook_rules *rules, struct hook **ret,
    struct err *e) MUST_CHECK;
/* From the store; secrets.p NULL: there are none, or they stay closed. */
int hook_load(struct str name, struct str conf, struct str secrets,
    const struct hook_rules *rules, struct hook **ret,
    struct err *e) MUST_CHECK;
void hook_free(struct hook *h);   /* NULL is fine */
void hook_freep(struct hook **h); /* for CLEANUP */
/* Its requests are CloudEvents; without a template they are read as such. */
bool hook_takes_cloudevents(const struct hook *h);

/* The stored form: all but the secrets, and those, to be sealed. */
void hook_conf(const struct hook *h, struct buf *b);
void hook_secrets(const struct hook *h, struct buf *b);
/* As the API shows it, with its row; `once`: with the newest secret. */
void hook_show(const struct hook *h, bool once, struct buf *b);

/*
 * A new secret in front, given (.n 0: made); the one before is good for
 * overlap_s more. ERR_CONFLICT without a secret, ERR_INVALID, ERR_LIMIT.
 */
int hook_rotate(struct hook *h, struct str given, int64_t overlap_s,
    int64_t now_us, struct err *e) MUST_CHECK;

/* One request, as it came: header names in any case. */
struct hook_request {
	struct received in; /* headers and the raw body */
	const struct str_pair *query;
	size_t n_query;
	struct str peer; /* an address; "unix" */
	int64_t now_us;
};

/* Is it from the provider? Takes the same time for any wrong secret. */
int hook_verify(const struct hook *h, const struct hook_request *q,
    enum receive_result *ret, struct err *e) MUST_CHECK;
bool hook_peer_ok(const struct hook *h, struct str peer);

/* One event, or what is wrong with it. */
struct hook_item {
	struct str text; /* an envelope as JSON, ids filled in; or what came */
	struct err wrong;
};

struct hook_made {
	struct hook_item *items;
	size_t n;
	bool many;       /* the template made an array */
	const char *why; /* n is 0: why nothing is to be made of it */
	struct str ref;  /* what names the request, for people */
};

/*
 * What a verified request says. ERR_AWAY when jq can't be run now: the
 * provider should come again. What is wrong with it stands in the items.
 */
int hook_events(const struct hook *h, const struct hook_request *q,
    struct jq *jq, struct arena *a, struct hook_made *ret,
    struct err *e) MUST_CHECK;
