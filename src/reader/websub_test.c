#include "reader/websub.h"

#include "base/test.h"
#include "reader/limits.h"

static const struct {
	const char *head, *hub, *self;
} LINKS[] = {
    {"HTTP/1.1 200 OK\r\nLink: <https://h/>; rel=\"hub\"\r\n"
     "link: <https://f/x>; rel=self\r\n",
	"https://h/", "https://f/x"},
    {"Link: <https://h/a,b>; rel=hub, </x>; title=\"a, b; c\"; rel=\"SELF\"\n",
	"https://h/a,b", "/x"},
    {"Link: <https://h/>; rel=\"alternate hub self\"\n", "https://h/",
	"https://h/"},
    {"Link: <https://a/>; rel=hub, <https://b/>; rel=hub\n", "https://a/",
	NULL},
    {"Link: <https://a/>; rel=\"\\\"hub\", <https://b/>; rel=hub\n",
	"https://b/", NULL},
    {"Link: junk, <https://b/>; rel=hub\n", "https://b/", NULL},
    {"Link: <https://a/>; rel=github\n", NULL, NULL},
    {"Link: <https://a/\n", NULL, NULL},
    {"Link: <>; rel=hub\n", NULL, NULL},
    {"Link: <https://a/>; title=\"rel=hub", NULL, NULL},
    {"X-Link: <https://a/>; rel=hub\n", NULL, NULL},
    {"", NULL, NULL},
};

static bool
is(struct str got, const char *want)
{
	return want ? got.p && str_eq(got, str_of(want)) : !got.p;
}

static void
test_links(void **)
{
	for (size_t i = 0; i < COUNT_OF(LINKS); i++) {
		struct str hub, self;

		websub_links(str_of(LINKS[i].head), &hub, &self);
		if (!is(hub, LINKS[i].hub) || !is(self, LINKS[i].self))
			fail_msg("row %zu: %.*s, %.*s", i, STR_ARG(hub),
			    STR_ARG(self));
	}
}

/* By openssl dgst -HASH -hmac secret, of "The quick brown fox". */
#define SHA1 "29a75354f7ea8fd380543c2a88b8d07d6019f64a"
#define SHA256                                                                 \
	"7a284e5025f32a846fa3e6957d10278eb5726dd4e0b04c8e0259defcd2cd0eb1"
#define SHA384                                                                 \
	"c2b0297fed38c107c77c4d6a0aa89a51868170a575cbf697a15b5796de8b0eef"     \
	"7362022313e391cc852657d205aeb6ca"
#define SHA512                                                                 \
	"7d665e6239c574929a745a3724f08d687c3163420096de827da59826773f8cfb"     \
	"de583899808f36ca521053532019e4f2d6eca5019ab059ac47cf6a0b0c68b53f"

static const struct {
	const char *header;
	bool good;
} SIGNED[] = {
    {"sha1=" SHA1, true},
    {"sha256=" SHA256, true},
    {"sha384=" SHA384, true},
    {"sha512=" SHA512, true},
    {" sha256=" SHA256 " ", true},
    {"sha1=" SHA256, false},
    {"sha256=" SHA1, false},
    {"sha512=" SHA512 "00", false},
    {"sha256=" SHA256 "0", false},
    {"md5=" SHA1, false},
    {"=" SHA256, false},
    {SHA256, false},
    {"sha256=", false},
    {"sha256=zz", false},
    {"", false},
    {"sha256=00000000000000000000000000000000"
     "00000000000000000000000000000000",
	false},
};

static void
test_signed(void **)
{
	struct str body = STR("The quick brown fox"), secret = STR("secret");

	for (size_t i = 0; i < COUNT_OF(SIGNED); i++) {
		struct str h = str_of(SIGNED[i].header);

		if (websub_signed(h, secret, body) != SIGNED[i].good)
			fail_msg("row %zu: %s", i, SIGNED[i].header);
		assert_false(websub_signed(h, STR("other"), body));
		assert_false(websub_signed(h, STR(""), body));
		assert_false(websub_signed(h, secret, STR("The quick")));
	}
}

