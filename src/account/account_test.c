/* Accounts and keys over a real store: SQLite in a temporary folder. */
#include "account/accounts.h"
#include "account/keys.h"
#include "account/limits.h"
#include "audit/audit.h"
#include "base/test.h"
#include "http/server/req.h"
#include "seal/keyring.h"
#include "seal/tenant.h"
#include "sql.h"
#include "store/fixture_test.h"

#define NOW (INT64_C(1700000000) * US_PER_S)

struct world {
	struct fixture f;
	struct db *db;
	struct arena *arena;
	struct keyring *ring;
	struct err e;
};

static int
begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct keyring_opts o = {.source = "file", .file = "", .first = true};

	assert_non_null(w);
	fixture_open(&w->f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(w->f.store, DB_WRITE, &w->db, &w->e), OK);
	w->arena = arena_new(4 * MIB);
	assert_non_null(w->arena);
	o.dir = w->f.dir;
	assert_int_equal(keyring_open(&o, &w->ring, &w->e), OK);
	*state = w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	db_close(w->db);
	keyring_close(w->ring);
	arena_free(w->arena);
	fixture_close(&w->f);
	free(w);
	return 0;
}

static void
test_names(void **)
{
	static const struct {
		const char *name;
		int want;
	} rows[] = {
	    {"admin", OK},
	    {"a", OK},
	    {"0", OK},
	    {"alice.b_c+d@example.com", OK},
	    {"a23456789012345678901234567890123456789012345678901234567890123",
		OK},
	    {"a234567890123456789012345678901234567890123456789012345678901234",
		ERR_INVALID},
	    {"", ERR_INVALID},
	    {"Admin", ERR_INVALID},
	    {".a", ERR_INVALID},
	    {"a b", ERR_INVALID},
	    {"a:b", ERR_INVALID},
	    {"a/b", ERR_INVALID},
	    {"jos\xc3\xa9", ERR_INVALID},
	};
	struct err e;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (account_check_name(str_of(rows[i].name), "/name", &e) !=
		    rows[i].want)
			fail_msg("%s", rows[i].name);
}

/* A random password the first time, never again. */
static void
test_first(void **state)
{
	struct world *w = *state;
	char made[PASSWORD_MADE_LEN + 1], again[PASSWORD_MADE_LEN + 1];
	struct account u;
	bool first = false, same = false;

	assert_int_equal(
	    accounts_first(w->db, STR_EMPTY, NOW, made, &first, &w->e), OK);
	assert_true(first);
	assert_int_equal(strlen(made), PASSWORD_MADE_LEN);
	assert_int_equal(
	    accounts_first(w->db, STR_EMPTY, NOW, again, &first, &w->e), OK);
	assert_false(first);
	assert_string_equal(again, "");
	assert_int_equal(
	    accounts_find(w->db, STR("admin"), w->arena, &u, &w->e), OK);
	assert_int_equal(u.role, ROLE_ADMIN);
	assert_int_equal(
	    password_verify(u.password, str_of(made), &same, &w->e), OK);
	assert_true(same);
}

/* One that was set is taken, and not shown. */
static void
test_first_given(void **state)
{
	struct world *w = *state;
	char made[PASSWORD_MADE_LEN + 1];
	struct account u;
	bool first = false, same = false;

	assert_int_equal(
	    accounts_first(w->db, STR("short"), NOW, made, &first, &w->e),
	    ERR_INVALID);
	assert_int_equal(accounts_first(w->db, STR("from the file"), NOW, made,
			     &first, &w->e),
	    OK);
	assert_true(first);
	assert_string_equal(made, "");
	assert_int_equal(
	    accounts_find(w->db, STR("admin"), w->arena, &u, &w->e), OK);
	assert_int_equal(
	    password_verify(u.password, STR("from the file"), &same, &w->e),
	    OK);
	assert_true(same);
}

static int
remove_one(struct db *db, void *ctx, struct err *e)
{
	return accounts_remove(db, str_of(ctx), STR("local"), NOW, e);
}

struct adding {
	struct str name, by;
	enum role role;
};

static int
add_one(struct db *db, void *ctx, struct err *e)
{
	const struct adding *a = ctx;

	return accounts_add(db, a->name, STR("$1"), a->role, a->by, NOW, e);
}

