#include "doc/favicon.h"

#include "base/test.h"

static const struct {
	struct str bytes;
	const char *mime;
} ROWS[] = {
    {{"\x89PNG\r\n\x1a\n....", 12}, "image/png"},
    {{"GIF89a..", 8}, "image/gif"},
    {{"\xff\xd8\xff\xe0", 4}, "image/jpeg"},
    {{"RIFF\1\2\3\4WEBPVP8 ", 16}, "image/webp"},
    {{"RIFF\1\2\3\4WAVEfmt ", 16}, NULL},
    {{"\0\0\1\0\1\0", 6}, "image/x-icon"},
    {STR("<svg xmlns=\"x\"/>"), "image/svg+xml"},
    {STR("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- a --><svg>"),
	"image/svg+xml"},
    {STR("<svgx>"), NULL},
    {STR("<html><svg></svg>"), NULL},
    {STR("<!DOCTYPE html><html><body><svg>"), NULL},
    {STR("plain text"), NULL},
    {STR(""), NULL},
    {STR("<"), NULL},
};

static void
test_table(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const char *got = favicon_mime(ROWS[i].bytes);

		if (!got != !ROWS[i].mime ||
		    (got && strcmp(got, ROWS[i].mime) != 0))
			fail_msg("row %zu: %s", i, got ? got : "none");
		assert_ptr_equal(favicon_find(str_of(got)), got);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
