#include "base/put.h"

#include "base/test.h"

static void
commas_are_where_they_belong(void **)
{
	const struct str texts[] = {STR("a\"b"), STR("c")};
	const struct uuid ids[] = {{{1}}, {{2}}};
	struct buf b = BUF(4096);

	put_open(&b, NULL, '{');
	put_int(&b, "n", -5);
	put_some(&b, "none", 0);
	put_bool(&b, "yes", true);
	put_open(&b, "o", '{');
	put_close(&b, '}');
	put_z(&b, "z", "{[");
	put_z(&b, "no", NULL);
	put_open(&b, "list", '[');
	put_null(&b, NULL);
	put_open(&b, NULL, '{');
	put_time(&b, "at", 1000);
	put_time(&b, "never", 0);
	put_close(&b, '}');
	put_int(&b, NULL, 7);
	put_close(&b, ']');
	put_texts(&b, "texts", texts, 2);
	put_texts(&b, "nobody", NULL, 0);
	put_uuids(&b, "ids", ids, 2);
	put_raw(&b, "raw", STR("[1]"));
	put_close(&b, '}');
	assert_str(buf_str(&b),
	    "{\"n\":-5,\"none\":null,\"yes\":true,\"o\":{},\"z\":\"{[\","
	    "\"no\":null,\"list\":[null,{\"at\":\"1970-01-01T00:00:00.001Z\","
	    "\"never\":null},7],\"texts\":[\"a\\\"b\",\"c\"],\"nobody\":null,"
	    "\"ids\":[\"01000000-0000-0000-0000-000000000000\","
	    "\"02000000-0000-0000-0000-000000000000\"],\"raw\":[1]}");
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commas_are_where_they_belong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
