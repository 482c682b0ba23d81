#include "http/client/guard.h"

#include <arpa/inet.h>

#include "base/conf/conf.h"
#include "base/test.h"
#include "http/url.h"

struct setting {
	const char *key, *value;
};

/* A guard with these settings; NULL ends them. */
static int
make(const struct setting *s, struct guard **ret, struct err *e)
{
	struct conf c;
	int rc = conf_init(&c, e);

	for (; rc == OK && s->key; s++)
		rc = conf_set(
		    &c, str_of(s->key), str_of(s->value), CONF_FLAG, e);
	if (rc == OK)
		rc = guard_new(&c, ret, e);
	conf_done(&c);
	return rc;
}

static struct guard *
made(const struct setting *s)
{
	struct guard *g = NULL;
	struct err e;

	if (make(s, &g, &e) < 0)
		fail_msg("%s", e.text);
	return g;
}

static union addr
addr(const char *z)
{
	union addr a = {.v6 = {0}};

	if (inet_pton(AF_INET, z, &a.v4.sin_addr) == 1)
		a.sa.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, z, &a.v6.sin6_addr) == 1)
		a.sa.sa_family = AF_INET6;
	else
		fail_msg("%s", z);
	return a;
}

/* ---- addresses ---- */

/* The first and last of each range, and their public neighbours. */
static const struct {
	const char *addr, *why; /* NULL: public */
} ADDRS[] = {
    {"0.0.0.0", "0.0.0.0/8"},
    {"0.255.255.255", "0.0.0.0/8"},
    {"1.0.0.0", NULL},
    {"9.255.255.255", NULL},
    {"10.0.0.0", "10.0.0.0/8"},
    {"10.255.255.255", "10.0.0.0/8"},
    {"11.0.0.0", NULL},
    {"100.63.255.255", NULL},
    {"100.64.0.0", "100.64.0.0/10"},
    {"100.127.255.255", "100.64.0.0/10"},
    {"100.128.0.0", NULL},
    {"126.255.255.255", NULL},
    {"127.0.0.0", "127.0.0.0/8"},
    {"127.0.0.1", "127.0.0.0/8"},
    {"127.255.255.255", "127.0.0.0/8"},
    {"128.0.0.0", NULL},
    {"169.253.255.255", NULL},
    {"161.25.255.255", NULL},
    {"161.26.0.0", "161.26.0.0/16"},
    {"161.26.255.255", "161.26.0.0/16"},
    {"161.27.0.0", NULL},
    {"166.7.255.255", NULL},
    {"166.8.0.0", "166.8.0.0/14"},
    {"166.11.255.255", "166.8.0.0/14"},
    {"166.12.0.0", NULL},
    {"168.63.129.15", NULL},
    {"168.63.129.16", "168.63.129.16/32"}, /* Azure's wire server */
    {"168.63.129.17", NULL},
    {"::ffff:168.63.129.16", "168.63.129.16/32"},
    {"64:ff9b::168.63.129.16", "168.63.129.16/32"},
    {"100.100.100.200", "100.64.0.0/10"}, /* Alibaba's metadata */
    {"192.0.0.192", "192.0.0.0/24"},      /* Oracle's */
    {"169.254.170.2", "169.254.0.0/16"},  /* of AWS' containers */
    {"fd00:ec2::254", "fc00::/7"},        /* AWS', … */
    {"fd20:ce::254", "fc00::/7"},         /* … Google's, … */
    {"fd00:42::42", "fc00::/7"},          /* … Scaleway's */
    {"fe80::a9fe:a9fe", "fe80::/10"},     /* OpenStack's */
    {"169.254.0.0", "169.254.0.0/16"},
    {"169.254.169.254", "169.254.0.0/16"},
    {"169.254.255.255", "169.254.0.0/16"},
    {"169.255.0.0", NULL},
    {"172.15.255.255", NULL},
    {"172.16.0.0", "172.16.0.0/12"},
    {"172.31.255.255", "172.16.0.0/12"},
    {"172.32.0.0", NULL},
    {"191.255.255.255", NULL},
    {"192.0.0.0", "192.0.0.0/24"},
    {"192.0.0.255", "192.0.0.0/24"},
    {"192.0.1.0", NULL},
    {"192.0.2.0", "192.0.2.0/24"},
    {"192.0.2.255", "192.0.2.0/24"},
    {"192.0.3.0", NULL},
    {"192.88.98.255", NULL},
    {"192.88.99.0", "192.88.99.0/24"},
    {"192.88.99.255", "192.88.99.0/24"},
    {"192.88.100.0", NULL},
    {"192.167.255.255", NULL},
    {"192.168.0.0", "192.168.0.0/16"},
    {"192.168.255.255", "192.168.0.0/16"},
    {"192.169.0.0", NULL},
    {"198.17.255.255", NULL},
    {"198.18.0.0", "198.18.0.0/15"},
    {"198.19.255.255", "198.18.0.0/15"},
    {"198.20.0.0", NULL},
    {"198.51.99.255", NULL},
    {"198.51.100.0", "198.51.100.0/24"},
    {"198.51.100.255", "198.51.100.0/24"},
    {"198.51.101.0", NULL},
    {"203.0.112.255", NULL},
    {"203.0.113.0", "203.0.113.0/24"},
    {"203.0.113.255", "203.0.113.0/24"},
    {"203.0.114.0", NULL},
    {"223.255.255.255", NULL},
    {"224.0.0.0", "224.0.0.0/4"},
    {"239.255.255.255", "224.0.0.0/4"},
    {"240.0.0.0", "240.0.0.0/4"},
    {"255.255.255.255", "240.0.0.0/4"},
    {"::", "(::)"},
    {"::1", "(::1)"},
    /* judged by the address inside */
    {"::2", "0.0.0.0/8"},
    {"::127.0.0.1", "127.0.0.0/8"},
    {"::10.0.0.1", "10.0.0.0/8"},
    {"::8.8.8.8", NULL},
    {"::ffff:127.0.0.1", "127.0.0.0/8"},
    {"::ffff:169.254.169.254", "169.254.0.0/16"},
    {"::ffff:0.0.0.0", "0.0.0.0/8"},
    {"::ffff:8.8.8.8", NULL},
    {"64:ff9b::127.0.0.1", "127.0.0.0/8"},
    {"64:ff9b::192.168.1.1", "192.168.0.0/16"},
    {"64:ff9b::8.8.8.8", NULL},
    {"2002:7f00:1::", "127.0.0.0/8"},
    {"2002:0a00:1::1", "10.0.0.0/8"},
    {"2002:a9fe:a9fe::1", "169.254.0.0/16"},
    {"2002:808:808::1", NULL},
    {"::fffe:8.8.8.8", "2000::/3"},
    {"::1:0:0:0", "2000::/3"},
    {"64:ff9b:0:0:0:1::", "2000::/3"},
    {"64:ff9b:1::", "64:ff9b:1::/48"},
    {"64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "64:ff9b:1::/48"},
    {"100::", "100::/64"},
    {"100::ffff:ffff:ffff:ffff", "100::/64"},
    {"100:0:0:1::", "2000::/3"},
    {"1fff::1", "2000::/3"},
    {"2000::", NULL},
    {"2001::", "2001::/32"},
    {"2001:0:ffff::", "2001::/32"},
    {"2001:1::", NULL},
    {"2001:db7:ffff::", NULL},
    {"2001:db8::", "2001:db8::/32"},
    {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::/32"},
    {"2001:db9::", NULL},
    {"2606:4700:4700::1111", NULL},
    {"2003::", NULL},
    {"3ffe:ffff::", NULL},
    {"3fff::1", "3fff::/20"},
    {"4000::", "2000::/3"},
    {"5f00::", "2000::/3"},
    {"fbff::", "2000::/3"},
    {"fc00::", "fc00::/7"},
    {"fdff:ffff::", "fc00::/7"},
    {"fe00::", "2000::/3"},
    {"fe80::", "fe80::/10"},
    {"febf:ffff::", "fe80::/10"},
    {"fec0::", "fec0::/10"},
    {"feff::", "fec0::/10"},
    {"ff00::", "ff00::/8"},
    {"ff02::1", "ff00::/8"},
};

static void
test_addrs(void **)
{
	struct guard *g = made((struct setting[]){{NULL, NULL}});
	struct sockaddr un = {.sa_family = AF_UNIX};
	struct err e;

	for (size_t i = 0; i < COUNT_OF(ADDRS); i++) {
		union addr a = addr(ADDRS[i].addr);
		int rc = guard_addr(g, GUARD_READER, &a.sa, &e);

		if (!ADDRS[i].why
			? rc != OK
			: rc != ERR_DENIED || !strstr(e.text, ADDRS[i].why))
			fail_msg("%s: %d %s", ADDRS[i].addr, rc,
			    rc < 0 ? e.text : "");
	}
	assert_int_equal(guard_addr(g, GUARD_WEBHOOK, &un, &e), ERR_DENIED);
	guard_free(g);
}

static void
test_allow_private(void **)
{
	static const struct {
		const char *addr;
		bool ok;
	} T[] = {
	    {"10.1.0.0", true},
	    {"10.1.255.255", true},
	    {"10.2.0.0", false},
	    {"::ffff:10.1.2.3", true},
	    {"::ffff:10.2.2.3", false},
	    {"2002:a01:203::", true},
	    {"127.0.0.1", true},
	    {"127.0.0.2", false},
	    {"::1", false},
	    {"fd12::1", true},
	    {"fd13::1", false},
	    {"8.8.8.8", true},
	};
	struct guard *g = made((struct setting[]){
	    {"webhook.url.allow.private", "10.1.0.0/16, 127.0.0.1,fd12::/16"},
	    {NULL, NULL}});
	struct err e;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		union addr a = addr(T[i].addr);

		if ((guard_addr(g, GUARD_WEBHOOK, &a.sa, &e) == OK) != T[i].ok)
			fail_msg("%s", T[i].addr);
	}
	guard_free(g);
}

/* ---- URLs ---- */

#define PRIVATE "webhook.url.allow.private"
#define FETCH   "fetch.url.allow.private"
#define HTTP    "webhook.url.allow.http"
#define ALLOW   "webhook.url.allowlist"
#define DENY    "webhook.url.denylist"

static const struct {
	struct setting s[4];
	enum guard_use use;
	const char *url, *why; /* NULL: fine */
} URLS[] = {
    {{{0}}, GUARD_WEBHOOK, "https://example.com/", NULL},
    {{{0}}, GUARD_WEBHOOK, "http://example.com/", "must use https"},
    {{{0}}, GUARD_READER, "http://example.com/", NULL},
    {{{0}}, GUARD_READER, "https://example.com/", NULL},
    {{{0}}, GUARD_READER, "ftp://example.com/", "must begin with"},
    {{{HTTP, "true"}}, GUARD_WEBHOOK, "http://example.com/", NULL},
    {{{HTTP, "true"}}, GUARD_WEBHOOK, "http://8.8.8.8/", NULL},
    {{{HTTP, "true"}}, GUARD_WEBHOOK, "http://10.0.0.1/", "not public"},
    /* with networks that are open, http to a name waits for its address */
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_WEBHOOK, "http://example.com/", NULL},
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_WEBHOOK, "http://10.0.0.1/", NULL},
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_WEBHOOK, "http://8.8.8.8/",
	"must use https"},
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_WEBHOOK, "https://8.8.8.8/", NULL},
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_READER, "http://8.8.8.8/", NULL},
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_READER, "http://127.0.0.1/",
	"not public"},
    /* every spelling of loopback and others, for every use */
    /* of webhooks and of feeds, each its own */
    {{{PRIVATE, "10.0.0.0/8"}}, GUARD_READER, "http://10.0.0.1/",
	"fetch.url.allow.private can"},
    {{{FETCH, "10.0.0.0/8"}}, GUARD_READER, "http://10.0.0.1/", NULL},
    {{{FETCH, "10.0.0.0/8"}}, GUARD_WEBHOOK, "https://10.0.0.1/",
	"webhook.url.allow.private can"},
    {{{FETCH, "10.0.0.0/8"}}, GUARD_WEBHOOK, "http://example.com/",
	"must use https"},
    {{{0}}, GUARD_WEBHOOK, "https://127.0.0.1/", "loopback"},
    {{{0}}, GUARD_READER, "http://127.0.0.1/", "loopback"},
    {{{0}}, GUARD_READER, "http://127.1/", "loopback"},
    {{{0}}, GUARD_READER, "http://0x7f.1/", "loopback"},
    {{{0}}, GUARD_READER, "http://2130706433/", "loopback"},
    {{{0}}, GUARD_READER, "http://017700000001/", "loopback"},
    {{{0}}, GUARD_READER, "http://127.0.0.1./", "loopback"},
    {{{0}}, GUARD_READER, "http://127。0。0。1/", "loopback"},
    {{{0}}, GUARD_READER, "http://１２７.0.0.1/", "loopback"},
    {{{0}}, GUARD_READER, "http://%31%32%37.0.0.1/", "loopback"},
    {{{0}}, GUARD_READER, "http://[::1]/", "loopback"},
    {{{0}}, GUARD_READER, "http://[::ffff:127.0.0.1]/", "loopback"},
    {{{0}}, GUARD_READER, "http://[::ffff:7f00:1]/", "loopback"},
    {{{0}}, GUARD_READER, "http://[64:ff9b::7f00:1]/", "loopback"},
    {{{0}}, GUARD_READER, "http://0/", "this network"},
    {{{0}}, GUARD_READER, "http://[::]/", "no address"},
    {{{0}}, GUARD_READER, "http://169.254.169.254/latest/meta-data/",
	"link-local"},
    {{{0}}, GUARD_READER, "http://2852039166/", "link-local"},
    {{{0}}, GUARD_READER, "http://8.8.8.8@127.0.0.1/", "user name"},
    /* lists */
    {{{ALLOW, "example.com,*.trusted.example"}}, GUARD_WEBHOOK,
	"https://example.com/", NULL},
    {{{ALLOW, "example.com,*.trusted.example"}}, GUARD_WEBHOOK,
	"https://EXAMPLE.com./", NULL},
    {{{ALLOW, "example.com,*.trusted.example"}}, GUARD_WEBHOOK,
	"https://a.b.trusted.example/", NULL},
    {{{ALLOW, "example.com,*.trusted.example"}}, GUARD_WEBHOOK,
	"https://trusted.example/", "allowlist"},
    {{{ALLOW, "example.com,*.trusted.example"}}, GUARD_WEBHOOK,
	"https://untrusted.example/", "allowlist"},
    {{{ALLOW, "example.com,*.trusted.example"}}, GUARD_READER,
	"https://sub.example.com/", "allowlist"},
    {{{ALLOW, "example.com"}}, GUARD_WEBHOOK, "https://8.8.8.8/", "allowlist"},
    {{{ALLOW, "127.0.0.1"}}, GUARD_WEBHOOK, "https://127.0.0.1/", "loopback"},
    {{{DENY, "*.local,internal.example"}}, GUARD_WEBHOOK,
	"https://printer.local/", "denylist"},
    {{{DENY, "*.local,internal.example"}}, GUARD_WEBHOOK,
	"https://Internal.Example/", "denylist"},
    {{{DENY, "*.local,internal.example"}}, GUARD_WEBHOOK,
	"https://notinternal.example/", NULL},
    {{{ALLOW, "*.a.example"}, {DENY, "b.a.example"}}, GUARD_WEBHOOK,
	"https://b.a.example/", "denylist"},
    {{{DENY, "8.8.8.8"}}, GUARD_WEBHOOK, "https://0x8080808/", "denylist"},
};

