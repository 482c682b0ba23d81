/* A line that is a schema, a line that is another, and a document. What is taken
 * can be checked with and compared, in bounded time, and tells its faults in
 * words that can be shown; a schema allows what it allows. */
#include "event/type/jschema.h"

#include "event/limits.h"
#include "event/type/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct jschema *
compile(struct arena *a, struct str text)
{
	struct jschema *s = NULL;
	struct json *j = NULL;
	struct err e = {0};

	if (json_parse(a, text, &j, &e) < 0)
		return NULL;
	if (jschema_compile(a, j, "/schema", &s, &e) < 0) {
		assert(e.code == ERR_INVALID && e.text[0]);
		assert(str_utf8_bad(str_of(e.at)) == strlen(e.at));
		return NULL;
	}
	return s;
}

static void
shown(const struct faults *f)
{
	size_t n = 0;

	for (const struct fault *x = f->first; x; x = x->next, n++) {
		assert(str_utf8_bad(x->at) == x->at.n && x->text.n > 0);
		assert(str_utf8_bad(x->text) == x->text.n);
	}
	assert(n == f->n && n <= FAULTS_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a = arena_new(64 * MIB);
	struct str rest = {(const char *)data, n};
	struct str first = str_cut(&rest, '\n'), second = str_cut(&rest, '\n');
	struct jschema *old = compile(a, first), *new = compile(a, second);
	struct faults f = {.arena = a}, g = {.arena = a}, h = {.arena = a};
	struct json *doc = NULL;
	struct err e = {0};

	if (old && new)
		jschema_compare(old, new, &f);
	if (json_parse(a, rest, &doc, &e) == OK) {
		if (old)
			jschema_check(old, doc, "/payload", &g);
		if (new)
			jschema_check(new, doc, "/payload", &h);
		/* What the new one allows the old one does, if they say so. */
		if (old && new &&f.n == 0 && h.n == 0)
			assert(g.n == 0);
	}
	shown(&f);
	shown(&g);
	shown(&h);
	arena_free(a);
	return 0;
}
