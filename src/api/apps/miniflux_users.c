#include "account/accounts.h"
#include "account/tokens.h"
#include "account/users.h"
#include "api/api.h"
#include "api/apps/miniflux.h"
#include "api/v1/account.h"
#include "audit/audit.h"
#include "sql.h"

/* People as Miniflux has them, and app passwords as its API keys. Only who
 * shows the password of an admin's account is an admin here: an app password
 * has no such right, and makes no other. */

#define USERS_MAX 1000 /* of an answer */
#define THEME     "_serif"
#define FONTS     "external_font_hosts"
#define KEPT_MAX  (16 * KIB) /* of each text */
#define LOOKS     "how it looks is the app's own"
#define ELSEWHERE "logins are set up by the operator"

static const struct miniflux_fixed USER[] = {
    {"language", "\"en_US\"", LOOKS},
    {"timezone", "\"UTC\"", LOOKS},
    {"entry_sorting_direction", "\"desc\"", LOOKS},
    {"entry_sorting_order", "\"published_at\"", LOOKS},
    {"entries_per_page", "100", LOOKS},
    {"keyboard_shortcuts", "true", LOOKS},
    {"show_reading_time", "true", LOOKS},
    {"entry_swipe", "true", LOOKS},
    {"gesture_nav", "\"tap\"", LOOKS},
    {"display_mode", "\"standalone\"", LOOKS},
    {"default_reading_speed", "265", LOOKS},
    {"cjk_reading_speed", "500", LOOKS},
    {"default_home_page", "\"unread\"", LOOKS},
    {"categories_sorting_order", "\"unread_count\"", LOOKS},
    {"mark_read_on_view", "true", LOOKS},
    {"mark_read_on_media_player_completion", "false", LOOKS},
    {"media_playback_rate", "1", LOOKS},
    {"always_open_external_links", "false", LOOKS},
    {"open_external_links_in_new_tab", "true", LOOKS},
    {"block_filter_entry_rules", "\"\"", "all of a feed is shown"},
    {"keep_filter_entry_rules", "\"\"", "all of a feed is shown"},
    {"google_id", "\"\"", ELSEWHERE},
    {"openid_connect_id", "\"\"", ELSEWHERE},
    {NULL},
};

/* Kept for the person's apps, as texts: no page of ours loads or runs them. */
static const struct miniflux_fixed KEPT[] = {
    {"stylesheet", "\"\"", "it is set by PUT"},
    {"custom_js", "\"\"", "it is set by PUT"},
    {FONTS, "\"\"", "it is set by PUT"},
    {NULL},
};

/* The text that is kept under this name. */
static struct str
kept(const struct json *looks, const char *name)
{
	return looks ? json_text(looks, name) : STR_EMPTY;
}

static const struct json *
looks_of(struct req *r, const struct sql_people_list_row *u)
{
	struct json *j = NULL;
	struct err e;

	if (u->looks.p && json_parse(r->arena, u->looks, &j, &e) < 0)
		return NULL;
	return j;
}

static void
put_user(struct req *r, const struct sql_people_list_row *u, bool whole)
{
	const struct json *looks = whole ? looks_of(r, u) : NULL;
	struct buf *b = &r->out;

	put_open(b, NULL, '{');
	put_int(b, "id", u->id);
	put_text(b, "username", u->login);
	put_bool(b, "is_admin", u->role.p && role_of(u->role) == ROLE_ADMIN);
	put_name(b, "theme");
	buf_fmt(b, "\"%.*s" THEME "\"",
	    STR_ARG(u->theme.p ? u->theme : STR("light")));
	miniflux_put_fixed(b, USER);
	for (const struct miniflux_fixed *k = KEPT; whole && k->name; k++)
		put_text(b, k->name, kept(looks, k->name));
	put_null(b, "last_login_at");
	put_close(b, '}');
}

