#include "http/client/guard.h"

#include "base/conf/conf.h"
#include "http/limits.h"
#include "http/nets.h"
#include "http/url.h"

struct hosts {
	size_t n;
	struct host_rule {
		bool below; /* "*.host": all below it, not itself */
		char host[URL_HOST_MAX + 1];
	} * v;
};

/* ---- addresses ---- */

/* Where the IPv4 address that an IPv6 address leads to stands in it. */
#define INNER(at) ((at) + 1)

/*
 * Everything that is not public; the first that fits counts. IPv6 outside of
 * 2000::/3 is refused by the last row, whatever it becomes one day.
 */
static const struct range {
	const char *net;
	unsigned bits;
	int inner; /* INNER(offset): judge those four bytes instead */
	const char *what;
} RANGES[] = {
    {"0.0.0.0", 8, 0, "\"this network\" (0.0.0.0/8)"},
    {"10.0.0.0", 8, 0, "private (10.0.0.0/8)"},
    {"100.64.0.0", 10, 0, "a carrier's own (100.64.0.0/10)"},
    {"127.0.0.0", 8, 0, "loopback (127.0.0.0/8)"},
    /* What clouds have for their guests alone, at addresses that look public.
     * The others' metadata servers are in link-local and private ranges. */
    {"161.26.0.0", 16, 0, "IBM Cloud's own (161.26.0.0/16)"},
    {"166.8.0.0", 14, 0, "IBM Cloud's own (166.8.0.0/14)"},
    {"168.63.129.16", 32, 0, "Azure's own (168.63.129.16/32)"},
    {"169.254.0.0", 16, 0, "link-local (169.254.0.0/16)"},
    {"172.16.0.0", 12, 0, "private (172.16.0.0/12)"},
    {"192.0.0.0", 24, 0, "of protocols (192.0.0.0/24)"},
    {"192.0.2.0", 24, 0, "for documentation (192.0.2.0/24)"},
    {"192.88.99.0", 24, 0, "a 6to4 relay (192.88.99.0/24)"},
    {"192.168.0.0", 16, 0, "private (192.168.0.0/16)"},
    {"198.18.0.0", 15, 0, "for benchmarks (198.18.0.0/15)"},
    {"198.51.100.0", 24, 0, "for documentation (198.51.100.0/24)"},
    {"203.0.113.0", 24, 0, "for documentation (203.0.113.0/24)"},
    {"224.0.0.0", 4, 0, "multicast (224.0.0.0/4)"},
    {"240.0.0.0", 4, 0, "reserved (240.0.0.0/4)"},
    {"::", 128, 0, "no address (::)"},
    {"::1", 128, 0, "loopback (::1)"},
    {"::ffff:0:0", 96, INNER(12), NULL},
    {"64:ff9b::", 96, INNER(12), NULL},
    {"64:ff9b:1::", 48, 0, "a local translation (64:ff9b:1::/48)"},
    {"100::", 64, 0, "discarded (100::/64)"},
    {"2001::", 32, 0, "Teredo (2001::/32)"},
    {"2001:db8::", 32, 0, "for documentation (2001:db8::/32)"},
    {"2002::", 16, INNER(2), NULL},
    {"3fff::", 20, 0, "for documentation (3fff::/20)"},
    {"::", 96, INNER(12), NULL},
    {"fc00::", 7, 0, "private (fc00::/7)"},
    {"fe80::", 10, 0, "link-local (fe80::/10)"},
    {"fec0::", 10, 0, "site-local (fec0::/10)"},
    {"ff00::", 8, 0, "multicast (ff00::/8)"},
    {"2000::", 3, -1, NULL}, /* public */
    {"::", 0, 0, "outside of the public range (2000::/3)"},
};

struct guard {
	struct hosts allowed, denied;
	struct nets private_ok[GUARD_USES];
	bool http_ok;
	struct net ranges[COUNT_OF(RANGES)]; /* read */
};

