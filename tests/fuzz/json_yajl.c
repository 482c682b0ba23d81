/* Our tokenizer against yajl's: what one takes the other takes, with the same
 * values in the same order. Apart from what json.h refuses and yajl does not. */
#include <yajl/yajl_parse.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Stricter than yajl, and why: json.h. */
static const char *const OURS[] = {"duplicate key", "half of a surrogate pair",
    "nested too deeply", "too many values",
    /* which yajl lets pass when it is the beginning of a token */
    "text after the end of the document"};

/* Where yajl has come to in our tree; NULL: we took nothing. */
struct walk {
	const struct json *next;
	const struct json *open[JSON_DEPTH_MAX + 1];
	size_t depth;
};

static int
meet(struct walk *w, enum json_type type, struct str text)
{
	const struct json *j = w->next;

	assert(j && j->type == type);
	assert(type != JSON_STRING || str_eq(j->text, text));
	assert(type != JSON_NUMBER || str_eq(j->raw, text));
	if (type == JSON_OBJECT || type == JSON_ARRAY) {
		w->open[w->depth++] = j;
		w->next = j->child;
	} else {
		w->next = j->next;
	}
	return 1;
}

static int
on_null(void *ctx)
{
	return meet(ctx, JSON_NULL, STR_EMPTY);
}

static int
on_bool(void *ctx, int v)
{
	return meet(ctx, v ? JSON_TRUE : JSON_FALSE, STR_EMPTY);
}

static int
on_number(void *ctx, const char *s, size_t n)
{
	return meet(ctx, JSON_NUMBER, (struct str){s, n});
}

static int
on_string(void *ctx, const unsigned char *s, size_t n)
{
	return meet(ctx, JSON_STRING, (struct str){(const char *)s, n});
}

static int
on_map(void *ctx)
{
	return meet(ctx, JSON_OBJECT, STR_EMPTY);
}

static int
on_key(void *ctx, const unsigned char *s, size_t n)
{
	struct walk *w = ctx;

	assert(w->next);
	assert(str_eq(w->next->key, (struct str){(const char *)s, n}));
	return 1;
}

static int
on_array(void *ctx)
{
	return meet(ctx, JSON_ARRAY, STR_EMPTY);
}

static int
on_end(void *ctx)
{
	struct walk *w = ctx;

	assert(!w->next && w->depth > 0);
	w->next = w->open[--w->depth]->next;
	return 1;
}

static const yajl_callbacks CALLBACKS = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_end,
};

static bool
yajl_takes(struct str text, struct walk *w)
{
	yajl_handle y = yajl_alloc(w ? &CALLBACKS : NULL, NULL, w);
	bool ok = yajl_parse(y, (const unsigned char *)text.p, text.n) ==
		      yajl_status_ok &&
		  yajl_complete_parse(y) == yajl_status_ok;

	yajl_free(y);
	return ok;
}

static bool
only_ours(struct str text, const struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(OURS); i++)
		if (str_starts(str_of(e->text), str_of(OURS[i])))
			return true;
	/* yajl: blanks, sequences that are too long, a mark it skips. */
	return str_has(text, '\f') || str_has(text, '\v') ||
	       str_utf8_bad(text) < text.n ||
	       str_starts(text, STR("\xef\xbb\xbf"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena *a = arena_new(16 * MIB);
	struct str text = {(const char *)data, n};
	struct json *root = NULL;
	struct walk w = {0};
	struct err e = {0};
	int rc = json_parse(a, text, &root, &e);

	w.next = root;
	if (rc == OK)
		assert(yajl_takes(text, &w) && !w.next && w.depth == 0);
	else if (rc != ERR_LIMIT && !only_ours(text, &e))
		assert(!yajl_takes(text, NULL));
	arena_free(a);
	return 0;
}