static void
test_urls(void **)
{
	for (size_t i = 0; i < COUNT_OF(URLS); i++) {
		struct guard *g = made(URLS[i].s);
		struct err e;
		int rc = guard_url(g, URLS[i].use, str_of(URLS[i].url), &e);

		if (!URLS[i].why ? rc != OK
				 : rc >= 0 || !strstr(e.text, URLS[i].why))
			fail_msg("row %zu, %s: %d %s", i, URLS[i].url, rc,
			    rc < 0 ? e.text : "");
		guard_free(g);
	}
}

/* What a name leads to decides whether http may be spoken. */
static void
test_connect(void **)
{
	static const struct {
		enum guard_use use;
		bool https;
		const char *addr;
		bool ok;
	} T[] = {
	    {GUARD_WEBHOOK, false, "10.0.0.1", true},
	    {GUARD_WEBHOOK, false, "::ffff:10.0.0.1", true},
	    {GUARD_WEBHOOK, false, "8.8.8.8", false},
	    {GUARD_WEBHOOK, true, "8.8.8.8", true},
	    {GUARD_WEBHOOK, true, "192.168.0.1", false},
	    {GUARD_READER, false, "8.8.8.8", true},
	    {GUARD_READER, false, "192.168.0.1", false},
	};
	struct guard *g =
	    made((struct setting[]){{PRIVATE, "10.0.0.0/8"}, {NULL, NULL}});
	struct err e;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		union addr a = addr(T[i].addr);
		int rc = guard_connect(g, T[i].use, T[i].https, &a.sa, &e);

		if (rc != (T[i].ok ? OK : ERR_DENIED))
			fail_msg("row %zu: %d", i, rc);
	}
	guard_free(g);
}