static const struct range *
range_of(const struct guard *g, const struct ip *ip)
{
	for (size_t i = 0; i < COUNT_OF(RANGES); i++)
		if (net_has(&g->ranges[i], ip))
			return &RANGES[i];
	return NULL;
}

static void
read_ranges(struct guard *g)
{
	for (size_t i = 0; i < COUNT_OF(RANGES); i++) {
		bool ok = ip_read(str_of(RANGES[i].net), &g->ranges[i].at);

		assert(ok);
		g->ranges[i].bits = RANGES[i].bits;
	}
}

const char *
guard_setting(enum guard_use use)
{
	static const char *const SETTING[GUARD_USES] = {
	    [GUARD_WEBHOOK] = "webhook.url.allow.private",
	    [GUARD_READER] = "fetch.url.allow.private",
	};

	return SETTING[use];
}

/*
 * What is wrong with the address, or NULL. *ret_private says that it is one
 * of `opened`, the networks that the operator opened; NULL: of none.
 */
static const char *
guard_judge(const struct guard *g, const struct nets *opened, struct ip ip,
    bool *ret_private)
{
	/* An inner address is IPv4, which has no inner one: two rounds. */
	for (;;) {
		const struct range *r;

		*ret_private = opened && nets_has(opened, &ip);
		r = *ret_private ? NULL : range_of(g, &ip);
		if (!r || r->inner < 0)
			return NULL;
		if (r->inner == 0)
			return r->what;
		memmove(ip.b, ip.b + r->inner - 1, 4);
		ip.n = 4;
	}
}

int
guard_connect(const struct guard *g, enum guard_use use, bool https,
    const struct sockaddr *sa, struct err *e)
{
	char text[ADDR_TEXT_MAX];
	bool opened = false;
	const char *what;
	struct ip ip;

	if (!ip_of(sa, &ip))
		return err_set(e, ERR_DENIED,
		    "the address is neither IPv4 nor IPv6 (family %d)",
		    sa->sa_family);
	what = guard_judge(g, &g->private_ok[use], ip, &opened);
	addr_format(sa, text);
	if (what)
		return err_set(e, ERR_DENIED,
		    "the address %s is not public: it is %s; %s can allow it",
		    text, what, guard_setting(use));
	if (!https && use == GUARD_WEBHOOK && !g->http_ok && !opened)
		return err_set(e, ERR_DENIED,
		    "a webhook must use https (the address %s is not in webhook.url.allow.private, and webhook.url.allow.http is off)",
		    text);
	return OK;
}

int
guard_addr(const struct guard *g, enum guard_use use, const struct sockaddr *sa,
    struct err *e)
{
	return guard_connect(g, use, true, sa, e);
}

/* ---- hosts ---- */

static bool
listed(const struct hosts *l, struct str host)
{
	for (size_t i = 0; i < l->n; i++) {
		struct str rule = str_of(l->v[i].host);
		bool tail = str_ends(host, rule);

		if (l->v[i].below ? tail && host.n > rule.n &&
					host.p[host.n - rule.n - 1] == '.'
				  : tail && host.n == rule.n)
			return true;
	}
	return false;
}

int
guard_target(const struct guard *g, enum guard_use use, const struct url *u,
    struct err *e)
{
	struct str host = {u->host, u->n_host};

	if (listed(&g->denied, host))
		return err_set(e, ERR_DENIED,
		    "the host %s is in webhook.url.denylist", u->host);
	if (g->allowed.n > 0 && !listed(&g->allowed, host))
		return err_set(e, ERR_DENIED,
		    "the host %s is not in webhook.url.allowlist", u->host);
	if (u->literal)
		return guard_connect(g, use, u->https, &u->addr.sa, e);
	if (!u->https && use == GUARD_WEBHOOK && !g->http_ok &&
	    g->private_ok[use].n == 0)
		return err_set(e, ERR_DENIED,
		    "a webhook must use https (webhook.url.allow.http is off)");
	return OK;
}

