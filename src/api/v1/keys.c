#include "account/keys.h"

#include "account/limits.h"
#include "api/api.h"
#include "api/io.h"
#include "api/v1/account.h"
#include "base/conf/conf.h"
#include "contract/preset.h"
#include "deliver/engine/preset_store.h"
#include "event/append.h"
#include "task/target.h"

static int
read_scopes(const struct json *j, struct key *k, struct err *e)
{
	char at[JSON_POINTER_MAX + 1], place[24];
	int i = 0;

	if (!json_is(j, JSON_ARRAY))
		return json_wrong(e, "/scopes", "must be an array of words");
	for (const struct json *s = j->child; s; s = s->next, i++) {
		unsigned bit = json_is(s, JSON_STRING) ? scope_of(s->text) : 0;

		if (!bit) {
			(void)snprintf(at, sizeof(at), "/scopes");
			(void)snprintf(place, sizeof(place), "%d", i);
			json_point(at, str_of(place));
			return err_at(
			    e, ERR_INVALID, at, "a scope is " SCOPE_WORDS);
		}
		k->scopes |= bit;
	}
	return OK;
}

struct body {
	struct key key;
	const struct json *scopes;
	struct member_uuids tenants;
};

#define BODY_AT(field) offsetof(struct body, field)
const struct member KEY_BODY[] = {
    {"name", MEMBER_STRING, BODY_AT(key.name), 0, INT32_MAX, .must = true},
    {"scopes", MEMBER_JSON, BODY_AT(scopes), .must = true, .schema = "Scopes",
	.about = SCOPE_WORDS},
    {"tenants", MEMBER_TENANTS, BODY_AT(tenants), 1, KEY_TENANTS_MAX,
	.about = "it is limited to these; absent: to none"},
    {"ratePerSecond", MEMBER_INT, BODY_AT(key.rate_per_second), 1,
	KEY_RATE_MAX},
    {"expiresAt", MEMBER_TIME, BODY_AT(key.expires_us)},
    {"webhookSecret", MEMBER_STRING, BODY_AT(key.webhook_secret), 1,
	KEY_SECRET_MAX, .about = "absent: one is made"},
    {.name = NULL},
};

static int
read_key(struct req *r, struct body *b, struct err *e)
{
	TRY(api_body(r, KEY_BODY, NULL, b, e));
	TRY(read_scopes(b->scopes, &b->key, e));
	b->key.tenants = b->tenants.v;
	b->key.tenant_names = b->tenants.names;
	b->key.n_tenants = b->tenants.n;
	return key_check(&b->key, clock_now_us(), e);
}

/* A limit that is 0 is none: nothing is within a limit but a limit. */
static bool
within(int64_t limit, int64_t of)
{
	return of == 0 || (limit > 0 && limit <= of);
}

/* What the maker has not got, or not for so long, it can't hand on. */
static int
may_give(const struct req *r, const struct key *k, struct err *e)
{
	const struct principal *who = &r->who;
	const struct api *api = r->app;
	int64_t rate =
	    k->rate_per_second ? k->rate_per_second : api->conf->key_rate_limit;
	char end[TIME_LEN + 1];

	time_format(who->expires_us, end);
	if (!scopes_within(k->scopes, who->scopes))
		return err_at(e, ERR_DENIED, "/scopes",
		    "nobody gives a key scopes that he has not got");
	if (!scopes_tenants_within(k->tenants, k->n_tenants, who))
		return err_at(e, ERR_DENIED, "/tenants",
		    "you are limited to tenants: name some of them, no others");
	if (!within(rate, who->rate_per_second))
		return err_at(e, ERR_DENIED, "/ratePerSecond",
		    "your own rate is %lld: name one that is not higher",
		    (long long)who->rate_per_second);
	if (!within(k->expires_us, who->expires_us))
		return err_at(e, ERR_DENIED, "/expiresAt",
		    "your own key ends at %s: name an end that is not later",
		    end);
	return OK;
}

/* On the commit thread. */
static int
create(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct key *k = r->ctx;
	struct key_made made;

	TRY(keys_create(
	    db, api->keyring, k, clock_now_us(), r->arena, &made, e));
	key_json(k, &made, &r->out);
	digest_wipe(&made, sizeof(made));
	r->status = 201;
	return OK;
}

int
api_keys_post(struct req *r, struct db *, struct err *e)
{
	struct body *b = arena_alloc(r->arena, sizeof(*b));
	struct key *k = &b->key;

	TRY(read_key(r, b, e));
	TRY(may_give(r, k, e));
	k->created_by = api_actor(r);
	r->ctx = k;
	/* It takes no right away: caches and streams go on. */
	return api_write(r, create, e);
}

/* The key that the path names, if the caller may see it. */
static int
get_key(struct req *r, struct db *db, struct key *ret, struct err *e)
{
	struct uuid id;
	bool named = uuid_parse(r->params[0], &id);

	if (named)
		TRY(keys_get(db, id, r->arena, ret, e));
	if (!named ||
	    !scopes_tenants_within(ret->tenants, ret->n_tenants, &r->who))
		return err_set(e, ERR_ABSENT, "there is no such key");
	return OK;
}

