#include <unistd.h>

#include "cli/creds.h"
#include "cli/limits.h"
#include "cli/prompt.h"
#include "cli/target.h"
#include "cli/verbs.h"

/*
 * Servers that are not on this machine: `login` keeps a key for one, `logout`
 * forgets it. A password is used once, to make a key of its own that ends by
 * itself and can be revoked alone; it is never kept.
 */

/* A request to the server that is logged in to. */
static int
login_ask(struct cli *c, const struct client_at *at,
    const struct client_call *k, struct json **ret, struct err *e)
{
	struct buf answer CLEANUP(buf_done) = BUF(CLI_ANSWER_MAX);
	struct client *to = NULL;
	int status = 0, rc;

	TRY(client_open_at(at, &to, e));
	rc = client_send(to, k, &answer, &status, e);
	client_close(to);
	TRY(rc);
	if (status == 401)
		return err_set(e, ERR_DENIED, "%s does not know this %s",
		    at->url, at->key ? "key" : "name and password");
	TRY(client_check(status, buf_str(&answer), c->arena, e));
	if (answer.n == 0)
		return OK;
	return json_parse(
	    c->arena, arena_dup(c->arena, buf_str(&answer)), ret, e);
}

/* What to ask for is asked for at a terminal, else it is the first line. */
static int
login_secret(struct cli *c, const char *what, const char **ret, struct err *e)
{
	struct str text = STR_EMPTY;

	TRY(isatty(STDIN_FILENO) ? prompt_secret(c, what, &text, e)
				 : prompt_line(c, &text, e));
	if (text.n == 0)
		return err_set(e, ERR_INVALID,
		    "nothing was given: the standard input's first line is the %s",
		    what);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < 0x20)
			return err_set(
			    e, ERR_INVALID, "the %s has odd characters", what);
	*ret = arena_z(c->arena, text);
	return OK;
}

static int
read_login(struct cli *c, struct client_at *at, struct err *e)
{
	struct str name = str_of(args_text(&c->args, "user"));

	if (args_flag(&c->args, "with-key")) {
		at->key = getenv("HIKYAKU_KEY");
		return at->key && at->key[0]
			   ? OK
			   : login_secret(c, "key", &at->key, e);
	}
	if (name.n == 0 && !isatty(STDIN_FILENO))
		return cli_usage(c, e, "login needs --user or --with-key");
	if (name.n == 0)
		TRY(prompt_text(c, "Name", &name, e));
	at->name = arena_z(c->arena, name);
	return login_secret(c, "password", &at->password, e);
}

/* A key of its own, with the scopes that the account has. */
static int
make_key(struct cli *c, const struct client_at *at, const struct json *who,
    struct cred *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(16 * KIB);
	struct client_call k = {.method = "POST", .path = "/v1/keys"};
	int64_t days = args_int(&c->args, "days", 90);
	const struct json *scopes = json_get(who, "scopes");
	char host[128] = "";
	struct json *j = NULL;

	(void)gethostname(host, sizeof(host) - 1);
	put_open(&b, NULL, '{');
	put_text(&b, "name",
	    arena_fmt(c->arena, "login of %s on %s", at->name, host));
	put_raw(&b, "scopes", scopes ? scopes->raw : STR("[]"));
	if (days > 0)
		put_time(
		    &b, "expiresAt", clock_now_us() + days * 86400 * US_PER_S);
	put_close(&b, '}');
	k.body = buf_str(&b);
	if (login_ask(c, at, &k, &j, e) < 0)
		return err_set(e, ERR_DENIED,
		    "%.200s: have somebody make a key, and use --with-key",
		    arena_z(c->arena, str_of(e->text)));
	ret->key = json_text(j, "key");
	ret->id = json_text(j, "id");
	if (ret->key.n == 0)
		return err_set(e, ERR_IO, "%s gave no key", at->url);
	return OK;
}

static int
login_list(struct cli *c, struct err *e)
{
	struct cred *all = NULL;
	size_t n = 0;

	TRY(creds_read(c->arena, &all, &n, e));
	for (size_t i = n; i > 0; i--)
		(void)fprintf(c->out, "%.*s%s\n", STR_ARG(all[i - 1].url),
		    i == n ? "  (the last)" : "");
	return OK;
}

int
verb_login(struct cli *c, struct err *e)
{
	struct client_at at = {.ca = args_text(&c->args, "ca")};
	struct client_call k = {.method = "GET", .path = "/v1/whoami"};
	struct cred cred = {.id = STR_EMPTY, .ca = STR_EMPTY};
	struct json *who = NULL;

	if (c->args.n_operands == 0)
		return login_list(c, e);
	TRY(target_url(c, c->args.operands[0], &at.url, &at.near, e));
	TRY(target_plain(c, at.url, at.near, e));
	if (at.ca && !(at.ca = realpath(at.ca, NULL)))
		return err_set(e, ERR_INVALID, "--ca: there is no such file");
	cred.ca = arena_dup(c->arena, str_of(at.ca));
	free((void *)(uintptr_t)at.ca);
	at.ca = cred.ca.n > 0 ? arena_z(c->arena, cred.ca) : NULL;
	TRY(read_login(c, &at, e));
	TRY(login_ask(c, &at, &k, &who, e));
	if (at.key)
		cred.key = str_of(at.key);
	else
		TRY(make_key(c, &at, who, &cred, e));
	cred.url = str_of(at.url);
	TRY(creds_put(c->arena, &cred, e));
	(void)fprintf(c->err, "logged in to %s as %.*s\n", at.url,
	    STR_ARG(json_text(who, "name")));
	return OK;
}

int
verb_logout(struct cli *c, struct err *e)
{
	struct client_call k = {.method = "DELETE"};
	struct client_at at = {.url = NULL};
	struct cred *all = NULL, *one = NULL;
	struct json *j = NULL;
	size_t n = 0;

	TRY(creds_read(c->arena, &all, &n, e));
	if (c->args.n_operands > 0)
		TRY(target_url(c, c->args.operands[0], &at.url, &at.near, e));
	else if (n > 0)
		TRY(target_url(c, arena_z(c->arena, all[n - 1].url), &at.url,
		    &at.near, e));
	for (size_t i = 0; at.url && i < n; i++)
		if (str_eq(all[i].url, str_of(at.url)))
			one = &all[i];
	if (!one)
		return err_set(e, ERR_ABSENT,
		    "not logged in there: hikyaku login shows where");
	if (one->id.n > 1) {
		at.key = arena_z(c->arena, one->key);
		at.ca = one->ca.n ? arena_z(c->arena, one->ca) : NULL;
		k.path =
		    arena_fmt(c->arena, "/v1/keys/%.*s", STR_ARG(one->id)).p;
		if (login_ask(c, &at, &k, &j, e) < 0)
			(void)fprintf(c->err,
			    "hikyaku: its key %.*s is not revoked: %s\n",
			    STR_ARG(one->id), e->text);
	}
	one->key = STR_EMPTY;
	TRY(creds_put(c->arena, one, e));
	(void)fprintf(c->err, "logged out of %s\n", at.url);
	return OK;
}
