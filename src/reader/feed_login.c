#include "reader/feed_login.h"

#include "http/percent.h"
#include "http/url.h"
#include "reader/changes.h"
#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/keyring.h"
#include "sql.h"

#define COLUMN    "feed_subscription.login"
#define ARENA_MAX (16 * KIB)

/* Pure ---------------------------------------------------------------------- */

static int
check_part(struct str s, const char *at, bool name, struct err *e)
{
	bool good = s.n <= FEED_LOGIN_MAX && str_utf8_bad(s) == s.n;

	for (size_t i = 0; good && i < s.n; i++)
		good = (unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f &&
		       !(name && s.p[i] == ':');
	if (good)
		return OK;
	return err_at(e, ERR_INVALID, at,
	    "%s must have at most %d bytes, no control characters%s", at + 1,
	    FEED_LOGIN_MAX, name ? " and no colon" : "");
}

static struct str
join(struct arena *a, struct str name, struct str password)
{
	struct buf b CLEANUP(digest_wipe_buf) = BUF(2 * FEED_LOGIN_MAX + 1);

	buf_add(&b, name);
	buf_addc(&b, ':');
	buf_add(&b, password);
	return arena_dup(a, buf_str(&b));
}

static void
unmask(struct str *s)
{
	if (str_eq(*s, STR(FEED_LOGIN_MASK)))
		s->p = NULL;
}

bool
feed_login_says(struct feed_login_edit *x)
{
	unmask(&x->name);
	unmask(&x->password);
	return x->name.p || x->password.p;
}

int
feed_login_make(struct arena *a, struct str was,
    const struct feed_login_edit *x, struct str *ret, struct err *e)
{
	struct str password = was, name = {.p = NULL};

	if (was.p)
		name = str_cut(&password, ':');
	if (x->name.p)
		name = x->name;
	if (x->password.p || !was.p)
		password = x->password.p ? x->password : STR_EMPTY;
	if (name.n == 0) {
		if (x->password.n > 0)
			return err_at(e, ERR_INVALID, "/username",
			    "username is needed with a password");
		*ret = (struct str){.p = NULL};
		return OK;
	}
	TRY(check_part(name, "/username", true, e));
	TRY(check_part(password, "/password", false, e));
	*ret = join(a, name, password);
	return OK;
}

int
feed_login_split(
    struct arena *a, struct str *url, struct str *login, struct err *e)
{
	struct feed_login_edit x;
	struct str rest = *url, head = *url, user;
	struct buf b CLEANUP(buf_done) = BUF(url->n + 1);
	size_t n = 0;

	if (!str_pass(&rest, STR("://")))
		return OK;
	head.n -= rest.n;
	while (n < rest.n && !str_has(STR("/?#"), rest.p[n]))
		n++;
	while (n > 0 && rest.p[n - 1] != '@')
		n--;
	if (n == 0)
		return OK;
	if (login->p)
		return err_at(e, ERR_INVALID, "/username",
		    "username must not be given when the address has one");
	buf_add(&b, head);
	buf_add(&b, str_from(rest, n));
	*url = arena_dup(a, buf_str(&b));
	x.password = (struct str){rest.p, n - 1};
	user = str_cut(&x.password, ':');
	if (percent_decode(a, user, false, "", &x.name, e) < 0 ||
	    percent_decode(a, x.password, false, "", &x.password, e) < 0)
		return err_at(e, ERR_INVALID, "/url",
		    "url has a %% in its user name or password that is no escape");
	return feed_login_make(a, (struct str){.p = NULL}, &x, login, e);
}

struct str
feed_login_header(struct arena *a, struct str login)
{
	struct buf b CLEANUP(digest_wipe_buf) =
	    BUF(16 + BASE64_LEN(2 * FEED_LOGIN_MAX + 1));

	buf_addz(&b, "Basic ");
	base64_add(&b, login);
	return arena_dup(a, buf_str(&b));
}

struct str
feed_login_key(struct arena *a, struct str url, struct uuid user)
{
	struct buf b CLEANUP(buf_done) = BUF(url.n + 1 + UUID_LEN);

	uuid_add(&b, user);
	buf_addc(
	    &b, ' '); /* no address begins so: nobody can make such a row */
	buf_add(&b, url);
	return arena_dup(a, buf_str(&b));
}

bool
feed_login_same_origin(struct str a, struct str b)
{
	char x[URL_TEXT_MAX], y[URL_TEXT_MAX];
	struct url u, v;
	struct err e;

	return url_parse(a, &u, &e) == OK && url_parse(b, &v, &e) == OK &&
	       str_eq((struct str){x, url_origin(&u, x)},
		   (struct str){y, url_origin(&v, y)});
}

/* In the store -------------------------------------------------------------- */

int
feed_login_open(struct keyring *k, struct arena *a, struct uuid sub,
    struct str sealed, struct str *ret, struct err *e)
{
	*ret = (struct str){.p = NULL};
	return sealed.p ? keyring_unseal(k, a, keyring_where(a, COLUMN, sub),
			      sealed, ret, e)
			: OK;
}

static int
find_login(const struct feed_login_of *of, struct arena *a,
    struct sql_fsub_login_row *ret, struct err *e)
{
	if (TRY(sql_fsub_login_one(
		of->db, a, ret, e, .user = of->user, .feed = of->feed)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed of yours");
	assert(ret->own);
	return OK;
}

static int
put_login(const struct feed_login_of *of, struct arena *a, struct uuid sub,
    struct str login, struct err *e)
{
	struct str sealed = {.p = NULL};

	if (login.p)
		TRY(keyring_seal(of->k, a, keyring_where(a, COLUMN, sub), login,
		    &sealed, e));
	TRY(sql_fsub_set_login(of->db, e, .user = of->user, .feed = of->feed,
	    .login = sealed, .now = of->now_us));
	return OK;
}

int
feed_login_put(const struct feed_login_of *of, struct str login, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(ARENA_MAX);
	struct sql_fsub_login_row row;

	TRY(find_login(of, a, &row, e));
	return put_login(of, a, uuid_of(row.uid), login, e);
}

int
feed_login_change(const struct feed_login_of *of,
    const struct feed_login_edit *x, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(ARENA_MAX);
	struct sql_fsub_login_row row;
	struct str login = {.p = NULL};
	bool all = x->name.p && (x->password.p || x->name.n == 0);

	TRY(find_login(of, a, &row, e));
	if (!all) /* what is replaced need not be opened */
		TRY(feed_login_open(
		    of->k, a, uuid_of(row.uid), row.login, &login, e));
	TRY(feed_login_make(a, login, x, &login, e));
	TRY(put_login(of, a, uuid_of(row.uid), login, e));
	TRY(sql_feed_afresh(of->db, e, .feed = of->feed, .now = of->now_us));
	return changes_feed(of->db, of->user, of->feed, "changed", e);
}
