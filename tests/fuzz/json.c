/* Whatever parses: spans nest and parse alone to an equal tree, pointers find
 * their value. Whatever does not: the error has a place. */
#include "base/base.h"

#define POINTERS_MAX 200 /* each is a walk from the root */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
equal(const struct json *a, const struct json *b)
{
	assert(a->type == b->type && a->n == b->n);
	assert(str_eq(a->raw, b->raw) && str_eq(a->text, b->text));
	a = a->child;
	b = b->child;
	for (; a && b; a = a->next, b = b->next) {
		assert(str_eq(a->key, b->key));
		equal(a, b);
	}
	assert(!a && !b);
}

static void
alone(struct arena *scratch, const struct json *j)
{
	struct json *again = NULL;
	const char *at = j->raw.p;
	size_t count = 0;
	struct err e;

	arena_reset(scratch);
	if (json_parse(scratch, j->raw, &again, &e) < 0)
		abort();
	equal(j, again);
	for (const struct json *c = j->child; c; c = c->next, count++) {
		assert(c->raw.p > at);
		at = c->raw.p + c->raw.n;
		assert(at < j->raw.p + j->raw.n);
		alone(scratch, c);
	}
	assert(count == j->n);
	assert(str_utf8_bad(j->text) == j->text.n);
}

static void
pointers(
    const struct json *root, const struct json *j, struct buf *at, size_t *left)
{
	size_t index = 0, before = at->n;

	assert(json_at(root, buf_str(at)) == j);
	for (const struct json *c = j->child; c && *left > 0; c = c->next) {
		(*left)--;
		buf_addc(at, '/');
		if (j->type == JSON_ARRAY)
			buf_int(at, (int64_t)index++);
		for (size_t i = 0; i < c->key.n; i++) {
			char k = c->key.p[i];

			if (k == '~' || k == '/')
				buf_addc(at, '~');
			buf_addc(at, k == '~' ? '0' : k == '/' ? '1' : k);
		}
		assert(!at->failed);
		pointers(root, c, at, left);
		at->n = before;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a = arena_new(16 * MIB), *scratch = arena_new(16 * MIB);
	struct str text = {(const char *)data, n};
	struct buf at = BUF(4 * MIB);
	struct json *root = NULL;
	size_t left = POINTERS_MAX;
	struct err e = {0};
	int rc = json_parse(a, text, &root, &e);

	if (rc < 0) {
		assert(!root);
		assert(rc == ERR_LIMIT || strstr(e.text, " at byte "));
	} else {
		assert(str_eq(root->raw, str_trim(text)));
		alone(scratch, root);
		pointers(root, root, &at, &left);
	}
	(void)json_at(root, text);
	buf_done(&at);
	arena_free(scratch);
	arena_free(a);
	return 0;
}
