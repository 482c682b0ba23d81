/* Whatever is taken for plain is also let through by the scanner, and runs
 * over documents of all shapes to one of three verdicts. */

#include "match/jq/jq_scan.h"
#include "match/jq/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const DOCS[] = {
    "null",
    "3",
    "{}",
    "{\"a\":1,\"b\":\"x\"}",
    "{\"a\":{\"b\":[],\"a\":null},\"type\":\"x\"}",
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str program = {(const char *)data, n};
	struct arena *a = arena_new(MIB);
	struct plain *p = plain_parse(program);
	struct err e = {.text = ""};
	int rc = jq_scan(program, &e);

	assert(rc == OK || e.text[0] != '\0');
	assert(!p || rc == OK);
	for (size_t i = 0; i < COUNT_OF(DOCS) && p; i++) {
		struct json *doc = NULL;
		enum jq_verdict v;

		if (json_parse(a, str_of(DOCS[i]), &doc, &e) < 0)
			abort();
		v = plain_run(p, doc);
		assert(v == JQ_TRUE || v == JQ_FALSE || v == JQ_ERROR);
		assert(v == plain_run(p, doc));
	}
	free(p);
	arena_free(a);
	return 0;
}
