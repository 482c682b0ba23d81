/* Keys and users as a client meets them. */
#include "account/keys.h"

/* The world is made of assertions: they come first. */
/* clang-format off */
#include "base/test.h"
#include "api/world_test.h"
/* clang-format on */

#define LOOK "/v1/event-types" /* what the scope read is enough for */

static const char *
text(struct answer a, const char *pointer)
{
	struct json *v = json_at(a.j, str_of(pointer));

	return json_is(v, JSON_STRING) ? arena_z(w.arena, v->text) : "";
}

/* Makes a key as `who`; its token. */
static const char *
make_key(const char *who, const char *body, struct answer *ret)
{
	struct answer a = ask(who, "POST", "/v1/keys", body);

	if (a.status != 201)
		fail_msg("%d %s", a.status, text(a, "/error/message"));
	if (ret)
		*ret = a;
	return text(a, "/key");
}

static const char *
key_path(struct answer made)
{
	struct str p = arena_fmt(w.arena, "/v1/keys/%s", text(made, "/id"));

	return arena_z(w.arena, p);
}

/* Tests. */

/* The unix socket needs no password: all scopes. */
static void
test_local(void **)
{
	struct answer a = ask(LOCAL, "GET", "/v1/whoami", NULL), made;

	assert_int_equal(a.status, 200);
	assert_string_equal(text(a, "/kind"), "local");
	assert_int_equal(json_get(a.j, "scopes")->n, 7);
	(void)make_key(LOCAL, "{\"name\":\"x\",\"scopes\":[\"read\"]}", &made);
	assert_string_equal(text(made, "/createdBy"), "local");
}

static void
test_key(void **)
{
	struct answer made, a;
	const char *key = make_key(ADMIN,
	    "{\"name\":\"ci\",\"scopes\":[\"read\"],\"ratePerSecond\":100}",
	    &made);

	assert_int_equal(strlen(key), TOKEN_LEN);
	assert_string_equal(text(made, "/createdBy"), "user:admin");
	a = ask(key, "GET", "/v1/whoami", NULL);
	assert_string_equal(text(a, "/kind"), "key");
	assert_string_equal(text(a, "/name"), "ci");
	assert_string_equal(text(a, "/scopes/0"), "read");
	assert_int_equal(status(key, "GET", LOOK, NULL), 200);
	assert_int_equal(status(key, "GET", "/v1/keys", NULL), 403);

	/* The list never has the key; that it was used is written later. */
	do
		a = ask(ADMIN, "GET", key_path(made), NULL);
	while (!text(a, "/lastUsedAt")[0]);
	assert_null(json_get(a.j, "key"));
	assert_true(strlen(text(a, "/lastUsedAt")) == TIME_LEN);
	assert_memory_equal(text(a, "/prefix"), key, TOKEN_SHOWN);

	/* Revoked: from the next request on, whichever thread takes it. */
	for (int i = 0; i < 8; i++)
		assert_int_equal(status(key, "GET", LOOK, NULL), 200);
	assert_int_equal(status(ADMIN, "DELETE", key_path(made), NULL), 204);
	for (int i = 0; i < 8; i++)
		assert_int_equal(status(key, "GET", LOOK, NULL), 401);
	a = ask(ADMIN, "GET", key_path(made), NULL);
	assert_true(strlen(text(a, "/revokedAt")) == TIME_LEN);
	assert_int_equal(
	    status(ADMIN, "DELETE",
		"/v1/keys/00000000-0000-4000-8000-000000000000", NULL),
	    404);
	assert_int_equal(status(ADMIN, "DELETE", "/v1/keys/x", NULL), 404);
}

static void
test_expiry(void **)
{
	char body[128], end_at[TIME_LEN + 1];
	const char *key;

	time_format(clock_now_us() + 700 * US_PER_MS, end_at);
	(void)snprintf(body, sizeof(body),
	    "{\"name\":\"x\",\"scopes\":[\"read\"],\"expiresAt\":\"%s\"}",
	    end_at);
	key = make_key(ADMIN, body, NULL);
	assert_int_equal(status(key, "GET", LOOK, NULL), 200);
	(void)usleep(750 * 1000);
	assert_int_equal(status(key, "GET", LOOK, NULL), 401);
}

static void
test_bad_keys(void **)
{
	static const struct {
		const char *body, *pointer;
	} rows[] = {
	    {"{\"scopes\":[\"read\"]}", "/name"},
	    {"{\"name\":5,\"scopes\":[\"read\"]}", "/name"},
	    {"{\"name\":\"x\"}", "/scopes"},
	    {"{\"name\":\"x\",\"scopes\":[]}", "/scopes"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\",\"Read\"]}", "/scopes/1"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"tenants\":[]}",
		"/tenants"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"tenants\":[\"y y\"]}",
		"/tenants/0"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"ratePerSecond\":0}",
		"/ratePerSecond"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"ratePerSecond\":1.5}",
		"/ratePerSecond"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"expiresAt\":\"soon\"}",
		"/expiresAt"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],"
	     "\"expiresAt\":\"2001-01-01T00:00:00Z\"}",
		"/expiresAt"},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"expires\":\"soon\"}",
		"/expires"},
	    {"[]", ""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct answer a = ask(ADMIN, "POST", "/v1/keys", rows[i].body);

		if (a.status != 422 ||
		    strcmp(text(a, "/error/pointer"), rows[i].pointer) != 0)
			fail_msg("row %zu: %d %s", i, a.status,
			    text(a, "/error/pointer"));
	}
	assert_int_equal(status(ADMIN, "POST", "/v1/keys", "{"), 400);
}