int
api_keys_get(struct req *r, struct db *db, struct err *e)
{
	struct key k;

	TRY(get_key(r, db, &k, e));
	key_json(&k, NULL, &r->out);
	return OK;
}

int
api_keys_delete(struct req *r, struct db *db, struct err *e)
{
	struct key k;

	if (!db)
		return api_account_write(r, api_keys_delete, e);
	TRY(get_key(r, db, &k, e));
	if (!scopes_within(k.scopes, r->who.scopes))
		return err_set(e, ERR_DENIED,
		    "nobody revokes a key with scopes that he has not got");
	TRY(keys_revoke(db, k.public_id, api_actor(r), clock_now_us(), e));
	return api_gone(r);
}

/* Another webhook secret ------------------------------------------------------
 *
 *   http ─▶ read: the key, may he ─▶ commit: it, and all that sign with it, in
 *   one transaction ─▶ http
 */

struct rotation {
	struct key key;
	char secret[KEY_SECRET_MAX + 1];
	struct entry entry;
	struct append_job job;
};

static int
rotate_fn(struct db *db, void *ctx, struct err *e)
{
	struct req *r = ctx;
	const struct api *api = r->app;
	struct rotation *op = r->ctx;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct target_secret t = {.ring = api->keyring,
	    .owner = op->key.id,
	    .now_us = clock_now_us()};

	TRY(presets_open(db, api->conf, &presets, e));
	t.presets = presets;
	TRY(keys_secret(db, api->keyring, op->key.public_id,
	    str_of(api->conf->webhook_default_secret), r->arena, &t.was, e));
	TRY(keys_secret_set(
	    db, api->keyring, &op->key, api_actor(r), t.now_us, op->secret, e));
	t.is = str_of(op->secret);
	return target_resecret(db, &t, e);
}

static int
rotated(struct req *r, struct err *)
{
	const struct rotation *op = r->ctx;
	struct buf *b = api_object(r);

	put_uuid(b, "id", op->key.public_id);
	put_z(b, "webhookSecret", op->secret);
	put_close(b, '}');
	return OK;
}

static int
rotate(struct req *r, struct err *e)
{
	struct rotation *op = r->ctx;

	target_entry(&op->entry);
	op->job =
	    (struct append_job){.fn = rotate_fn, .entries = &op->entry, .n = 1};
	api_then(r, rotated);
	return api_append(r, &op->job, e);
}

const struct member KEY_ROTATE_BODY[] = {
    {"webhookSecret", MEMBER_STRING, 0, 1, KEY_SECRET_MAX,
	.about = "absent: one is made"},
    {.name = NULL},
};

int
api_keys_rotate(struct req *r, struct db *db, struct err *e)
{
	struct rotation *op = arena_alloc(r->arena, sizeof(*op));
	struct str given = {.p = NULL};

	TRY(api_body_maybe(r, KEY_ROTATE_BODY, NULL, &given, e));
	TRY(get_key(r, db, &op->key, e));
	if (!scopes_within(op->key.scopes, r->who.scopes))
		return err_set(e, ERR_DENIED,
		    "nobody changes a key with scopes that he has not got");
	if (given.p)
		TRY(key_secret_check(given, e));
	op->key.webhook_secret = given;
	r->ctx = op;
	return api_next(r, rotate);
}

/* The row id behind a cursor, which is the id of the last key shown. */
static int
cursor(
    struct req *r, struct db *db, struct str after, int64_t *ret, struct err *e)
{
	struct uuid id;
	struct key k;
	int rc;

	if (!after.p)
		return OK;
	rc = uuid_parse(after, &id) ? keys_get(db, id, r->arena, &k, e)
				    : ERR_ABSENT;
	if (rc == ERR_ABSENT)
		return api_no_cursor(e);
	if (rc == OK)
		*ret = k.id;
	return rc;
}

int
api_keys_list(struct req *r, struct db *db, struct err *e)
{
	struct api_scan scan = {.shown = 0};
	int64_t after = 0;
	struct uuid last = {0};

	TRY(api_scan(r, API_PAGE_ONLY, &scan.page, &scan, e));
	TRY(cursor(r, db, scan.page.after, &after, e));
	while (api_scan_on(&scan)) {
		struct key *list;
		size_t n;

		TRY(keys_list(db, after, (size_t)scan.page.limit + 1, r->arena,
		    &list, &n, e));
		for (size_t i = 0; i < n && api_scan_row(&scan, r); i++) {
			const struct key *k = &list[i];

			after = k->id;
			last = k->public_id;
			if (!scopes_tenants_within(
				k->tenants, k->n_tenants, &r->who))
				continue;
			scan.shown++;
			put_name(&r->out, NULL);
			key_json(k, NULL, &r->out);
		}
	}
	api_list_end_uuid(r, api_scan_more(&scan), last);
	return OK;
}