static void
test_users(void **state)
{
	enum { ADD, SET, REMOVE };
	static const struct {
		int what;
		const char *name;
		enum role role;
		int want;
	} rows[] = {
	    {ADD, "bob", ROLE_VIEWER, ERR_CONFLICT}, /* not the first */
	    {ADD, "ann", ROLE_ADMIN, OK},
	    {ADD, "bob", ROLE_VIEWER, OK},
	    {ADD, "bob", ROLE_ADMIN, ERR_CONFLICT},
	    {SET, "bob", ROLE_NONE, OK},
	    {SET, "eve", ROLE_NONE, ERR_ABSENT},
	    {REMOVE, "eve", ROLE_NONE, ERR_ABSENT},
	    {REMOVE, "ann", ROLE_NONE, ERR_CONFLICT}, /* the last admin */
	    {ADD, "cat", ROLE_ADMIN, OK},
	    {REMOVE, "ann", ROLE_NONE, OK},
	    {REMOVE, "bob", ROLE_NONE, OK},
	    {REMOVE, "cat", ROLE_NONE, ERR_CONFLICT},
	};
	struct world *w = *state;
	struct account *list, u;
	size_t n;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str name = str_of(rows[i].name);
		char z[16];
		int rc;

		(void)snprintf(z, sizeof(z), "%s", rows[i].name);
		if (rows[i].what == ADD)
			rc = db_tx(w->db, add_one,
			    &(struct adding){name, STR("user:x"), rows[i].role},
			    &w->e);
		else if (rows[i].what == SET)
			rc = accounts_password(w->db,
			    &(struct account_password){.name = name,
				.hash = STR("$2"),
				.by = STR("user:x")},
			    NOW + 1, &w->e);
		else
			rc = db_tx(w->db, remove_one, z, &w->e);
		if (rc != rows[i].want)
			fail_msg("row %zu: %d %s", i, rc, w->e.text);
		if (i != 5)
			continue;
		assert_int_equal(
		    accounts_find(w->db, STR("bob"), w->arena, &u, &w->e), OK);
		assert_true(u.user > 0); /* an account is a person */
		assert_str(u.password, "$2");
		assert_int_equal(u.created_us, NOW);
		assert_int_equal(u.changed_us, NOW + 1);
		assert_int_equal(accounts_list(w->db, STR_EMPTY, 1, w->arena,
				     &list, &n, &w->e),
		    OK);
		assert_int_equal(n, 1);
		assert_str(list[0].name, "ann");
		assert_int_equal(accounts_list(w->db, list[0].name, 9, w->arena,
				     &list, &n, &w->e),
		    OK);
		assert_int_equal(n, 1);
		assert_str(list[0].name, "bob");
	}
}

static void
test_key_check(void **)
{
	static const struct uuid some[KEY_TENANTS_MAX + 1];
	static const struct {
		struct key k;
		const char *at; /* NULL: good */
	} rows[] = {
	    {{.name = STR("ci"), .scopes = SCOPE_READ}, NULL},
	    {{.name = STR("ci"),
		 .scopes = SCOPES_ALL,
		 .rate_per_second = 1,
		 .expires_us = NOW + 1,
		 .tenants = some,
		 .n_tenants = 1},
		NULL},
	    {{.name = STR(""), .scopes = SCOPE_READ}, "/name"},
	    {{.name = STR("a\nb"), .scopes = SCOPE_READ}, "/name"},
	    {{.name = STR("\xff"), .scopes = SCOPE_READ}, "/name"},
	    {{.name = STR("ci")}, "/scopes"},
	    {{.name = STR("ci"), .scopes = SCOPE_ANY}, "/scopes"},
	    {{.name = STR("ci"), .scopes = SCOPE_READ, .tenants = some},
		"/tenants"},
	    {{.name = STR("ci"),
		 .scopes = SCOPE_READ,
		 .tenants = some,
		 .n_tenants = KEY_TENANTS_MAX + 1},
		"/tenants"},
	    {{.name = STR("ci"), .scopes = SCOPE_READ, .rate_per_second = -1},
		"/ratePerSecond"},
	    {{.name = STR("ci"),
		 .scopes = SCOPE_READ,
		 .rate_per_second = KEY_RATE_MAX + 1},
		"/ratePerSecond"},
	    {{.name = STR("ci"), .scopes = SCOPE_READ, .expires_us = NOW},
		"/expiresAt"},
	};
	struct err e;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int rc = key_check(&rows[i].k, NOW, &e);

		if ((rc == OK) != !rows[i].at ||
		    (rc < 0 && strcmp(e.at, rows[i].at) != 0))
			fail_msg("row %zu: %d %s", i, rc, e.at);
	}
}

