#include "http/peer.h"

#include "base/test.h"
#include "http/limits.h"

#define ABSENT  ((struct str){.p = NULL})
#define TRUSTED "10.0.0.0/8,2001:db8:1::/48,127.0.0.1"

static struct nets
read_nets(const char *text)
{
	struct nets l;
	struct err e = {0};

	if (nets_read("k", text, &l, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return l;
}

/* NULL is an absent header. `want` NULL: the hop, 10.0.0.9. */
static const struct {
	const char *forwarded, *x, *want;
} PEERS[] = {
    {NULL, NULL, NULL},
    /* X-Forwarded-For, from its end */
    {NULL, "203.0.113.7", "203.0.113.7"},
    {NULL, "1.2.3.4, 203.0.113.7", "203.0.113.7"},
    {NULL, "1.2.3.4,203.0.113.7,10.0.0.2 , 127.0.0.1", "203.0.113.7"},
    {NULL, "rubbish, 203.0.113.7", "203.0.113.7"},
    {NULL, "\"1.2.3.4, 203.0.113.7", "203.0.113.7"},
    {NULL, "203.0.113.7:4711", "203.0.113.7"},
    {NULL, "2001:db8::7", "2001:db8::7"},
    {NULL, "2001:DB8:0:0::7", "2001:db8::7"},
    {NULL, "[2001:db8::7]", "2001:db8::7"},
    {NULL, "[2001:db8::7]:443", "2001:db8::7"},
    {NULL, "203.0.113.7, 2001:db8:1::2", "203.0.113.7"},
    {NULL, "::ffff:203.0.113.7", "203.0.113.7"},
    {NULL, "203.0.113.7, ::ffff:10.0.0.2", "203.0.113.7"},
    /* all trusted: the first of them calls itself */
    {NULL, "10.0.0.3, 10.0.0.2", "10.0.0.3"},
    /* what is no address ends at who said so */
    {NULL, "", NULL},
    {NULL, "unknown", NULL},
    {NULL, "203.0.113.7, unknown", NULL},
    {NULL, "203.0.113.7, unknown, 10.0.0.2", "10.0.0.2"},
    {NULL, "203.0.113.7,,10.0.0.2", "10.0.0.2"},
    {NULL, "203.0.113.7 10.0.0.2", NULL},
    {NULL, "203.0.113.7:", NULL},
    {NULL, "203.0.113.7:70000", NULL},
    {NULL, "203.0.113.7:x", NULL},
    {NULL, "0x7f.1", NULL},
    {NULL, "127.1", NULL},
    {NULL, "fe80::1%eth0", NULL},
    {NULL, "[203.0.113.7]", NULL},
    {NULL, "[2001:db8::7", NULL},
    {NULL, "[2001:db8::7]4711", NULL},
    {NULL, "for=203.0.113.7", NULL},
    {NULL, "\"203.0.113.7\"", NULL},
    {NULL, ":", NULL},
    {NULL, "[]", NULL},
    {NULL, "\x1b[31m", NULL},
    /* Forwarded */
    {"for=203.0.113.7", NULL, "203.0.113.7"},
    {"For=203.0.113.7;proto=https;by=10.0.0.2", NULL, "203.0.113.7"},
    {"proto=https; for=203.0.113.7", NULL, "203.0.113.7"},
    {"for=\"203.0.113.7:4711\"", NULL, "203.0.113.7"},
    {"for=\"203.0.113.7:_port\"", NULL, "203.0.113.7"},
    {"for=\"[2001:db8::7]:4711\"", NULL, "2001:db8::7"},
    {"for=\"[2001:db8::7]\"", NULL, "2001:db8::7"},
    {"for=1.2.3.4, for=203.0.113.7, for=10.0.0.2", NULL, "203.0.113.7"},
    {"host=\"a, for=1.2.3.4\";for=203.0.113.7", NULL, "203.0.113.7"},
    {"for=1.2.3.4;x=\"\\\", for=9.9.9.9\", for=203.0.113.7", NULL,
	"203.0.113.7"},
    {"for=203.0.113.7, for=_hidden", NULL, NULL},
    {"for=203.0.113.7, for=unknown, for=10.0.0.2", NULL, "10.0.0.2"},
    {"for=203.0.113.7, proto=https", NULL, NULL},
    {"for=203.0.113.7, ", NULL, NULL},
    {"for=203.0.113.7,,", NULL, NULL},
    {"203.0.113.7", NULL, NULL},
    {"for=", NULL, NULL},
    {"for=203.0.113.7;for=1.2.3.4", NULL, NULL},
    {"for = 203.0.113.7", NULL, NULL},
    {"for=\"203.0.113\\.7\"", NULL, NULL},
    {"for=\"203.0.113.7", NULL, NULL},
    {"for=203.0.113.7 x", NULL, NULL},
    /* a quote left open before what the proxy adds */
    {"for=\"1.2.3.4, for=203.0.113.7", NULL, NULL},
    {"for=1.2.3.4;x=\", for=\"[2001:db8::7]\"", NULL, NULL},
    {"for=1.2.3.4;x=\"\\, for=203.0.113.7", NULL, NULL},
    /* both: they must agree */
    {"for=203.0.113.7", "203.0.113.7", "203.0.113.7"},
    {"for=\"[2001:db8::7]:1\"", "2001:db8::7", "2001:db8::7"},
    {"for=1.2.3.4", "203.0.113.7", NULL},
    {"for=203.0.113.7", "1.2.3.4", NULL},
    {"for=203.0.113.7", "", NULL},
    {"", "203.0.113.7", NULL},
    {"rubbish", "203.0.113.7", NULL},
};

static void
test_peers(void **)
{
	struct nets trusted = read_nets(TRUSTED);

	for (size_t i = 0; i < COUNT_OF(PEERS); i++) {
		struct str f =
		    PEERS[i].forwarded ? str_of(PEERS[i].forwarded) : ABSENT;
		struct str x = PEERS[i].x ? str_of(PEERS[i].x) : ABSENT;
		const char *want = PEERS[i].want ? PEERS[i].want : "10.0.0.9";
		struct ip hop, got;
		char text[IP_TEXT_MAX];

		assert_true(ip_read(STR("10.0.0.9"), &hop));
		got = peer_find(&trusted, hop, f, x);
		ip_format(&got, text);
		if (strcmp(text, want) != 0)
			fail_msg("%s | %s: %s, not %s",
			    PEERS[i].forwarded ? PEERS[i].forwarded : "-",
			    PEERS[i].x ? PEERS[i].x : "-", text, want);
	}
	nets_done(&trusted);
}

/* More trusted hops than anybody has: the farthest that is looked at. */
static void
test_many_hops(void **)
{
	struct nets trusted = read_nets(TRUSTED);
	char list[40 * 16] = "203.0.113.7", text[IP_TEXT_MAX];
	struct ip hop, got;
	size_t n = strlen(list);

	for (int i = 0; i < PEER_HOPS_MAX; i++)
		n += (size_t)snprintf(
		    list + n, sizeof(list) - n, ", 10.0.1.%d", i);
	assert_true(ip_read(STR("10.0.0.9"), &hop));
	got = peer_find(&trusted, hop, ABSENT, str_of(list));
	ip_format(&got, text);
	assert_string_equal(text, "10.0.1.0");
	nets_done(&trusted);
}

static void
test_nets(void **)
{
	static const struct {
		const char *nets, *address;
		bool want;
	} T[] = {
	    {"", "10.0.0.1", false},
	    {"10.0.0.0/8", "10.255.0.1", true},
	    {"10.0.0.0/8", "11.0.0.1", false},
	    {"10.0.0.0/8", "::ffff:10.0.0.1", true},
	    {"10.0.0.0/8", "unix", false},
	    {"10.0.0.0/8", "", false},
	    {"0.0.0.0/0", "203.0.113.7", true},
	    {"0.0.0.0/0", "2001:db8::1", false},
	    {"192.0.2.1", "192.0.2.1", true},
	    {"192.0.2.1", "192.0.2.2", false},
	    {"192.0.2.128/25", "192.0.2.127", false},
	    {"fd00::/9,2001:db8::/33", "2001:db8:7fff::1", true},
	    {"fd00::/9,2001:db8::/33", "2001:db8:8000::1", false},
	};
	static const char *const BAD[] = {
	    "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "x", "10.0.0.0/8,,"};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct nets l = read_nets(T[i].nets);
		struct ip ip = {.n = 0};
		bool has = ip_read(str_of(T[i].address), &ip);

		ip_unmap(&ip);
		if ((has && nets_has(&l, &ip)) != T[i].want)
			fail_msg("%s %s", T[i].nets, T[i].address);
		nets_done(&l);
	}
	for (size_t i = 0; i < COUNT_OF(BAD); i++) {
		struct nets l = {NULL, 0};
		struct err e = {0};

		assert_int_equal(
		    nets_read("a.key", BAD[i], &l, &e), ERR_INVALID);
		assert_non_null(strstr(e.text, "a.key: "));
		nets_done(&l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_peers),
	    cmocka_unit_test(test_many_hops),
	    cmocka_unit_test(test_nets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
