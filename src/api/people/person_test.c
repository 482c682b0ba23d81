#include "api/people/person.h"

#include "base/test.h"
#include "http/server/reply.h"

static void
test_shapes(void **)
{
	static const struct uuid NIL = {{0}};
	static const struct {
		enum err_code code;
		const char *at, *word, *name;
		int was, want;
		bool hidden;
		const char *text;
		const struct uuid *feed;
	} rows[] = {
	    {ERR_INVALID, "/url", NULL, "INVALID_FIELD", 422, 400, false,
		"{\"code\":\"INVALID_FIELD\",\"message\":\"bad\","
		"\"category\":\"validation\",\"action\":\"Correct the fields "
		"that are named and try again.\",\"fields\":[{\"field\":"
		"\"url\",\"message\":\"bad\"}]}"},
	    {ERR_CONFLICT, "", "NOT_STOPPED", "CONFLICT", 409, 409, false,
		"{\"code\":\"NOT_STOPPED\",\"message\":\"bad\","
		"\"category\":\"feed\",\"action\":\"Nothing to do: this feed "
		"is being fetched.\"}"},
	    {ERR_STORE, "/x", NULL, "INTERNAL", 500, 500, true,
		"{\"code\":\"INTERNAL\",\"message\":\"Something went wrong on "
		"our side.\",\"category\":\"system\",\"action\":\"Try again; "
		"if it goes on, tell the operator the request id.\"}"},
	    {ERR_CONFLICT, "", "NOT_STOPPED", "CONFLICT", 409, 409, false,
		"{\"code\":\"NOT_STOPPED\",\"message\":\"bad\","
		"\"category\":\"feed\",\"action\":\"Nothing to do: this feed "
		"is being fetched.\",\"feed_id\":"
		"\"00000000-0000-0000-0000-000000000000\"}",
		&NIL},
	    {ERR_INVALID, "", "ODD", "INVALID_FIELD", 422, 422, false,
		"{\"code\":\"ODD\",\"message\":\"bad\",\"category\":"
		"\"validation\",\"action\":\"Correct the request.\"}"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf b = BUF(1024);
		struct http_error x = {.status = rows[i].was,
		    .name = rows[i].name,
		    .hidden = rows[i].hidden,
		    .feed = rows[i].feed};

		(void)err_at(&x.e, rows[i].code, rows[i].at, "bad");
		(void)err_word(&x.e, rows[i].word);
		assert_int_equal(person_error(&b, &x), rows[i].want);
		assert_true(str_eq(buf_str(&b), str_of(rows[i].text)));
		buf_done(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