static void
test_keys(void **state)
{
	struct world *w = *state;
	const struct str names[2] = {
	    STR("acme"), STR("0198c2f0-7d1e-7a3b-8c4d-5e6f70819203")};
	struct uuid tenants[2];
	struct key k = {.name = STR("ci \"x\""),
	    .scopes = SCOPE_READ | SCOPE_PUBLISH,
	    .tenants = tenants,
	    .tenant_names = names,
	    .n_tenants = 2,
	    .rate_per_second = 9,
	    .expires_us = NOW + US_PER_DAY,
	    .created_by = STR("user:admin")};
	struct key plain = {.name = STR("plain"),
	    .scopes = SCOPE_ADMIN,
	    .created_by = STR("local")};
	struct key got, *list;
	struct key_made one, two;
	size_t n;

	for (size_t i = 0; i < 2; i++)
		assert_true(tenant_parse(names[i], &tenants[i]));
	assert_int_equal(
	    keys_create(w->db, w->ring, &k, NOW, w->arena, &one, &w->e), OK);
	assert_int_equal(
	    keys_create(w->db, w->ring, &plain, NOW + 1, w->arena, &two, &w->e),
	    OK);
	assert_int_equal(
	    keys_find(w->db, one.token.hash, w->arena, &got, &w->e), OK);
	assert_true(uuid_eq(got.public_id, k.public_id));
	assert_str(got.name, "ci \"x\"");
	assert_true(str_eq(got.shown, str_of(one.token.shown)));
	assert_int_equal(got.scopes, SCOPE_READ | SCOPE_PUBLISH);
	assert_int_equal(got.n_tenants, 2);
	assert_memory_equal(got.tenants, tenants, sizeof(tenants));
	assert_str(key_tenant_names(&got, w->arena),
	    "acme,0198c2f0-7d1e-7a3b-8c4d-5e6f70819203");
	assert_int_equal(got.rate_per_second, 9);
	assert_int_equal(got.created_us, NOW);
	assert_int_equal(got.expires_us, NOW + US_PER_DAY);
	assert_int_equal(got.last_used_us, 0);
	assert_int_equal(got.revoked_us, 0);

	assert_int_equal(keys_touch(w->db, got.id, NOW + 7, &w->e), OK);
	assert_int_equal(keys_touch(w->db, got.id, NOW + 5, &w->e), OK);
	assert_int_equal(
	    keys_revoke(w->db, got.public_id, STR("local"), NOW + 8, &w->e),
	    OK);
	assert_int_equal(
	    keys_revoke(w->db, got.public_id, STR("local"), NOW + 9, &w->e),
	    OK);
	assert_int_equal(
	    keys_get(w->db, k.public_id, w->arena, &got, &w->e), OK);
	assert_int_equal(got.last_used_us, NOW + 7);
	assert_int_equal(got.revoked_us, NOW + 8);

	assert_int_equal(
	    keys_list(w->db, got.id, 9, w->arena, &list, &n, &w->e), OK);
	assert_int_equal(n, 1);
	assert_str(list[0].name, "plain");
	assert_null(list[0].tenants);
	assert_int_equal(list[0].rate_per_second, 0);
	assert_int_equal(
	    keys_list(w->db, 0, 1, w->arena, &list, &n, &w->e), OK);
	assert_int_equal(n, 1);
	assert_int_equal(list[0].id, got.id);

	one.token.hash[0] ^= 1;
	assert_int_equal(
	    keys_find(w->db, one.token.hash, w->arena, &got, &w->e),
	    ERR_ABSENT);
	assert_int_equal(
	    keys_get(w->db, uuid_v4(), w->arena, &got, &w->e), ERR_ABSENT);
	assert_int_equal(
	    keys_revoke(w->db, uuid_v4(), STR("local"), NOW, &w->e),
	    ERR_ABSENT);
}