#define T "https://f/x"

static const struct {
	const char *state, *mode, *topic, *challenge;
	enum websub_answer answer;
} CALLS[] = {
    {"asked", "subscribe", T, "c", WEBSUB_SUBSCRIBED},
    {"verified", "subscribe", T, "c", WEBSUB_SUBSCRIBED},
    {"failed", "subscribe", T, "c", WEBSUB_SUBSCRIBED},
    {"new", "subscribe", T, "c", WEBSUB_NO},
    {"denied", "subscribe", T, "c", WEBSUB_NO},
    {"leaving", "subscribe", T, "c", WEBSUB_NO},
    {"asked", "subscribe", "https://f/y", "c", WEBSUB_NO},
    {"asked", "subscribe", "", "c", WEBSUB_NO},
    {"asked", "subscribe", T, "", WEBSUB_NO},
    {"leaving", "unsubscribe", T, "c", WEBSUB_LEFT},
    {"leaving", "unsubscribe", T "/", "c", WEBSUB_NO},
    {"asked", "unsubscribe", T, "c", WEBSUB_NO},
    {"verified", "unsubscribe", T, "c", WEBSUB_NO},
    {"asked", "denied", T, "", WEBSUB_DENIED},
    {"verified", "denied", T, "", WEBSUB_DENIED},
    {"leaving", "denied", T, "", WEBSUB_NO},
    {"new", "denied", T, "", WEBSUB_NO},
    {"asked", "", T, "c", WEBSUB_NO},
    {"asked", "publish", T, "c", WEBSUB_NO},
};

static void
test_called(void **)
{
	for (size_t i = 0; i < COUNT_OF(CALLS); i++) {
		struct websub_call c = {.mode = str_of(CALLS[i].mode),
		    .topic = str_of(CALLS[i].topic),
		    .challenge = str_of(CALLS[i].challenge),
		    .lease = STR_EMPTY};

		if (websub_called(str_of(CALLS[i].state), STR(T), &c) !=
		    CALLS[i].answer)
			fail_msg("row %zu", i);
	}
	assert_true(websub_sends(STR("asked")));
	assert_true(websub_sends(STR("verified")));
	assert_true(websub_sends(STR("failed")));
	assert_false(websub_sends(STR("new")));
	assert_false(websub_sends(STR("denied")));
	assert_false(websub_sends(STR("leaving")));
}

static void
test_times(void **)
{
	static const int64_t MINUTES[] = {30, 30, 60, 120, 240, 480, 720, 720};

	for (size_t i = 0; i < COUNT_OF(MINUTES); i++)
		assert_int_equal(websub_pause_min((int64_t)i), MINUTES[i]);
	assert_int_equal(websub_pause_min(INT64_MAX), 720);
	assert_int_equal(websub_lease_s(STR("3600")), 3600);
	assert_int_equal(websub_lease_s(STR("1")), HUB_LEASE_LEAST_S);
	assert_int_equal(websub_lease_s(STR("999999999999")), HUB_LEASE_MOST_S);
	assert_int_equal(websub_lease_s(STR("")), HUB_LEASE_S);
	assert_int_equal(websub_lease_s(STR("-5")), HUB_LEASE_S);
	assert_int_equal(websub_lease_s(STR("soon")), HUB_LEASE_S);
}

static void
test_same(void **)
{
	assert_true(websub_same(
	    STR("http://A.example:80/x"), STR("http://a.example/x")));
	assert_true(websub_same(STR("http://a/x?y"), STR("http://a/x?y")));
	assert_false(websub_same(STR("http://a/x"), STR("http://a/y")));
	assert_false(websub_same(STR("http://a/x"), STR("https://a/x")));
	assert_false(websub_same(STR("urn:x"), STR("http://a/")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_links),
	    cmocka_unit_test(test_signed),
	    cmocka_unit_test(test_called),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