/* By an id, or with 0 by the name of an account. */
static int
find_user(struct req *r, struct db *db, int64_t id, struct str name,
    struct sql_people_list_row *ret, struct err *e)
{
	if (TRY(sql_people_list_one(
		db, r->arena, ret, e, .id = id, .name = name, .most = 1)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such user");
	return OK;
}

static int
show_user(
    struct req *r, struct db *db, int64_t id, struct str name, struct err *e)
{
	struct sql_people_list_row u;

	TRY(find_user(r, db, id, name, &u, e));
	put_user(r, &u, true);
	return OK;
}

int
api_mf_me(struct req *r, struct db *db, struct err *e)
{
	return show_user(r, db, r->who.user, STR_EMPTY, e);
}

int
api_mf_users(struct req *r, struct db *db, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_people_list_row u;

	TRY(sql_people_list(
	    db, &rows, e, .id = 0, .name = STR_EMPTY, .most = USERS_MAX));
	put_open(&r->out, NULL, '[');
	while (TRY(sql_people_list_next(rows, &u, e)))
		put_user(r, &u, false); /* of many, without texts */
	put_close(&r->out, ']');
	return OK;
}

/* The param is an id, or the name of an account. */
int
api_mf_user(struct req *r, struct db *db, struct err *e)
{
	int64_t id = 0;

	return str_int(r->params[0], &id) && id > 0
		   ? show_user(r, db, id, STR_EMPTY, e)
		   : show_user(r, db, 0, r->params[0], e);
}

static int
show_made(struct req *r, struct db *db, struct err *e)
{
	const struct account_new *n = r->ctx;

	r->status = 201;
	return show_user(r, db, 0, n->name, e);
}

int
api_mf_user_post(struct req *r, struct db *, struct err *e)
{
	struct account_new n = {.show = show_made};
	struct json *j;
	int admin = 0;

	TRY(miniflux_body(r, &j, e));
	TRY(miniflux_bool(j, "is_admin", &admin, e));
	TRY(miniflux_check_fixed(j, USER, e));
	TRY(miniflux_check_fixed(j, KEPT, e));
	n.name = miniflux_text(j, "username");
	n.password = json_text(j, "password");
	n.role = admin ? ROLE_ADMIN : ROLE_READER;
	TRY(account_check_name(n.name, "/username", e));
	return api_account_add(r, &n, e);
}

/* ---- changing ---- */

/* What is to be something else than it is. */
static int
check_user(
    const struct json *j, const struct sql_people_list_row *u, struct err *e)
{
	const struct json *password = json_get(j, "password");
	struct str name = miniflux_text(j, "username");
	bool is_admin = u->role.p && role_of(u->role) == ROLE_ADMIN;
	int admin = is_admin;

	TRY(miniflux_bool(j, "is_admin", &admin, e));
	if (admin != is_admin)
		return json_wrong(
		    e, "/is_admin", "is settled when an account is made");
	if (name.n > 0 && !str_eq(name, u->login))
		return json_wrong(e, "/username", "can't be changed");
	if (json_is(password, JSON_STRING) && password->text.n > 0)
		return json_wrong(e, "/password",
		    "is changed by PUT /v1/users/{name}/password");
	return miniflux_check_fixed(j, USER, e);
}

/* Ours, by Miniflux' names; NULL when none is asked for. */
static int
read_theme(const struct json *j, const char **ret, struct err *e)
{
	static const char *const THEMES[][2] = {
	    {"light" THEME, "light"}, {"dark" THEME, "dark"}};
	struct str v = miniflux_text(j, "theme");

	*ret = NULL;
	for (size_t i = 0; i < COUNT_OF(THEMES); i++)
		if (str_eq(v, str_of(THEMES[i][0])))
			*ret = THEMES[i][1];
	if (v.n > 0 && !*ret)
		return json_wrong(
		    e, "/theme", "must be light_serif or dark_serif");
	return OK;
}

/* Names of hosts, with blanks between. */
static bool
are_hosts(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			c == '.' || c == '-' || c == ' '))
			return false;
	}
	return true;
}

/* What is kept, with what is given; nothing is written when nothing is. */
static int
keep_looks(struct req *r, struct db *db, const struct json *body,
    const struct sql_people_list_row *u, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB + 6 * 3 * KEPT_MAX);
	const struct json *looks = looks_of(r, u);
	bool given = false;

	put_open(&b, NULL, '{');
	for (const struct miniflux_fixed *k = KEPT; k->name; k++) {
		const struct json *v = json_get(body, k->name);
		struct str text = kept(looks, k->name);
		char at[JSON_POINTER_MAX + 1] = "";

		json_point(at, str_of(k->name));
		if (v && !json_is(v, JSON_NULL)) {
			if (!json_is(v, JSON_STRING) || v->text.n > KEPT_MAX)
				return json_wrong(e, at,
				    "must be a text of up to %d bytes",
				    (int)KEPT_MAX);
			text = str_trim(v->text);
			given = true;
		}
		if (strcmp(k->name, FONTS) == 0 && !are_hosts(text))
			return json_wrong(
			    e, at, "must be names of hosts, with blanks");
		put_text(&b, k->name, text);
	}
	put_close(&b, '}');
	if (given)
		TRY(sql_user_looks_put(db, e, .user_id = u->id,
		    .looks = buf_str(&b), .now = clock_now_us()));
	return OK;
}

struct user_edit {
	int64_t id;
	struct json *body;
	const char *theme;
};

int
api_mf_user_put(struct req *r, struct db *db, struct err *e)
{
	struct user_edit *d = r->ctx;
	struct sql_people_list_row u;

	if (!db) {
		r->ctx = d = arena_alloc(r->arena, sizeof(*d));
		TRY(app_id(r, 0, &d->id, e));
		if (d->id != r->who.user && !(r->who.scopes & SCOPE_ADMIN))
			return err_set(e, ERR_DENIED, "this is somebody else");
		TRY(miniflux_body(r, &d->body, e));
		TRY(read_theme(d->body, &d->theme, e));
		return api_write(r, api_mf_user_put, e);
	}
	TRY(find_user(r, db, d->id, STR_EMPTY, &u, e));
	TRY(check_user(d->body, &u, e));
	TRY(keep_looks(r, db, d->body, &u, e));
	if (d->theme)
		TRY(sql_user_settings_put(db, e, .user_id = d->id,
		    .theme = str_of(d->theme), .now = clock_now_us()));
	r->status = 201;
	return show_user(r, db, d->id, STR_EMPTY, e);
}