/* What others may be asked about, whatever is opened here. */
static void
test_public(void **)
{
	static const struct {
		const char *url;
		bool ok;
	} T[] = {
	    {"https://example.com/a?b=c", true},
	    {"http://8.8.8.8:8080/", true},
	    {"http://[2606:4700::1]/", true},
	    {"http://localhostess.example/", true},
	    {"http://10.1.2.3/a", false},
	    {"http://0x7f.1/", false},
	    {"http://[::1]/", false},
	    {"http://[fd00::1]/", false},
	    {"http://[::ffff:192.168.0.1]/", false},
	    {"http://169.254.169.254/", false},
	    {"http://localhost:8080/", false},
	    {"http://wiki/page", false},
	    {"http://wiki./page", false},
	    {"https://printer.LOCAL/", false},
	    {"https://db.corp.internal/", false},
	    {"https://nas.home.arpa/", false},
	    {"https://user:password@example.com/", false},
	    {"ftp://example.com/", false},
	    {"mailto:a@example.com", false},
	    {"", false},
	};
	struct guard *g = made((struct setting[]){
	    {FETCH, "10.0.0.0/8"}, {PRIVATE, "10.0.0.0/8"}, {NULL, NULL}});

	for (size_t i = 0; i < COUNT_OF(T); i++)
		if (guard_public(g, str_of(T[i].url)) != T[i].ok)
			fail_msg("%s", T[i].url);
	guard_free(g);
}

