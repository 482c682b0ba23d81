#include "http/url.h"

#include "base/test.h"

/* ---- what is read, and how it is written ---- */

static const struct {
	const char *text, *format, *endpoint;
} GOOD[] = {
    {"https://example.com", "https://example.com:443/",
	"https://example.com:443/"},
    {"HTTPS://EXAMPLE.Com/A?B=c#frag", "https://example.com:443/A?B=c",
	"https://example.com:443/A"},
    {"http://example.com:8080/x", "http://example.com:8080/x",
	"http://example.com:8080/x"},
    {"http://example.com:/x", "http://example.com:80/x",
	"http://example.com:80/x"},
    {"https://example.com./", "https://example.com:443/",
	"https://example.com:443/"},
    {"https://example.com?q", "https://example.com:443/?q",
	"https://example.com:443/"},
    {"https://example.com#f?g", "https://example.com:443/",
	"https://example.com:443/"},
    {"https://example.com/?", "https://example.com:443/?",
	"https://example.com:443/"},
    {"https://example.com/a@b:c", "https://example.com:443/a@b:c",
	"https://example.com:443/a@b:c"},
    {"https://example.com/a/../b/", "https://example.com:443/a/../b/",
	"https://example.com:443/a/../b/"},
    {"https://%65xample.com/", "https://example.com:443/",
	"https://example.com:443/"},
    {"https://ex_ample-1.com/", "https://ex_ample-1.com:443/",
	"https://ex_ample-1.com:443/"},
    {"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example:443/",
	"https://xn--bcher-kva.example:443/"},
    {"https://ｅｘａｍｐｌｅ。com/", "https://example.com:443/",
	"https://example.com:443/"},
    {"https://example.com/caf\xc3\xa9?\xe2\x82\xac",
	"https://example.com:443/caf%C3%A9?%E2%82%AC",
	"https://example.com:443/caf%C3%A9"},
    {"https://localhost", "https://localhost:443/", "https://localhost:443/"},
    /* addresses, in every spelling */
    {"http://127.0.0.1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://127.1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://0x7f.1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://0X7F.0.0.1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://2130706433/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://0x7f000001/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://017700000001/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://0177.0.0.01/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://127.0.1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://10.257/", "http://10.0.1.1:80/", "http://10.0.1.1:80/"},
    {"http://127.0.0.1./", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://127。0。0。1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://127｡0．0。1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://１２７.0.0.１/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://%31%32%37.0.0.1/", "http://127.0.0.1:80/", "http://127.0.0.1:80/"},
    {"http://127%E3%80%820%E3%80%820%E3%80%821/", "http://127.0.0.1:80/",
	"http://127.0.0.1:80/"},
    {"http://0/", "http://0.0.0.0:80/", "http://0.0.0.0:80/"},
    {"http://0x/", "http://0.0.0.0:80/", "http://0.0.0.0:80/"},
    {"http://[::1]/", "http://[::1]:80/", "http://[::1]:80/"},
    {"http://[0:0:0:0:0:0:0:1]:81/", "http://[::1]:81/", "http://[::1]:81/"},
    {"http://[::FFFF:127.0.0.1]/", "http://[::ffff:127.0.0.1]:80/",
	"http://[::ffff:127.0.0.1]:80/"},
    {"http://[::ffff:7f00:1]/", "http://[::ffff:127.0.0.1]:80/",
	"http://[::ffff:127.0.0.1]:80/"},
};

static void
test_good(void **)
{
	for (size_t i = 0; i < COUNT_OF(GOOD); i++) {
		char text[URL_TEXT_MAX], again[URL_TEXT_MAX];
		struct url u, v;
		struct err e;
		size_t n;

		if (url_parse(str_of(GOOD[i].text), &u, &e) < 0)
			fail_msg("%s: %s", GOOD[i].text, e.text);
		n = url_endpoint(&u, text);
		assert_int_equal(n, strlen(text));
		assert_string_equal(text, GOOD[i].endpoint);
		n = url_format(&u, text);
		assert_int_equal(n, strlen(text));
		assert_string_equal(text, GOOD[i].format);
		/* What was written is read as the same. */
		assert_int_equal(url_parse(str_of(text), &v, &e), OK);
		assert_string_equal(v.host, u.host);
		assert_int_equal(v.n_host, strlen(v.host));
		assert_int_equal(v.literal, u.literal);
		(void)url_format(&v, again);
		assert_string_equal(again, text);
	}
}

/* ---- what is refused, and why ---- */

static const struct {
	const char *text, *why;
} BAD[] = {
    {"", "must begin with"},
    {"example.com", "must begin with"},
    {"//example.com/", "must begin with"},
    {"https:/example.com/", "must begin with"},
    {"https:example.com", "must begin with"},
    {"ftp://example.com/", "must begin with"},
    {"file:///etc/passwd", "must begin with"},
    {"gopher://127.0.0.1:25/", "must begin with"},
    {"javascript:alert(1)", "must begin with"},
    {"https://", "no host"},
    {"https:///path", "no host"},
    {"https://:443/", "no host"},
    {"https://?q", "no host"},
    {"https://user@example.com/", "user name"},
    {"https://user:pass@example.com/", "user name"},
    {"https://example.com@127.0.0.1/", "user name"},
    {"https://@127.0.0.1/", "user name"},
    {"https://a%40b/", "no host has"},
    {"https://a%2fb/", "no host has"},
    {"https://a%00b/", "no host has"},
    {"https://a%0d%0ab/", "no host has"},
    {"https://a%/", "two hex digits"},
    {"https://a%2/", "two hex digits"},
    {"https://a%zz/", "two hex digits"},
    {"https://example.com:0/", "from 1 to 65535"},
    {"https://example.com:65536/", "from 1 to 65535"},
    {"https://example.com:000000443/", "from 1 to 65535"},
    {"https://example.com:4 43/", "blank"},
    {"https://example.com:x/", "no host has"},
    {"https://example.com:80:80/", "no host has"},
    {"https://::1/", "no host has"},
    {"https://a b/", "blank"},
    {"https://example.com/a b", "blank"},
    {"https://example.com/\r\nX: y", "blank"},
    {"https://example.com/\x7f", "blank"},
    {"https://example.com\\@evil.example/", "backslash"},
    {"https://example.com/a\\b", "backslash"},
    {"https://example.com/\xff", "UTF-8"},
    {"https://b\xc3\xbc"
     "cher.example/",
	"xn--"},
    {"https://①27.0.0.1/", "xn--"},
    {"https://a\xe2\x80\x8b.example/", "xn--"},
    {"https://a..b/", "empty part"},
    {"https://.a/", "empty part"},
    {"https://a../", "empty part"},
    {"https://./", "empty part"},
    {"https://1.2.3.4.5/", "no IPv4"},
    {"https://256.0.0.1/", "no IPv4"},
    {"https://1.2.3.256/", "no IPv4"},
    {"https://1.2.65536/", "no IPv4"},
    {"https://4294967296/", "no IPv4"},
    {"https://0x100000000/", "no IPv4"},
    {"https://99999999999999999999/", "no IPv4"},
    {"https://09.0.0.1/", "no IPv4"},
    {"https://a.1/", "no IPv4"},
    {"https://a.0x1/", "no IPv4"},
    {"https://[::1/", "closing bracket"},
    {"https://[::1]x/", "closing bracket"},
    {"https://[fe80::1%25eth0]/", "no IPv6"},
    {"https://[127.0.0.1]/", "no IPv6"},
    {"https://[]/", "no IPv6"},
    {"https://[/", "closing bracket"},
    {"https://[v1.x]/", "no IPv6"},
};

static void
test_bad(void **)
{
	for (size_t i = 0; i < COUNT_OF(BAD); i++) {
		struct url u;
		struct err e = {0};
		int rc = url_parse(str_of(BAD[i].text), &u, &e);

		if (rc != ERR_INVALID || !strstr(e.text, BAD[i].why))
			fail_msg("%s: %d %s", BAD[i].text, rc, e.text);
	}
}

static void
test_lengths(void **)
{
	char text[URL_MAX + 2];
	struct url u;
	struct err e;
	struct str s = {text, URL_MAX};

	memset(text, 'a', sizeof(text));
	memcpy(text, "https://b/", 10);
	assert_int_equal(url_parse(s, &u, &e), OK);
	s.n++;
	assert_int_equal(url_parse(s, &u, &e), ERR_LIMIT);
	/* A label of 64, a host of 254. */
	s.n = 8 + 64;
	memset(text + 8, 'a', 64);
	assert_int_equal(url_parse(s, &u, &e), ERR_INVALID);
	s.n--;
	assert_int_equal(url_parse(s, &u, &e), OK);
	for (size_t i = 8 + 50; i < 400; i += 51)
		text[i] = '.';
	s.n = 8 + URL_HOST_MAX;
	assert_int_equal(url_parse(s, &u, &e), OK);
	assert_int_equal(u.n_host, URL_HOST_MAX);
	s.n++;
	assert_int_equal(url_parse(s, &u, &e), ERR_INVALID);
	s.n = 1200;
	assert_int_equal(url_parse(s, &u, &e), ERR_INVALID);
	/* A NUL does not end it early. */
	assert_int_equal(
	    url_parse(STR("https://example.com\0.evil/"), &u, &e), ERR_INVALID);
}

static void
test_host(void **)
{
	static const struct {
		const char *text, *host;
	} T[] = {
	    {"Example.COM.", "example.com"},
	    {"::1", "::1"},
	    {"[::1]", "::1"},
	    {"0x7f.1", "127.0.0.1"},
	    {"a/b", NULL},
	    {"a:80", NULL},
	    {"", NULL},
	    {"*.a", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct url u = {.n_host = 0};
		struct err e;
		int rc = url_host(str_of(T[i].text), &u, &e);

		assert_int_equal(rc, T[i].host ? OK : ERR_INVALID);
		if (T[i].host)
			assert_string_equal(u.host, T[i].host);
	}
}

static void
test_masked(void **)
{
	static const struct {
		const char *url, *want;
	} T[] = {
	    {"https://h/x", "https://h/x"},
	    {"https://h", "https://h"},
	    {"https://h/x?token=hush", "https://h/x?********"},
	    {"https://h?hush", "https://h?********"},
	    {"https://h/x#hush", "https://h/x?********"},
	    {"https://h/x?", "https://h/x?********"},
	    {"https://u:hush@h/x", "https://********@h/x"},
	    {"https://u:hu@sh@h:1/x?hush", "https://********@h:1/x?********"},
	    {"https://h/a@b", "https://h/a@b"},
	    {"https://h/?a=https://u@b/", "https://h/?********"},
	    {"x?hush", "x?********"},
	    {"hush@x", "********@x"},
	    {"", ""},
	};
	char text[256], small[16];
	struct str got;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		got = url_masked(str_of(T[i].url), text, sizeof(text));
		if (!str_eq(got, str_of(T[i].want)))
			fail_msg("%s: %.*s", T[i].url, STR_ARG(got));
	}
	got =
	    url_masked(STR("https://host.example/?hush"), small, sizeof(small));
	assert_true(str_eq(got, STR("https://host.ex")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_good),
	    cmocka_unit_test(test_bad),
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_host),
	    cmocka_unit_test(test_masked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