#define T1 "11111111-1111-4111-8111-111111111111"
#define T2 "22222222-2222-4222-8222-222222222222"

/* Nobody gives, sees or takes what lies beyond him. */
static void
test_beyond(void **)
{
	static const struct {
		const char *body;
		int want;
	} rows[] = {
	    {"{\"name\":\"x\",\"scopes\":[\"read\"]}", 403},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"tenants\":[\"" T2 "\"]}",
		403},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],"
	     "\"tenants\":[\"" T1 "\",\"" T2 "\"]}",
		403},
	    {"{\"name\":\"x\",\"scopes\":[\"publish\"],"
	     "\"tenants\":[\"" T1 "\"]}",
		403},
	    {"{\"name\":\"x\",\"scopes\":[\"admin\"],"
	     "\"tenants\":[\"" T1 "\"]}",
		403},
	    {"{\"name\":\"x\",\"scopes\":[\"read\"],\"tenants\":[\"" T1 "\"]}",
		201},
	};
	struct answer whole, wide, a;
	const char *limited = make_key(ADMIN,
	    "{\"name\":\"t1\",\"scopes\":[\"manage\",\"read\"],"
	    "\"tenants\":[\"" T1 "\"]}",
	    NULL);

	(void)make_key(
	    ADMIN, "{\"name\":\"all\",\"scopes\":[\"read\"]}", &whole);
	(void)make_key(ADMIN,
	    "{\"name\":\"pub\",\"scopes\":[\"publish\"],"
	    "\"tenants\":[\"" T1 "\"]}",
	    &wide);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (status(limited, "POST", "/v1/keys", rows[i].body) !=
		    rows[i].want)
			fail_msg("row %zu", i);
	a = ask(limited, "GET", "/v1/whoami", NULL);
	assert_string_equal(text(a, "/tenants/0"), T1);
	a = ask(limited, "GET", "/v1/keys", NULL);
	assert_int_equal(json_get(a.j, "data")->n, 3);
	assert_int_equal(status(limited, "GET", key_path(whole), NULL), 404);
	assert_int_equal(status(limited, "DELETE", key_path(whole), NULL), 404);
	assert_int_equal(status(limited, "DELETE", key_path(wide), NULL), 403);
	/* Users belong to no tenant. */
	limited = make_key(ADMIN,
	    "{\"name\":\"t1\",\"scopes\":[\"admin\"],"
	    "\"tenants\":[\"" T1 "\"]}",
	    NULL);
	assert_int_equal(status(limited, "GET", "/v1/users", NULL), 403);
	assert_int_equal(status(limited, "PUT", "/v1/users/admin/password",
			     "{\"password\":\"taken over\"}"),
	    403);
	assert_int_equal(
	    status(limited, "DELETE", "/v1/users/admin", NULL), 403);
}

/* Nor for longer, nor faster than one may oneself. */
static void
test_no_more_than_oneself(void **)
{
	static const struct {
		const char *more; /* of the key that is made */
		const char *at;   /* NULL: it is made */
	} rows[] = {
	    {"", "/ratePerSecond"},
	    {",\"ratePerSecond\":50", "/expiresAt"},
	    {",\"ratePerSecond\":50,\"expiresAt\":\"2999-01-01T00:00:00Z\"",
		NULL},
	    {",\"ratePerSecond\":1,\"expiresAt\":\"2998-01-01T00:00:00Z\"",
		NULL},
	    {",\"ratePerSecond\":51,\"expiresAt\":\"2998-01-01T00:00:00Z\"",
		"/ratePerSecond"},
	    {",\"ratePerSecond\":50,\"expiresAt\":\"2999-01-01T00:00:01Z\"",
		"/expiresAt"},
	    {",\"expiresAt\":\"2998-01-01T00:00:00Z\"", "/ratePerSecond"},
	};
	const char *maker = make_key(ADMIN,
	    "{\"name\":\"m\",\"scopes\":[\"admin\"],\"ratePerSecond\":50,"
	    "\"expiresAt\":\"2999-01-01T00:00:00Z\"}",
	    NULL);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char body[256];
		struct answer a;

		(void)snprintf(body, sizeof(body),
		    "{\"name\":\"x\",\"scopes\":[\"read\"]%s}", rows[i].more);
		a = ask(maker, "POST", "/v1/keys", body);
		if (a.status != (rows[i].at ? 403 : 201) ||
		    (rows[i].at &&
			strcmp(text(a, "/error/pointer"), rows[i].at) != 0))
			fail_msg("row %zu: %d %s", i, a.status,
			    text(a, "/error/message"));
	}
}