/* Sealed in the store, bound to its key; older keys have the default. */
static void
test_secret(void **state)
{
	struct world *w = *state;
	struct key k = {.name = STR("one"),
	    .scopes = SCOPE_READ,
	    .created_by = STR("local")};
	struct key other = k;
	struct key_made made, two;
	struct rows *rows = NULL;
	struct str got = STR_EMPTY, stored = STR_EMPTY;

	assert_int_equal(
	    keys_create(w->db, w->ring, &k, NOW, w->arena, &made, &w->e), OK);
	assert_int_equal(
	    keys_create(w->db, w->ring, &other, NOW, w->arena, &two, &w->e),
	    OK);
	assert_int_equal(
	    strlen(made.secret), 50); /* whsec_ and 32 bytes in base64 */
	assert_memory_equal(made.secret, "whsec_", 6);
	assert_string_not_equal(made.secret, two.secret);
	assert_int_equal(keys_secret(w->db, w->ring, k.public_id, STR("d"),
			     w->arena, &got, &w->e),
	    OK);
	assert_true(str_eq(got, str_of(made.secret)));

	/* The other's, put in its place, is none. */
	assert_int_equal(sql_key_secret(w->db, &rows, &w->e,
			     .public_id = uuid_str(&other.public_id)),
	    OK);
	assert_int_equal(rows_next(rows, &w->e), 1);
	stored = arena_dup(w->arena, rows_str(rows, 0));
	rows_close(rows);
	assert_null(strstr(arena_z(w->arena, stored), two.secret));
	rows = NULL;
	assert_int_equal(
	    sql_seal_api_key_page(w->db, &rows, &w->e, .after = 0, .most = 1),
	    OK);
	assert_int_equal(rows_next(rows, &w->e), 1);
	got = arena_dup(w->arena, rows_str(rows, 2));
	rows_close(rows);
	assert_int_equal(sql_seal_api_key_put(w->db, &w->e, .id = 1, .was = got,
			     .sealed = stored),
	    1);
	assert_int_equal(keys_secret(w->db, w->ring, k.public_id, STR("d"),
			     w->arena, &got, &w->e),
	    ERR_INVALID);
	assert_int_equal(keys_secret(w->db, w->ring, uuid_v4(), STR("d"),
			     w->arena, &got, &w->e),
	    ERR_ABSENT);
}

/* Given when it is made, or later; what can't sign is refused. */
static void
test_secret_given(void **state)
{
	struct world *w = *state;
	struct key k = {.name = STR("given"),
	    .scopes = SCOPE_SUBMIT,
	    .created_by = STR("local"),
	    .webhook_secret = STR("shared with the receiver")};
	struct key_made made;
	struct str got = STR_EMPTY;
	static const struct {
		const char *text;
		enum err_code code;
	} rows[] = {
	    {"s", OK},
	    {"secret-123", OK},
	    {"", ERR_INVALID},
	    {"a\nb", ERR_INVALID},
	    {"\xff", ERR_INVALID},
	    {"whsec_AA", ERR_INVALID},
	    {"whpk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", ERR_INVALID},
	};
	char longest[KEY_SECRET_MAX + 2];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(key_secret_check(str_of(rows[i].text), &w->e),
		    rows[i].code);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(
	    key_secret_check((struct str){longest, KEY_SECRET_MAX}, &w->e), OK);
	assert_int_equal(
	    key_secret_check((struct str){longest, KEY_SECRET_MAX + 1}, &w->e),
	    ERR_INVALID);
	assert_string_equal(w->e.at, "/webhookSecret");

	assert_int_equal(
	    keys_create(w->db, w->ring, &k, NOW, w->arena, &made, &w->e), OK);
	assert_string_equal(made.secret, "shared with the receiver");
	assert_int_equal(keys_secret(w->db, w->ring, k.public_id, STR("d"),
			     w->arena, &got, &w->e),
	    OK);
	assert_str(got, "shared with the receiver");
	for (int i = 0; i < 2; i++) {
		k.webhook_secret = i ? (struct str){longest, KEY_SECRET_MAX}
				     : (struct str){.p = NULL};
		assert_int_equal(keys_secret_set(w->db, w->ring, &k, STR("ann"),
				     NOW, made.secret, &w->e),
		    OK);
		assert_int_equal(
		    strlen(made.secret), i ? KEY_SECRET_MAX : 6 + 44);
		assert_int_equal(keys_secret(w->db, w->ring, k.public_id,
				     STR("d"), w->arena, &got, &w->e),
		    OK);
		assert_true(str_eq(got, str_of(made.secret)));
	}
	k.public_id = uuid_v4();
	assert_int_equal(keys_secret_set(w->db, w->ring, &k, STR("ann"), NOW,
			     made.secret, &w->e),
	    ERR_ABSENT);
}

