#include <errno.h>
#include <termios.h>
#include <unistd.h>

#include "account/accounts.h"
#include "account/first_password.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "http/server/limits.h"
#include "seal/limits.h"
#include "store/store.h"

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory");
}

/* One line of the standard input, without its end. */
static int
read_line(struct cli *c, struct str *ret, struct err *e)
{
	char line[PASSWORD_MAX + 2];
	size_t n = 0;
	ssize_t got = 0;

	/* Byte by byte: what follows the line is not ours. */
	while (n < sizeof(line) && (got = read(0, line + n, 1)) == 1 &&
	       line[n] != '\n')
		n++;
	if (got < 0)
		return err_set(e, ERR_IO, "the password can't be read: %s",
		    strerror(errno));
	if (n > 0 && line[n - 1] == '\r')
		n--;
	*ret = arena_dup(c->arena, (struct str){line, n});
	explicit_bzero(line, sizeof(line));
	return ret->p ? OK : no_room(e);
}

static int
ask_once(struct cli *c, const char *what, struct str *ret, struct err *e)
{
	struct termios was, quiet;
	int rc;

	if (tcgetattr(0, &was) < 0)
		return err_set(e, ERR_IO, "the terminal can't be asked: %s",
		    strerror(errno));
	quiet = was;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	(void)fprintf(c->err, "%s: ", what);
	(void)fflush(c->err);
	(void)tcsetattr(0, TCSAFLUSH, &quiet);
	rc = read_line(c, ret, e);
	(void)tcsetattr(0, TCSAFLUSH, &was);
	(void)fputc('\n', c->err);
	return rc;
}

/* Made up, asked for at the terminal, or the first line of the input. */
static int
get_password(struct cli *c, struct str name, struct str *ret, struct err *e)
{
	struct password_of of = {.name = name, .url = str_of(c->conf.base_url)};
	char made[PASSWORD_MADE_LEN + 1];
	struct str again = STR_EMPTY;
	int rc;

	if (args_flag(&c->args, "generate")) {
		password_make(made);
		*ret = arena_dup(c->arena, str_of(made));
		return ret->p ? OK : no_room(e);
	}
	if (!isatty(0)) {
		rc = read_line(c, ret, e);
		if (rc == OK && ret->n == 0)
			rc = err_set(e, ERR_INVALID,
			    "no password on the standard input; --generate makes one");
	} else {
		rc = ask_once(c, "Password", ret, e);
		if (rc == OK)
			rc = ask_once(c, "Again", &again, e);
		if (rc == OK && !str_eq(*ret, again))
			rc =
			    err_set(e, ERR_INVALID, "the two passwords differ");
	}
	return rc < 0 ? rc : password_check(*ret, &of, "", e);
}

static int
ask(struct cli *c, struct reach *x, const char *method, struct str path,
    const struct buf *body, struct err *e)
{
	struct str answer;

	if (!path.p || body->failed)
		return no_room(e);
	return reach_ask(
	    x, c, method, arena_z(c->arena, path), buf_str(body), &answer, e);
}

/* What is done to the store itself, in one transaction. */
struct change {
	struct str name;
	enum role role;
	char hash[PASSWORD_HASH_SIZE];
};

static int
add_one(struct db *db, void *ctx, struct err *e)
{
	const struct change *ch = ctx;

	return accounts_add(db, ch->name, str_of(ch->hash), ch->role,
	    STR("local"), clock_now_us(), e);
}

static int
set_one(struct db *db, void *ctx, struct err *e)
{
	const struct change *ch = ctx;

	struct account_password p = {
	    .name = ch->name, .hash = str_of(ch->hash), .by = STR("local")};

	return accounts_password(db, &p, clock_now_us(), e);
}

static int
add(struct cli *c, struct str name, enum role role, struct str password,
    struct err *e)
{
	struct buf b = BUF(8 * KIB);
	struct change ch = {.name = name, .role = role};
	struct reach x;
	int rc = reach_open(c, &x, e);

	if (rc < 0)
		goto out;
	if (x.client) {
		buf_addz(&b, "{\"name\":");
		buf_json(&b, name);
		buf_fmt(&b, ",\"role\":\"%s\",\"password\":", role_name(role));
		buf_json(&b, password);
		buf_addc(&b, '}');
		rc = ask(c, &x, "POST", STR("/v1/users"), &b, e);
		goto out;
	}
	rc = password_hash(password, ch.hash, e);
	if (rc == OK)
		rc = db_tx(x.db, add_one, &ch, e);
out:
	reach_close(&x);
	buf_done(&b);
	return rc;
}

