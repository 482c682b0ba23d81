#include "http/server/gzip.h"

#include <zlib.h>

#include "base/test.h"

static void
test_accepted(void **)
{
	static const struct {
		const char *header;
		bool yes;
	} T[] = {
	    {"", false},
	    {"gzip", true},
	    {"GZip", true},
	    {"x-gzip", true},
	    {"br, gzip", true},
	    {"br", false},
	    {"gzip;q=1.0", true},
	    {"gzip ; q=0.001", true},
	    {"gzip;q=0", false},
	    {"gzip;Q=0.000", false},
	    {"*", true},
	    {"*;q=0", false},
	    {"*, gzip;q=0", false},
	    {"*;q=0, gzip", true},
	    {"gzipped", false},
	    {",,;,=,gzip", true},
	    {"gzip;q", true},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++)
		if (gzip_accepted(str_of(T[i].header)) != T[i].yes)
			fail_msg("%s", T[i].header);
}

/* Twice on one thread: the compressor is kept and starts afresh. */
static void
test_round_trip(void **)
{
	static char text[100000], back[100000];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "{\"key\":\"value\"},"[i % 16];
	for (size_t n = 2000; n <= sizeof(text); n += 49000) {
		struct buf b = BUF(MIB);
		z_stream z = {.next_out = (Bytef *)back, .avail_out = 100000};

		assert_true(gzip_add(&b, (struct str){text, n}));
		assert_true(b.n < n / 4);
		z.next_in = (Bytef *)b.p;
		z.avail_in = (uInt)b.n;
		assert_int_equal(inflateInit2(&z, 31), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		(void)inflateEnd(&z);
		assert_int_equal(z.total_out, n);
		assert_memory_equal(text, back, n);
		buf_done(&b);
	}
}

static void
test_no_smaller(void **)
{
	struct buf b = BUF(MIB);
	char noise[2000];

	rand_bytes(noise, sizeof(noise));
	assert_false(gzip_add(&b, (struct str){noise, sizeof(noise)}));
	assert_int_equal(b.n, 0);
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_accepted),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_no_smaller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