/* A key from before there were secrets. */
static void
test_secret_default(void **state)
{
	struct world *w = *state;
	struct uuid id = uuid_v4();
	struct str got = STR_EMPTY;

	assert_int_equal(
	    sql_key_add(w->db, &w->e, .public_id = uuid_str(&id),
		.name = STR("old"), .hash = STR("h"), .shown = STR("hk_"),
		.scopes = STR("read"), .tenants = (struct str){NULL, 0},
		.rate = NULL, .now = NOW, .created_by = STR("local"),
		.expires_at = NULL, .webhook_secret = (struct str){NULL, 0}),
	    1);
	assert_int_equal(keys_secret(w->db, w->ring, id, STR("the default"),
			     w->arena, &got, &w->e),
	    OK);
	assert_str(got, "the default");
}

/* Whatever changes access is told, by whom. */
static void
test_audited(void **state)
{
	struct world *w = *state;
	struct key k = {.name = STR("one"),
	    .scopes = SCOPE_READ,
	    .created_by = STR("user:ann")};
	struct key_made made;
	char name[] = "bob";
	struct audit_walk x = {0};

	assert_int_equal(
	    db_tx(w->db, add_one,
		&(struct adding){STR("ann"), STR_EMPTY, ROLE_ADMIN}, &w->e),
	    OK);
	assert_int_equal(
	    db_tx(w->db, add_one,
		&(struct adding){STR("bob"), STR("user:ann"), ROLE_VIEWER},
		&w->e),
	    OK);
	assert_int_equal(accounts_password(w->db,
			     &(struct account_password){.name = STR("bob"),
				 .hash = STR("$2"),
				 .by = STR("user:ann")},
			     NOW, &w->e),
	    OK);
	assert_int_equal(db_tx(w->db, remove_one, name, &w->e), OK);
	assert_int_equal(
	    keys_create(w->db, w->ring, &k, NOW, w->arena, &made, &w->e), OK);
	assert_int_equal(
	    keys_revoke(w->db, k.public_id, STR("user:ann"), NOW, &w->e), OK);
	while (!x.done && !x.broken)
		assert_int_equal(audit_walk(w->db, &x, &w->e), OK);
	assert_false(x.broken);
	assert_int_equal(x.rows, 6);
}

static void
test_json(void **)
{
	const struct str name = STR("11000000-0000-0000-0000-000000000000");
	struct uuid tenant = {{0x11}}, id = {{0x22}};
	struct key k = {.public_id = id,
	    .name = STR("a\"b"),
	    .shown = STR("hk_abc"),
	    .created_by = STR("local"),
	    .scopes = SCOPE_READ | SCOPE_ADMIN,
	    .tenants = &tenant,
	    .tenant_names = &name,
	    .n_tenants = 1,
	    .rate_per_second = 5,
	    .created_us = NOW,
	    .expires_us = NOW};
	struct account u = {.name = STR("ann"),
	    .password = STR("$secret"),
	    .role = ROLE_OPERATOR,
	    .created_us = NOW,
	    .changed_us = NOW};
	struct buf b = BUF(KIB);

	key_json(&k, NULL, &b);
	assert_str(buf_str(&b),
	    "{\"id\":\"22000000-0000-0000-0000-000000000000\","
	    "\"name\":\"a\\\"b\",\"prefix\":\"hk_abc\","
	    "\"scopes\":[\"read\",\"admin\"],"
	    "\"tenants\":[\"11000000-0000-0000-0000-000000000000\"],"
	    "\"ratePerSecond\":5,\"createdAt\":\"2023-11-14T22:13:20.000Z\","
	    "\"createdBy\":\"local\",\"lastUsedAt\":null,"
	    "\"expiresAt\":\"2023-11-14T22:13:20.000Z\",\"revokedAt\":null}");
	buf_clear(&b);
	account_json(&u, &b);
	assert_str(buf_str(&b),
	    "{\"name\":\"ann\",\"role\":\"operator\","
	    "\"createdAt\":\"2023-11-14T22:13:20.000Z\","
	    "\"passwordChangedAt\":\"2023-11-14T22:13:20.000Z\"}");
	buf_done(&b);
}

