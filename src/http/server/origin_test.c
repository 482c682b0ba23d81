#include "http/server/origin.h"

#include "base/test.h"
#include "http/server/req.h"

static struct origins
made(const char *base, const char *allowed)
{
	struct origins o;
	struct err e;

	if (origins_init(&o, base, allowed, &e) < 0)
		fail_msg("%s", e.text);
	return o;
}

static void
test_settings(void **)
{
	static const struct {
		const char *base, *allowed;
		int want;
		const char *is_base, *is_allowed;
	} rows[] = {
	    {"", "", OK, "", ""},
	    {"https://a.example/reader/", "https://b.example", OK,
		"https://a.example", "https://b.example"},
	    {"HTTPS://A.example:443", "http://b.example:80/", OK,
		"https://a.example", "http://b.example"},
	    {"http://a.example:8080/", "https://b.example:8443", OK,
		"http://a.example:8080", "https://b.example:8443"},
	    {"http://[::1]:8080", "", OK, "http://[::1]:8080", ""},
	    {"", "https://b.example,http://C.example:80", OK, "",
		"https://b.example http://c.example"},
	    {"", "https://b.example,https://c.example/app", ERR_INVALID, "",
		""},
	    {"", "h://1", ERR_INVALID, "", ""},
	    {"",
		"http://1.a,http://2.a,http://3.a,http://4.a,http://5.a,http://6.a,http://7.a,http://8.a,http://9.a",
		ERR_INVALID, "", ""},
	    {"", "https://b.example/app", ERR_INVALID, "", ""},
	    {"", "https://b.example/?x", ERR_INVALID, "", ""},
	    {"", "https://u@b.example", ERR_INVALID, "", ""},
	    {"https://", "", ERR_INVALID, "", ""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct origins o;
		struct err e;
		char all[2 * ORIGIN_MAX + 4];
		int rc = origins_init(&o, rows[i].base, rows[i].allowed, &e);

		if (rc != rows[i].want)
			fail_msg("row %zu: %d", i, rc);
		if (rc < 0)
			continue;
		assert_string_equal(o.base, rows[i].is_base);
		(void)snprintf(all, sizeof(all), "%s%s%s",
		    o.n > 0 ? o.allowed[0] : "", o.n > 1 ? " " : "",
		    o.n > 1 ? o.allowed[1] : "");
		assert_string_equal(all, rows[i].is_allowed);
	}
}

/* Who may change something with a person's cookie. */
static void
test_trusted(void **)
{
	static const struct {
		const char *base, *allowed, *origin, *site, *host;
		bool want;
	} rows[] = {
	    /* our own page */
	    {"https://a.example", "", "https://a.example", "", "x:8080", true},
	    {"https://a.example/r", "", "HTTPS://A.EXAMPLE", "", "x", true},
	    {"", "", "http://127.0.0.1:8080", "", "127.0.0.1:8080", true},
	    {"", "", "https://a.example", "", "a.example", true},
	    {"", "", "http://[::1]:8080", "", "[::1]:8080", true},
	    {"https://a.example", "", "http://10.0.0.1", "", "10.0.0.1", true},
	    /* the browser says so */
	    {"", "", "", "same-origin", "a.example", true},
	    {"", "", "null", "same-origin", "a.example", true},
	    /* the one other */
	    {"https://a.example", "https://b.example", "https://b.example",
		"cross-site", "a.example", true},
	    {"https://a.example", "https://c.example,https://b.example",
		"https://b.example", "cross-site", "a.example", true},
	    /* all others */
	    {"", "", "", "", "a.example", false},
	    {"https://a.example", "", "", "", "a.example", false},
	    {"", "", "", "same-site", "a.example", false},
	    {"", "", "", "cross-site", "a.example", false},
	    {"", "", "", "none", "a.example", false},
	    {"", "", "", "Same-Origin", "a.example", false},
	    {"", "", "null", "", "a.example", false},
	    {"", "", "null", "", "null", false},
	    {"", "", "https://evil.example", "", "a.example", false},
	    {"", "", "https://a.example.evil", "", "a.example", false},
	    {"", "", "https://evil.a.example", "", "a.example", false},
	    {"", "", "https://a.example:8443", "", "a.example", false},
	    {"", "", "ftp://a.example", "", "a.example", false},
	    {"", "", "a.example", "", "a.example", false},
	    {"", "", "https://", "", "", false},
	    {"", "", "http://", "", "", false},
	    {"https://a.example", "", "http://a.example", "", "x", false},
	    {"", "https://b.example", "http://b.example", "", "x", false},
	    {"", "https://b.example", "https://b.example:444", "", "x", false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct origins o = made(rows[i].base, rows[i].allowed);

		if (origin_trusted(&o, str_of(rows[i].origin),
			str_of(rows[i].site),
			str_of(rows[i].host)) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

static const char *
value(const struct req *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (strcmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return NULL;
}

/* Who may read an answer. */
static void
test_cors(void **)
{
	static const struct {
		const char *allowed, *origin, *method;
		bool vary, may, preflight;
	} rows[] = {
	    {"", "", "", false, false, false},
	    {"", "https://b.example", "", false, false, false},
	    {"", "https://b.example", "PUT", false, false, false},
	    {"https://b.example", "", "", true, false, false},
	    {"https://b.example", "https://b.example", "", true, true, false},
	    {"https://b.example", "https://b.example", "PUT", true, true, true},
	    {"https://c.example,https://b.example", "https://b.example", "",
		true, true, false},
	    {"https://b.example", "https://evil.example", "PUT", true, false,
		false},
	    {"https://b.example", "null", "", true, false, false},
	    {"https://b.example", "https://b.example.evil", "", true, false,
		false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct origins o = made("https://a.example", rows[i].allowed);
		struct req r = {0};

		origin_answer(
		    &o, &r, str_of(rows[i].origin), str_of(rows[i].method));
		if (!value(&r, "Vary") == rows[i].vary ||
		    !value(&r, "Access-Control-Allow-Origin") == rows[i].may ||
		    !value(&r, "Access-Control-Allow-Methods") ==
			rows[i].preflight ||
		    !value(&r, "Access-Control-Expose-Headers") ==
			(rows[i].may && !rows[i].preflight))
			fail_msg("row %zu", i);
		if (rows[i].may)
			assert_string_equal(
			    value(&r, "Access-Control-Allow-Origin"),
			    "https://b.example");
	}
}

/* Where a login may end: the text begins with an origin of ours, to its end. */
static void
test_leads(void **)
{
	static const struct {
		const char *address, *origin;
	} rows[] = {
	    {"https://a.example", "https://a.example"},
	    {"https://b.example/", "https://b.example"},
	    {"https://b.example/x?y#z", "https://b.example"},
	    {"HTTPS://B.example/x", "https://b.example"},
	    {"http://c.example:81/x", "http://c.example:81"},
	    {"", ""},
	    {"/x", ""},
	    {"//b.example/x", ""},
	    {"http://b.example/", ""},
	    {"https://b.example.evil/", ""},
	    {"https://b.example@evil.example/", ""},
	    {"https://b.example:443/", ""},
	    {"https://b.example?x", ""},
	    {"https://b.example\\@evil.example/", ""},
	    {"https://evil.example/https://b.example/", ""},
	    {"http://c.example/", ""},
	    {"http://c.example:811/", ""},
	    {" https://b.example/", ""},
	    {"javascript:https://b.example/", ""},
	};
	struct origins o = made(
	    "https://a.example/r", "https://b.example,http://c.example:81");

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (origin_leads(&o, str_of(rows[i].address)) !=
		    strlen(rows[i].origin))
			fail_msg("row %zu", i);
	o = made("", "");
	assert_int_equal(origin_leads(&o, STR("https://a.example/")), 0);
	assert_int_equal(origin_leads(&o, STR("/a")), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_settings),
	    cmocka_unit_test(test_trusted),
	    cmocka_unit_test(test_cors),
	    cmocka_unit_test(test_leads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
