#include "account/keys.h"

#include "account/limits.h"
#include "api/api.h"
#include "api/v1/account.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/json.h"
#include "base/str.h"
#include "http/server/limits.h"

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

static int
read_tenants(
    const struct json *j, struct arena *a, struct key *k, struct err *e)
{
	struct uuid *list;

	if (!j || json_is(j, JSON_NULL))
		return OK;
	if (!json_is(j, JSON_ARRAY) || j->n < 1 || j->n > KEY_TENANTS_MAX)
		return json_wrong(e, "/tenants",
		    "must be an array of 1 to %d UUIDs, or absent",
		    KEY_TENANTS_MAX);
	list = arena_array(a, j->n, sizeof(*list));
	if (!list)
		return err_set(e, ERR_NOMEM, "no room for the tenants");
	for (const struct json *t = j->child; t; t = t->next)
		if (!json_is(t, JSON_STRING) ||
		    !uuid_parse(t->text, &list[k->n_tenants++]))
			return json_wrong(
			    e, "/tenants", "must hold UUIDs only");
	k->tenants = list;
	return OK;
}

static int
read_limits(const struct json *j, struct key *k, struct err *e)
{
	const struct json *rate = json_get(j, "ratePerSecond");
	const struct json *end = json_get(j, "expiresAt");

	if (rate && !json_is(rate, JSON_NULL) &&
	    (!json_int(rate, &k->rate_per_second) || k->rate_per_second < 1))
		return json_wrong(e, "/ratePerSecond",
		    "must be a whole number from 1 to %d", KEY_RATE_MAX);
	if (end && !json_is(end, JSON_NULL) &&
	    (!json_is(end, JSON_STRING) ||
		!time_parse(end->text, &k->expires_us, NULL)))
		return json_wrong(e, "/expiresAt",
		    "must be a time as in RFC 3339, 2030-01-31T12:00:00Z");
	return OK;
}

static int
read_key(struct req *r, struct key *k, struct err *e)
{
	static const char *const names[] = {
	    "name", "scopes", "tenants", "ratePerSecond", "expiresAt", NULL};
	struct json *j = NULL;
	const struct json *name;
	int rc = json_parse(r->arena, r->body, &j, e);

	if (rc < 0)
		return rc;
	if (!json_is(j, JSON_OBJECT))
		return err_at(e, ERR_INVALID, "", "a key is a JSON object");
	rc = json_known(j, "", names, e);
	if (rc < 0)
		return rc;
	name = json_get(j, "name");
	if (!json_is(name, JSON_STRING))
		return json_wrong(e, "/name", "must be a string");
	k->name = name->text;
	rc = read_scopes(json_get(j, "scopes"), k, e);
	if (rc == OK)
		rc = read_tenants(json_get(j, "tenants"), r->arena, k, e);
	if (rc == OK)
		rc = read_limits(j, k, e);
	return rc;
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
	int rc = keys_create(
	    db, api->keyring, k, clock_now_us(), r->arena, &made, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	key_json(k, &made, &r->out);
	digest_wipe(&made, sizeof(made));
	r->status = 201;
	return OK;
}

int
api_keys_post(struct req *r, struct db *db, struct err *e)
{
	struct key *k = arena_alloc(r->arena, sizeof(*k));
	int rc;

	(void)db;
	if (!k)
		return err_set(e, ERR_NOMEM, "no room for a key");
	rc = read_key(r, k, e);
	if (rc == OK)
		rc = key_check(k, clock_now_us(), e);
	if (rc == OK)
		rc = may_give(r, k, e);
	if (rc < 0)
		return rc;
	k->created_by = api_actor(r);
	r->ctx = k;
	/* It takes no right away: caches and streams go on. */
	return api_write(r, create, e);
}

/* The key that the path names, if the caller may see it. */
static int
get(struct req *r, struct db *db, struct key *ret, struct err *e)
{
	struct uuid id;
	int rc;

	if (!uuid_parse(r->params[0], &id))
		return err_set(e, ERR_ABSENT, "there is no such key");
	rc = keys_get(db, id, r->arena, ret, e);
	if (rc == OK &&
	    !scopes_tenants_within(ret->tenants, ret->n_tenants, &r->who))
		rc = err_set(e, ERR_ABSENT, "there is no such key");
	return rc;
}

int
api_keys_get(struct req *r, struct db *db, struct err *e)
{
	struct key k;
	int rc = get(r, db, &k, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	key_json(&k, NULL, &r->out);
	return OK;
}

/* On the commit thread. */
static int
revoke(struct req *r, struct db *db, struct err *e)
{
	struct key k;
	int rc = get(r, db, &k, e);

	if (rc == OK && !scopes_within(k.scopes, r->who.scopes))
		rc = err_set(e, ERR_DENIED,
		    "nobody revokes a key with scopes that he has not got");
	if (rc == OK)
		rc = keys_revoke(
		    db, k.public_id, api_actor(r), clock_now_us(), e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

int
api_keys_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return api_account_write(r, revoke, e);
}

/* The row id behind a cursor, which is the id of the last key shown. */
static int
cursor(struct req *r, struct db *db, int64_t *ret, struct err *e)
{
	struct str after;
	struct uuid id;
	struct key k;
	int rc;

	*ret = 0;
	if (!req_query(r, "after", &after))
		return OK;
	rc = uuid_parse(after, &id) ? keys_get(db, id, r->arena, &k, e)
				    : ERR_ABSENT;
	if (rc == ERR_ABSENT)
		return err_set(
		    e, ERR_INVALID, "after is no cursor of this list");
	if (rc == OK)
		*ret = k.id;
	return rc;
}

/* A page may look at PAGE_SCAN keys to find those that the caller may see. */
static int
page(struct req *r, struct db *db, int64_t after, size_t limit, struct err *e)
{
	size_t shown = 0, looked = 0, batch = limit + 1, n = batch;
	bool more = false;
	struct uuid last = {0};
	struct key *list;
	int rc;

	while (!more && n == batch && looked < PAGE_SCAN) {
		rc = keys_list(db, after, batch, r->arena, &list, &n, e);
		if (rc < 0)
			return rc;
		for (size_t i = 0; i < n; i++, looked++) {
			const struct key *k = &list[i];

			more = shown == limit;
			if (more)
				break;
			after = k->id;
			last = k->public_id;
			if (!scopes_tenants_within(
				k->tenants, k->n_tenants, &r->who))
				continue;
			if (shown++)
				buf_addc(&r->out, ',');
			key_json(k, NULL, &r->out);
		}
	}
	buf_addz(&r->out, "],\"next\":");
	if (more || n == batch) {
		buf_addc(&r->out, '"');
		uuid_add(&r->out, last);
		buf_addz(&r->out, "\"}");
	} else {
		buf_addz(&r->out, "null}");
	}
	return OK;
}

int
api_keys_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const names[] = {"limit", "after", NULL};
	int64_t limit = 0, after = 0;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &limit, e);
	if (rc == OK)
		rc = cursor(r, db, &after, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	return page(r, db, after, (size_t)limit, e);
}