static void
test_settings(void **)
{
	static const struct {
		struct setting s[2];
		const char *why;
	} T[] = {
	    {{{"webhook.url.validation.enabled", "false"}}, "can't be false"},
	    {{{"webhook.url.deny.private.ip", "false"}}, "allow.private"},
	    {{{"webhook.encryption.enabled", "false"}}, "in the clear"},
	    {{{PRIVATE, "10.0.0.0/33"}}, "10.0.0.0/33 is no network"},
	    {{{FETCH, "10.0.0.0/33"}}, "fetch.url.allow.private"},
	    {{{PRIVATE, "10.0.0.1/8"}}, "10.0.0.1/8 is no network"},
	    {{{PRIVATE, "10.0.0.0/"}}, "is no network"},
	    {{{PRIVATE, "10.0.0.0/-1"}}, "is no network"},
	    {{{PRIVATE, "10/8"}}, "is no network"},
	    {{{PRIVATE, "fd00::/129"}}, "is no network"},
	    {{{PRIVATE, "localhost"}}, "is no network"},
	    {{{ALLOW, "https://example.com"}}, "neither a host nor"},
	    {{{ALLOW, "*"}}, "neither a host nor"},
	    {{{ALLOW, "*.1.2.3.4"}}, "neither a host nor"},
	    {{{DENY, "a*.example"}}, "neither a host nor"},
	    {{{DENY, "a.example:443"}}, "neither a host nor"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct guard *g = NULL;
		struct err e = {0};
		int rc = make(T[i].s, &g, &e);

		if (rc != ERR_INVALID || g || !strstr(e.text, T[i].why) ||
		    !strstr(e.text, T[i].s[0].key))
			fail_msg("row %zu: %d %s", i, rc, e.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_addrs),
	    cmocka_unit_test(test_allow_private),
	    cmocka_unit_test(test_public),
	    cmocka_unit_test(test_urls),
	    cmocka_unit_test(test_connect),
	    cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
