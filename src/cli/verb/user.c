#include <unistd.h>

#include "account/accounts.h"
#include "cli/out/listing.h"
#include "cli/prompt.h"
#include "cli/verbs.h"
#include "http/server/limits.h"
#include "seal/digest.h"
#include "seal/limits.h"
#include "store/store.h"

/* Made up, asked for at the terminal, or the first line of the input. */
static int
get_password(struct cli *c, struct str name, struct str *ret, struct err *e)
{
	struct password_of of = {.name = name, .url = str_of(c->conf.base_url)};
	char made[PASSWORD_MADE_LEN + 1];
	struct str again = STR_EMPTY;

	if (args_flag(&c->args, "generate")) {
		password_make(made);
		*ret = arena_dup(c->arena, str_of(made));
		return OK;
	}
	if (!isatty(0)) {
		TRY(prompt_line(c, ret, e));
		if (ret->n == 0)
			return err_set(e, ERR_INVALID,
			    "no password on the standard input; --generate makes one");
	} else {
		TRY(prompt_secret(c, "Password", ret, e));
		TRY(prompt_secret(c, "Again", &again, e));
		if (!str_eq(*ret, again))
			return err_set(
			    e, ERR_INVALID, "the two passwords differ");
	}
	return password_check(*ret, &of, "", e);
}

/* What is done to an account, by the server or here in one transaction: with a
 * role it is added, with a password alone that is set, else it is removed. */
struct change {
	struct str name, password;
	enum role role;
	char hash[PASSWORD_HASH_SIZE];
};

static int
change_here(struct db *db, void *ctx, struct err *e)
{
	const struct change *ch = ctx;
	struct account_password p = {
	    .name = ch->name, .hash = str_of(ch->hash), .by = STR("local")};
	int64_t now_us = clock_now_us();

	if (ch->role != ROLE_NONE)
		return accounts_add(
		    db, p.name, p.hash, ch->role, p.by, now_us, e);
	return ch->password.n > 0
		   ? accounts_password(db, &p, now_us, e)
		   : accounts_remove(db, p.name, p.by, now_us, e);
}

/* The server is asked, with what there is of it; or the store gets it itself. */
static int
apply(struct cli *c, struct change *ch, const char *method, struct str path,
    struct err *e)
{
	struct buf b CLEANUP(digest_wipe_buf) = BUF(8 * KIB);

	TRY(reach_open(c, e));
	if (!c->reach.client) {
		if (ch->password.n > 0)
			TRY(password_hash(ch->password, ch->hash, e));
		return db_tx(c->reach.db, change_here, ch, e);
	}
	if (ch->password.n > 0) {
		put_open(&b, NULL, '{');
		put_text(&b, "password", ch->password);
		if (ch->role != ROLE_NONE) {
			put_text(&b, "name", ch->name);
			put_z(&b, "role", role_name(ch->role));
		}
		put_close(&b, '}');
	}
	return reach_ask(c, c->arena, method, path, buf_str(&b), NULL, e);
}

/* What was made up is what was asked for; it goes to out, alone. */
static void
show_made(struct cli *c, struct str password)
{
	if (args_flag(&c->args, "generate"))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(password));
}

int
verb_user_add(struct cli *c, struct err *e)
{
	struct change ch = {.name = str_of(c->args.operands[0])};
	const char *word = args_text(&c->args, "role");

	TRY(account_check_name(ch.name, "", e));
	ch.role = word ? role_of(str_of(word)) : ROLE_READER;
	if (ch.role == ROLE_NONE)
		return err_set(e, ERR_INVALID, "--role must be " ROLE_WORDS);
	TRY(get_password(c, ch.name, &ch.password, e));
	TRY(apply(c, &ch, "POST", STR("/v1/users"), e));
	show_made(c, ch.password);
	(void)fprintf(c->err, "user %.*s is there, role %s\n", STR_ARG(ch.name),
	    role_name(ch.role));
	return OK;
}

int
verb_user_passwd(struct cli *c, struct err *e)
{
	struct change ch = {.name = str_of(c->args.operands[0])};

	TRY(account_check_name(ch.name, "", e));
	TRY(get_password(c, ch.name, &ch.password, e));
	TRY(apply(c, &ch, "PUT",
	    arena_fmt(c->arena, "/v1/users/%.*s/password", STR_ARG(ch.name)),
	    e));
	if (c->reach.db)
		accounts_first_forget(c->conf.data, ch.name);
	show_made(c, ch.password);
	(void)fprintf(
	    c->err, "the password of %.*s is changed\n", STR_ARG(ch.name));
	return OK;
}

int
verb_user_remove(struct cli *c, struct err *e)
{
	struct change ch = {.name = str_of(c->args.operands[0])};

	TRY(account_check_name(ch.name, "", e));
	TRY(apply(c, &ch, "DELETE",
	    arena_fmt(c->arena, "/v1/users/%.*s", STR_ARG(ch.name)), e));
	(void)fprintf(c->err, "user %.*s is removed\n", STR_ARG(ch.name));
	return OK;
}

static int
all(struct db *db, struct arena *a, struct buf *b, struct err *e)
{
	struct account *list = NULL;
	size_t n = 0;

	TRY(accounts_list(db, STR_EMPTY, PAGE_SCAN, a, &list, &n, e));
	for (size_t i = 0; i < n; i++)
		account_json(&list[i], b);
	return OK;
}

static const struct column COLUMNS[] = {
    {"NAME", .at = "/name"},
    {"ROLE", .at = "/role"},
    {"CREATED", .at = "/createdAt"},
    {"PASSWORD CHANGED", .at = "/passwordChangedAt"},
    {.head = NULL},
};

const struct listing LISTING_USERS = {
    .path = "/v1/users", .all = all, .columns = COLUMNS};

int
verb_user_list(struct cli *c, struct err *e)
{
	return listing_show(c, &LISTING_USERS, e);
}