static void
test_pages(void **)
{
	struct str path;
	struct answer a;

	for (int i = 0; i < 5; i++)
		(void)make_key(
		    ADMIN, "{\"name\":\"k\",\"scopes\":[\"read\"]}", NULL);
	a = ask(ADMIN, "GET", "/v1/keys?limit=5", NULL);
	assert_int_equal(json_get(a.j, "data")->n, 5);
	assert_true(json_is(json_get(a.j, "next"), JSON_NULL));
	a = ask(ADMIN, "GET", "/v1/keys?limit=3", NULL);
	assert_int_equal(json_get(a.j, "data")->n, 3);
	path =
	    arena_fmt(w.arena, "/v1/keys?limit=3&after=%s", text(a, "/next"));
	a = ask(ADMIN, "GET", arena_z(w.arena, path), NULL);
	assert_int_equal(json_get(a.j, "data")->n, 2);
	assert_true(json_is(json_get(a.j, "next"), JSON_NULL));
	assert_int_equal(status(ADMIN, "GET", "/v1/keys?limit=0", NULL), 422);
	assert_int_equal(status(ADMIN, "GET", "/v1/keys?after=x", NULL), 422);
	assert_int_equal(status(ADMIN, "GET", "/v1/keys?aftr=x", NULL), 422);
}

static void
test_users(void **)
{
	static const struct {
		const char *who, *method, *path, *body;
		int want;
	} rows[] = {
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"ann\",\"password\":\"ann secret\"}", 201},
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"ann\",\"password\":\"ann secret\"}", 409},
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"Ann\",\"password\":\"ann secret\"}", 422},
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"eve\",\"password\":\"short\"}", 422},
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"eve\",\"password\":\"long enough\","
		"\"role\":\"root\"}",
		422},
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"eve\",\"pass\":\"long enough\"}", 422},
	    {ADMIN, "POST", "/v1/users",
		"{\"name\":\"eve\",\"password\":\"Passw0rd!\"}", 422},
	    /* a reader, when no role is given: nothing of /v1 but herself */
	    {"ann:ann secret", "GET", "/v1/whoami", NULL, 200},
	    {"ann:ann secret", "GET", LOOK, NULL, 403},
	    {"ann:ann secret", "GET", "/v1/users", NULL, 403},
	    {"ann:ann secret", "PUT", "/v1/users/admin/password",
		"{\"password\":\"taken over\"}", 403},
	    /* her own; the old one ends at once */
	    {"ann:ann secret", "PUT", "/v1/users/ann/password",
		"{\"password\":\"ann better\"}", 422},
	    {"ann:ann secret", "PUT", "/v1/users/ann/password",
		"{\"password\":\"ann better\",\"oldPassword\":\"guess\"}", 422},
	    {"ann:ann secret", "PUT", "/v1/users/ann/password",
		"{\"password\":\"ann better\","
		"\"oldPassword\":\"ann secret\"}",
		204},
	    {"ann:ann secret", "GET", "/v1/whoami", NULL, 401},
	    {"ann:ann better", "GET", "/v1/whoami", NULL, 200},
	    /* somebody else's is an admin's to set, who does not know the old */
	    {ADMIN, "PUT", "/v1/users/ann/password",
		"{\"password\":\"ann again\",\"oldPassword\":\"ann better\"}",
		422},
	    {ADMIN, "PUT", "/v1/users/admin/password",
		"{\"password\":\"long enough\"}", 422},
	    {ADMIN, "PUT", "/v1/users/bob/password",
		"{\"password\":\"long enough\"}", 404},
	    {ADMIN, "DELETE", "/v1/users/admin", NULL, 409},
	    {ADMIN, "DELETE", "/v1/users/ann", NULL, 204},
	    {ADMIN, "DELETE", "/v1/users/ann", NULL, 404},
	    {"ann:ann better", "GET", "/v1/whoami", NULL, 401},
	};
	struct answer a;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		a = ask(
		    rows[i].who, rows[i].method, rows[i].path, rows[i].body);
		if (a.status != rows[i].want)
			fail_msg("row %zu: %d %s", i, a.status,
			    text(a, "/error/message"));
	}
	a = ask(ADMIN, "GET", "/v1/users?limit=1", NULL);
	assert_string_equal(text(a, "/data/0/name"), "admin");
	assert_string_equal(text(a, "/data/0/role"), "admin");
	assert_null(json_at(a.j, STR("/data/0/password")));
	assert_true(json_is(json_get(a.j, "next"), JSON_NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_SERVER(test_local),
	    WITH_SERVER(test_key),
	    WITH_SERVER(test_expiry),
	    WITH_SERVER(test_bad_keys),
	    WITH_SERVER(test_beyond),
	    WITH_SERVER(test_no_more_than_oneself),
	    WITH_SERVER(test_pages),
	    WITH_SERVER(test_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
