#include "sink/http/told.h"

#include "base/test.h"
#include "contract/request.h"
#include "deliver/engine/detail.h"
#include "http/client/client.h"

static const struct {
	const char *in, *out;
} ROWS[] = {
    {"", ""},
    {"nothing of it", "nothing of it"},
    {"got Bearer tok-1234!", "got ********!"},
    {"tok-1234", "********"},
    {"tok-1234tok-1234 tok-123", "**************** tok-123"},
    {"X-Plain: seen", "X-Plain: seen"},
    {"key=k-9876, pass=open sesame", "key=********, pass=********"},
    {"a short one: abc", "a short one: abc"},
};

static void
test_rows(void **)
{
	struct request_header headers[] = {
	    {STR("Authorization"), STR("Bearer tok-1234"), true},
	    {STR("X-Plain"), STR("seen"), false},
	    {STR("X-Key"), STR("k-9876"), true},
	    {STR("X-Short"), STR("abc"), true},
	};
	struct request r = {.headers = headers, .n = COUNT_OF(headers)};
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str got =
		    told_hidden(a, &r, STR("open sesame"), str_of(ROWS[i].in));

		if (!str_eq(got, str_of(ROWS[i].out)))
			fail_msg("%s: %.*s", ROWS[i].in, STR_ARG(got));
	}
	arena_free(a);
}

/* However long it is, within what is read of an answer. */
static void
test_long(void **)
{
	struct request_header h = {STR("X-Key"), STR("k-9876"), true};
	struct request r = {.headers = &h, .n = 1};
	struct arena *a = arena_new(64 * KIB);
	static char text[128 * KIB];
	struct str got;

	memset(text, 'x', sizeof(text));
	memcpy(text + 100, "k-9876", 6);
	got = told_hidden(a, &r, STR_EMPTY, (struct str){text, sizeof(text)});
	assert_int_equal(got.n, sizeof(text) - 6 + 8);
	assert_null(memmem(got.p, got.n, "k-9876", 6));
	arena_free(a);
}

/* Of what a server answers its cookies are not kept. */
static void
test_cookies(void **)
{
	struct client_answer answer = {
	    .head =
		STR("HTTP/1.1 500 No\r\nset-cookie: sid=hush; Path=/\r\n"
		    "X-A: b\r\nSeT-cOoKiE:hush\r\nX-Cookie-Name: c\r\n\r\n"),
	    .body = STR_EMPTY};
	struct request r = {
	    .url = STR("https://h/x?token=hush"), .method = STR("POST")};
	struct arena *a = arena_new(MIB);
	struct flush_detail *d = told_detail(a, &r, &answer, "");

	assert_non_null(d);
	assert_null(memmem(d->text, d->n, "hush", 4));
	assert_non_null(memmem(d->text, d->n, "X-A: b", 6));
	assert_non_null(memmem(d->text, d->n, "X-Cookie-Name: c", 16));
	assert_non_null(memmem(d->text, d->n, "set-cookie: ********", 20));
	free(d);
	/* Nobody answered: there is no head. */
	d = told_detail(a, &r, &(struct client_answer){.head = {0}}, "no");
	assert_non_null(d);
	free(d);
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_long),
	    cmocka_unit_test(test_cookies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