static int
set(struct cli *c, struct str name, struct str password, struct err *e)
{
	struct buf b = BUF(8 * KIB);
	struct change ch = {.name = name};
	struct reach x;
	int rc = reach_open(c, &x, e);

	if (rc < 0)
		goto out;
	if (x.client) {
		buf_addz(&b, "{\"password\":");
		buf_json(&b, password);
		buf_addc(&b, '}');
		rc = ask(c, &x, "PUT",
		    arena_fmt(
			c->arena, "/v1/users/%.*s/password", STR_ARG(name)),
		    &b, e);
		goto out;
	}
	rc = password_hash(password, ch.hash, e);
	if (rc == OK)
		rc = db_tx(x.db, set_one, &ch, e);
	if (rc == OK)
		first_password_forget(c->conf.data, name);
out:
	reach_close(&x);
	buf_done(&b);
	return rc;
}

/* What was made up is what was asked for; it goes to out, alone. */
static void
show_made(struct cli *c, struct str password)
{
	if (args_flag(&c->args, "generate"))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(password));
}

int
verb_user_add(struct cli *c)
{
	struct str name = str_of(c->args.operands[0]), password = STR_EMPTY;
	const char *word = args_text(&c->args, "role");
	enum role role = word ? role_of(str_of(word)) : ROLE_READER;
	struct err e;
	int rc = account_check_name(name, "", &e);

	if (rc == OK && role == ROLE_NONE)
		rc = err_set(&e, ERR_INVALID, "--role must be " ROLE_WORDS);
	if (rc == OK)
		rc = get_password(c, name, &password, &e);
	if (rc == OK)
		rc = add(c, name, role, password, &e);
	if (rc < 0)
		return cli_fail(c, &e);
	show_made(c, password);
	(void)fprintf(c->err, "user %.*s is there, role %s\n", STR_ARG(name),
	    role_name(role));
	return EXIT_OK;
}

int
verb_user_passwd(struct cli *c)
{
	struct str name = str_of(c->args.operands[0]), password = STR_EMPTY;
	struct err e;
	int rc = account_check_name(name, "", &e);

	if (rc == OK)
		rc = get_password(c, name, &password, &e);
	if (rc == OK)
		rc = set(c, name, password, &e);
	if (rc < 0)
		return cli_fail(c, &e);
	show_made(c, password);
	(void)fprintf(
	    c->err, "the password of %.*s is changed\n", STR_ARG(name));
	return EXIT_OK;
}

static int
remove_one(struct db *db, void *ctx, struct err *e)
{
	return accounts_remove(
	    db, *(const struct str *)ctx, STR("local"), clock_now_us(), e);
}

int
verb_user_remove(struct cli *c)
{
	struct str name = str_of(c->args.operands[0]);
	struct buf none = BUF(1);
	struct reach x = {.lock = -1};
	struct err e;
	int rc = account_check_name(name, "", &e);

	if (rc == OK)
		rc = reach_open(c, &x, &e);
	if (rc == OK)
		rc = x.client ? ask(c, &x, "DELETE",
				    arena_fmt(c->arena, "/v1/users/%.*s",
					STR_ARG(name)),
				    &none, &e)
			      : db_tx(x.db, remove_one, &name, &e);
	reach_close(&x);
	if (rc < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->err, "user %.*s is removed\n", STR_ARG(name));
	return EXIT_OK;
}

static int
all(struct db *db, struct arena *a, struct buf *b, struct err *e)
{
	struct account *list = NULL;
	size_t n = 0;
	int rc = accounts_list(db, STR_EMPTY, PAGE_SCAN, a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		if (i)
			buf_addc(b, ',');
		account_json(&list[i], b);
	}
	return rc;
}

static bool
row(struct table *t, struct arena *a, const struct json *u)
{
	(void)a;
	return table_add(t, listing_text(u, "name")) &&
	       table_add(t, listing_text(u, "role")) &&
	       table_add(t, listing_text(u, "createdAt")) &&
	       table_add(t, listing_text(u, "passwordChangedAt"));
}

static const char *const HEADS[] = {
    "NAME", "ROLE", "CREATED", "PASSWORD CHANGED"};

const struct listing LISTING_USERS = {
    .path = "/v1/users",
    .all = all,
    .heads = HEADS,
    .columns = COUNT_OF(HEADS),
    .row = row,
};

int
verb_user_list(struct cli *c)
{
	return listing_show(c, &LISTING_USERS);
}