/* Somebody without an account; accounts tell of themselves. */
static int
remove_person(struct req *r, struct db *db, const struct sql_people_list_row *u,
    struct err *e)
{
	struct audit_row row = {
	    .category = AUDIT_USER_REMOVED,
	    .at_us = clock_now_us(),
	    .actor = api_actor(r),
	    .target_type = STR("user"),
	    .object_id = u->login,
	};

	TRY(users_remove(db, u->id, e));
	return audit_put(db, &row, e);
}

int
api_mf_user_delete(struct req *r, struct db *db, struct err *e)
{
	struct sql_people_list_row u;
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	if (id == r->who.user)
		return err_set(e, ERR_INVALID, "you can't remove yourself");
	if (!db)
		return api_account_write(r, api_mf_user_delete, e);
	TRY(find_user(r, db, id, STR_EMPTY, &u, e));
	if (u.account.p)
		TRY(accounts_remove(
		    db, u.account, api_actor(r), clock_now_us(), e));
	else
		TRY(remove_person(r, db, &u, e));
	return miniflux_nothing(r);
}

/* ---- app passwords, as its API keys ---- */

/* `text` once, when it is made. */
static void
put_key(struct buf *b, const struct app_token *t, const char *text)
{
	put_open(b, NULL, '{');
	put_int(b, "id", t->id);
	put_int(b, "user_id", t->user);
	if (text) {
		put_z(b, "token", text);
	} else {
		put_name(b, "token");
		buf_fmt(b, "\"%.*s…\"", STR_ARG(t->shown));
	}
	put_text(b, "description", t->name);
	put_time(b, "last_used_at", t->last_used_us);
	miniflux_time(b, "created_at", t->created_us);
	put_close(b, '}');
}

struct keys {
	struct app_token *v;
	size_t n;
};

static int
list_keys(struct req *r, struct db *db, struct keys *ret, struct err *e)
{
	return tokens_list(db, r->who.user, r->arena, &ret->v, &ret->n, e);
}

int
api_mf_keys(struct req *r, struct db *db, struct err *e)
{
	struct keys list;

	TRY(list_keys(r, db, &list, e));
	put_open(&r->out, NULL, '[');
	for (size_t i = 0; i < list.n; i++)
		put_key(&r->out, &list.v[i], NULL);
	put_close(&r->out, ']');
	return OK;
}

/* Who has the account itself; an app that was robbed must not live on. */
static int
must_be_owner(const struct req *r, struct err *e)
{
	return r->who.id ? OK
			 : err_set(e, ERR_DENIED,
			       "app passwords are made and taken back with the "
			       "account's own password, or in the browser");
}

static int
add_key(struct req *r, struct db *db, struct err *e)
{
	const struct str *name = r->ctx;
	struct app_token t = {.user = r->who.user, .name = *name};
	char text[APP_TOKEN_LEN + 1];
	struct keys list;

	TRY(list_keys(r, db, &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (str_eq(list.v[i].name, *name))
			return json_wrong(e, "/description",
			    "is that of another one already");
	TRY(tokens_add(db, &t, clock_now_us(), r->arena, text, e));
	TRY(list_keys(r, db, &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (uuid_eq(list.v[i].uid, t.uid))
			put_key(&r->out, &list.v[i], text);
	digest_wipe(text, sizeof(text));
	r->status = 201;
	return OK;
}

int
api_mf_key_post(struct req *r, struct db *, struct err *e)
{
	struct str *name = arena_alloc(r->arena, sizeof(*name));
	struct json *j;

	TRY(miniflux_body(r, &j, e));
	*name = miniflux_text(j, "description");
	if (name->n == 0 || str_chars(*name, APP_NAME_CHARS).n < name->n)
		return json_wrong(e, "/description",
		    "must have 1 to %d characters", APP_NAME_CHARS);
	TRY(must_be_owner(r, e));
	r->ctx = name;
	return api_write(r, add_key, e);
}

int
api_mf_key_delete(struct req *r, struct db *db, struct err *e)
{
	struct keys list;
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	TRY(must_be_owner(r, e));
	if (!db)
		return api_account_write(r, api_mf_key_delete, e);
	TRY(list_keys(r, db, &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (list.v[i].id == id) {
			TRY(tokens_remove(db, r->who.user, list.v[i].uid, e));
			return miniflux_nothing(r);
		}
	return err_set(e, ERR_ABSENT, "there is no such API key");
}