static void
test_within(void **)
{
	struct uuid t[3] = {{{1}}, {{2}}, {{3}}};
	struct principal two = {.tenants = t, .n_tenants = 2};
	struct principal all = {0};

	assert_true(scopes_tenants_within(t, 2, &two));
	assert_true(scopes_tenants_within(t + 1, 1, &two));
	assert_false(scopes_tenants_within(t, 3, &two));
	assert_false(scopes_tenants_within(NULL, 0, &two));
	assert_true(scopes_tenants_within(NULL, 0, &all));
	assert_true(scopes_tenants_within(t, 3, &all));

	assert_true(scopes_within(SCOPE_READ, SCOPE_READ | SCOPE_MANAGE));
	assert_false(scopes_within(SCOPE_PUBLISH, SCOPE_READ | SCOPE_MANAGE));
	assert_true(scopes_within(SCOPES_ALL, SCOPE_ADMIN));
	assert_int_equal(role_scopes(ROLE_NONE), 0);
	assert_int_equal(role_of(STR("")), ROLE_NONE);
	assert_int_equal(role_of(STR("operator")), ROLE_OPERATOR);
	assert_int_equal(
	    scopes_of(STR("read bogus admin")), SCOPE_READ | SCOPE_ADMIN);
}

/* What a route wants, and who may. */
static void
test_may(void **)
{
	static const struct uuid one[1];
	static const struct {
		struct principal who;
		unsigned wants;
		int rc;
		const char *text;
	} ROWS[] = {
	    {{.kind = WHO_NOBODY}, SCOPE_ANY, ERR_UNKNOWN, "who are you?"},
	    {{.kind = WHO_KEY}, SCOPE_ANY, OK, NULL},
	    {{.kind = WHO_KEY, .scopes = SCOPE_READ}, SCOPE_READ, OK, NULL},
	    {{.kind = WHO_KEY, .scopes = SCOPE_READ}, SCOPE_METRICS, OK, NULL},
	    {{.kind = WHO_KEY, .scopes = SCOPE_ADMIN}, SCOPE_QUERY, OK, NULL},
	    {{.kind = WHO_KEY, .scopes = SCOPE_PUBLISH},
		SCOPE_READ | SCOPE_MANAGE, ERR_DENIED,
		"this needs the scope read or manage"},
	    {{.kind = WHO_KEY, .scopes = SCOPE_PUBLISH}, SCOPE_METRICS,
		ERR_DENIED, "this needs the scope read"},
	    {{.kind = WHO_KEY, .scopes = SCOPE_ADMIN}, SCOPE_USER, ERR_DENIED,
		"this needs the scope user"},
	    {{.kind = WHO_USER, .user = 1}, SCOPE_USER, OK, NULL},
	    {{.kind = WHO_KEY,
		 .scopes = SCOPE_ADMIN,
		 .tenants = one,
		 .n_tenants = 1},
		SCOPE_MANAGE | SCOPE_WHOLE, ERR_DENIED,
		"this is not for a key that is limited to tenants"},
	};
	struct err e;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		assert_int_equal(
		    scopes_may(&ROWS[i].who, ROWS[i].wants, &e), ROWS[i].rc);
		if (ROWS[i].text)
			assert_string_equal(e.text, ROWS[i].text);
	}
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    WITH_STORE(test_first),
	    WITH_STORE(test_first_given),
	    WITH_STORE(test_users),
	    cmocka_unit_test(test_key_check),
	    WITH_STORE(test_keys),
	    WITH_STORE(test_secret),
	    WITH_STORE(test_secret_given),
	    WITH_STORE(test_secret_default),
	    WITH_STORE(test_audited),
	    cmocka_unit_test(test_json),
	    cmocka_unit_test(test_within),
	    cmocka_unit_test(test_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