int
guard_url(
    const struct guard *g, enum guard_use use, struct str url, struct err *e)
{
	struct url u;

	TRY(url_parse(url, &u, e));
	return guard_target(g, use, &u, e);
}

bool
guard_public(const struct guard *g, struct str url)
{
	/* Reserved, or in no public DNS. */
	static const char *const LOCAL[] = {".localhost", ".localdomain",
	    ".local", ".internal", ".intranet", ".lan", ".home", ".arpa",
	    ".corp", ".private", ".test", ".invalid", ".onion", ".alt"};
	bool opened;
	struct err e;
	struct url u;
	struct ip ip;

	if (url_parse(url, &u, &e) < 0)
		return false;
	if (u.literal)
		return ip_of(&u.addr.sa, &ip) &&
		       !guard_judge(g, NULL, ip, &opened);
	for (size_t i = 0; i < COUNT_OF(LOCAL); i++)
		if (str_ends(str_of(u.host), str_of(LOCAL[i])))
			return false;
	return str_has(str_of(u.host), '.');
}

/* ---- settings ---- */

static int
read_hosts(const char *key, const char *text, struct hosts *ret, struct err *e)
{
	struct str rest = str_of(text);
	size_t most = 0;

	TRY(nets_count(key, text, &most, e));
	ret->v = mem_array(most + 1, sizeof(*ret->v));
	while (rest.n > 0) {
		struct str item = str_cut(&rest, ',');
		struct host_rule *r = &ret->v[ret->n];
		struct err inner;
		struct url u;

		r->below = str_starts(item, STR("*."));
		if (url_host(str_from(item, r->below ? 2 : 0), &u, &inner) <
			0 ||
		    (r->below && u.literal))
			return err_set(e, ERR_INVALID,
			    "%s: %.*s is neither a host nor *.host", key,
			    STR_ARG(item));
		memcpy(r->host, u.host, sizeof(u.host));
		ret->n++;
	}
	return OK;
}

/* What the specifications let one turn off, and we don't. */
static int
check_switches(const struct conf *c, struct err *e)
{
	if (!c->webhook_url_validation_enabled)
		return err_set(e, ERR_INVALID,
		    "webhook.url.validation.enabled can't be false: an unchecked URL reaches everything that this server reaches; use webhook.url.allow.private and webhook.url.allow.http");
	if (!c->webhook_url_deny_private_ip)
		return err_set(e, ERR_INVALID,
		    "webhook.url.deny.private.ip can't be false: name the networks that are to be reached in webhook.url.allow.private");
	if (!c->webhook_encryption_enabled)
		return err_set(e, ERR_INVALID,
		    "webhook.encryption.enabled can't be false: secrets are never stored in the clear");
	return OK;
}

int
guard_new(const struct conf *c, struct guard **ret, struct err *e)
{
	struct guard *g = mem_get(sizeof(*g));
	int rc = check_switches(c, e);

	g->http_ok = c->webhook_url_allow_http;
	read_ranges(g);
	if (rc == OK)
		rc = read_hosts("webhook.url.allowlist",
		    c->webhook_url_allowlist, &g->allowed, e);
	if (rc == OK)
		rc = read_hosts("webhook.url.denylist", c->webhook_url_denylist,
		    &g->denied, e);
	if (rc == OK)
		rc = nets_read(guard_setting(GUARD_WEBHOOK),
		    c->webhook_url_allow_private, &g->private_ok[GUARD_WEBHOOK],
		    e);
	if (rc == OK)
		rc = nets_read(guard_setting(GUARD_READER),
		    c->fetch_url_allow_private, &g->private_ok[GUARD_READER],
		    e);
	if (rc < 0) {
		guard_free(g);
		return rc;
	}
	*ret = g;
	return OK;
}

void
guard_free(struct guard *g)
{
	if (!g)
		return;
	free(g->allowed.v);
	free(g->denied.v);
	for (int use = 0; use < GUARD_USES; use++)
		nets_done(&g->private_ok[use]);
	free(g);
}
