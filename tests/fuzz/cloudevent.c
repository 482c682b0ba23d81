/* What begins with a brace or bracket is a CloudEvent as JSON; else lines of
 * headers "name: value", an empty line and the data. Whatever is taken makes
 * JSON that envelope_parse() can read or refuse, and the same bytes again.
 * Whatever is refused: in words that can be shown. */
#include "event/cloud/cloudevent.h"

#include "event/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HEADERS_MAX 64

static void
shown(const struct err *e)
{
	assert(e->text[0]);
	assert(str_utf8_bad(str_of(e->at)) == strlen(e->at));
	assert(str_utf8_bad(str_of(e->text)) == strlen(e->text));
}

static int
map(struct arena *a, struct str in, bool binary, struct str tenant,
    struct str *ret, struct err *e)
{
	struct str_pair h[HEADERS_MAX];
	struct json *tree = NULL;
	size_t n = 0;
	int rc;

	if (!binary) {
		rc = json_parse(a, in, &tree, e);
		return rc < 0 ? rc
			      : cloudevent_structured(a, tree, tenant, ret, e);
	}
	while (in.n > 0 && n < HEADERS_MAX) {
		struct str line = str_cut(&in, '\n');

		if (line.n == 0)
			break;
		h[n].name = str_cut(&line, ':');
		h[n++].value = str_trim(line);
	}
	return cloudevent_binary(a, h, n, in, tenant, ret, e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct str tenant = STR("acme");
	const struct envelope_opts o = {.now_us = 1768048496789000};
	struct arena *a = arena_new(64 * MIB);
	struct str in = {(const char *)data, n}, text, again;
	bool binary = n > 0 && data[0] != '{' && data[0] != '[';
	struct event ev = {0};
	struct json *tree = NULL;
	struct err e = {0};

	if (map(a, in, binary, tenant, &text, &e) < 0) {
		shown(&e);
		arena_free(a);
		return 0;
	}
	if (map(a, in, binary, tenant, &again, &e) < 0 || !str_eq(text, again))
		abort();
	if (json_parse(a, text, &tree, &e) < 0)
		assert(e.code == ERR_SYNTAX || e.code == ERR_LIMIT);
	if (envelope_parse(a, text, &o, &ev, &e) < 0) {
		cloudevent_blame(&e, binary);
		shown(&e);
	}
	arena_free(a);
	return 0;
}
