#include "cli/target.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include "cli/creds.h"
#include "http/url.h"

static bool
is_near(const struct url *u)
{
	struct str host = {u->host, u->n_host};

	if (!u->literal)
		return str_eq(host, STR("localhost"));
	if (u->addr.sa.sa_family == AF_INET)
		return ntohl(u->addr.v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&u->addr.v6.sin6_addr);
}

int
target_url(struct cli *c, const char *text, const char **ret, bool *ret_near,
    struct err *e)
{
	char full[URL_TEXT_MAX];
	struct url u;
	struct err why;
	size_t n;

	if (url_parse(str_of(text), &u, &why) < 0)
		return err_set(e, ERR_INVALID,
		    "the server's URL, https://host[:port]: %s", why.text);
	if (u.query.n > 0)
		return err_set(e, ERR_INVALID, "a server's URL has no query");
	n = url_show(&u, full);
	while (n > 0 && full[n - 1] == '/')
		n--;
	*ret = arena_z(c->arena, (struct str){full, n});
	*ret_near = is_near(&u);
	return OK;
}

int
target_plain(const struct cli *c, const char *url, bool near, struct err *e)
{
	if (near || str_starts(str_of(url), STR("https:")) ||
	    args_flag(&c->args, "insecure"))
		return OK;
	return err_set(e, ERR_INVALID,
	    "%s is another machine and http is open to read: use https, or --insecure",
	    url);
}

/* What was named: a URL, "" for the data folder, NULL: nothing. */
static const char *
named(const struct cli *c)
{
	const char *url = args_text(&c->args, "server");
	struct stat st;

	if (url)
		return url;
	if (c->conf.origin[CONF_ID_data].source == CONF_FLAG)
		return "";
	url = getenv("HIKYAKU_URL");
	if (url && url[0])
		return url;
	return c->conf.origin[CONF_ID_data].source != CONF_DEFAULT ||
		       stat(c->conf.data, &st) == 0
		   ? ""
		   : NULL;
}

/* The key of the environment, when it is meant for this server. */
static const char *
key_of_env(struct cli *c, const char *url)
{
	const char *env = getenv("HIKYAKU_URL"), *key = getenv("HIKYAKU_KEY");
	const char *other = url;
	struct err e;
	bool near;

	if (!key || !key[0])
		return NULL;
	if (env && env[0] && target_url(c, env, &other, &near, &e) < 0)
		return NULL;
	return strcmp(other, url) == 0 ? key : NULL;
}

int
target_find(struct cli *c, struct client_at *ret, struct err *e)
{
	const char *url = named(c);
	struct cred *all = NULL, *mine = NULL;
	size_t n = 0;

	*ret = (struct client_at){
	    .key = args_text(&c->args, "key"), .ca = args_text(&c->args, "ca")};
	if (url && !url[0]) {
		if (ret->key || ret->ca)
			return cli_usage(
			    c, e, "--key and --ca go with --server");
		return 0;
	}
	TRY(creds_read(c->arena, &all, &n, e));
	if (!url && n == 0)
		return 0;
	TRY(target_url(c, url ? url : arena_z(c->arena, all[n - 1].url),
	    &ret->url, &ret->near, e));
	for (size_t i = 0; i < n; i++)
		if (str_eq(all[i].url, str_of(ret->url)))
			mine = &all[i];
	if (!mine)
		TRY(target_plain(c, ret->url, ret->near, e));
	if (ret->key)
		(void)fprintf(c->err,
		    "hikyaku: whoever may list processes can read --key; HIKYAKU_KEY and hikyaku login keep it\n");
	else
		ret->key = key_of_env(c, ret->url);
	if (!ret->key && mine)
		ret->key = arena_z(c->arena, mine->key);
	if (!ret->ca && mine && mine->ca.n > 0)
		ret->ca = arena_z(c->arena, mine->ca);
	if (!ret->key)
		return err_set(e, ERR_DENIED,
		    "there is no key for %s: hikyaku login %s, or HIKYAKU_KEY",
		    ret->url, ret->url);
	return 1;
}
