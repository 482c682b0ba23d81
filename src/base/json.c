#include "base/json.h"

#include <assert.h>
#include <setjmp.h>
#include <yajl/yajl_parse.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/uuid.h"

/* Objects up to this many members are compared each with each. */
#define FEW_KEYS ((size_t)16)

struct parser {
	struct arena *arena;
	struct arena *scratch; /* json_each: what an element is made of */
	int (*each)(void *ctx, struct json *element, struct err *e);
	void *ctx;
	struct str text;
	yajl_handle yajl;
	size_t at;  /* end of the last token that became something */
	bool ended; /* yajl has all of the text; a number may be left */
	size_t depth, nodes;
	struct json *open[JSON_DEPTH_MAX];
	struct json **tail[JSON_DEPTH_MAX + 1]; /* where the next one goes */
	struct str key;
	struct json *root;
	bool keyed;
	uint64_t secret[2];
	jmp_buf nomem;
	struct err *e;
	int rc;
};

/* What a failed parse says; the culprit is counted from 0, lines from 1. */
static int
refuse_code(struct parser *p, enum err_code code, size_t at, const char *what)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < at; i++) {
		unsigned char c = (unsigned char)p->text.p[i];

		if (c == '\n') {
			line++;
			column = 1;
		} else if ((c & 0xc0) != 0x80) {
			column++;
		}
	}
	p->rc = err_set(p->e, code, "%s at byte %zu (line %zu, column %zu)",
	    what, at, line, column);
	return 0; /* yajl: stop */
}

static int
refuse(struct parser *p, size_t at, const char *what)
{
	return refuse_code(p, ERR_SYNTAX, at, what);
}

static void *
grab_from(struct parser *p, struct arena *a, size_t n)
{
	void *ret = arena_raw(a, n);

	if (!ret)
		longjmp(p->nomem, 1);
	return ret;
}

static void *
grab(struct parser *p, size_t n)
{
	return grab_from(p, p->each && p->depth > 0 ? p->scratch : p->arena, n);
}

/* yajl's memory: the size stands in front, since realloc must know it. */
union block {
	size_t n;
	max_align_t align;
};

static void *
yajl_take(void *ctx, size_t n)
{
	union block *b;

	if (n > SIZE_MAX - sizeof(*b))
		longjmp(((struct parser *)ctx)->nomem, 1);
	b = grab_from(ctx, ((struct parser *)ctx)->arena, sizeof(*b) + n);
	b->n = n;
	return b + 1;
}

static void *
yajl_retake(void *ctx, void *old, size_t n)
{
	size_t had = old ? ((union block *)old - 1)->n : 0;
	void *ret;

	if (old && n <= had)
		return old;
	ret = yajl_take(ctx, n);
	if (old)
		memcpy(ret, old, had);
	return ret;
}

static void
yajl_drop(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

/* Past blanks, and what stands between two values. */
static size_t
skip(struct str s, size_t at, size_t end)
{
	while (at < end &&
	       (s.p[at] == ' ' || s.p[at] == ',' || s.p[at] == ':' ||
		   s.p[at] == '\n' || s.p[at] == '\r' || s.p[at] == '\t'))
		at++;
	return at;
}

/* The token that yajl has just read. */
static bool
token(struct parser *p, struct str *ret)
{
	size_t end = p->ended ? p->text.n : yajl_get_bytes_consumed(p->yajl);
	size_t from = skip(p->text, p->at, end);

	assert(from < end && end <= p->text.n);
	/* yajl takes these two for blanks; JSON does not. */
	if (p->text.p[from] == '\f' || p->text.p[from] == '\v') {
		(void)refuse(p, from, "unexpected character");
		return false;
	}
	*ret = (struct str){p->text.p + from, end - from};
	p->at = end;
	return true;
}

static struct json *
add(struct parser *p, enum json_type type)
{
	struct str raw;
	struct json *j;

	if (!token(p, &raw))
		return NULL;
	if (p->nodes == JSON_NODES_MAX) {
		(void)refuse_code(p, ERR_LIMIT, (size_t)(raw.p - p->text.p),
		    "too many values");
		return NULL;
	}
	p->nodes++;
	j = grab(p, sizeof(*j));
	*j = (struct json){
	    .type = type, .raw = raw, .text = STR_EMPTY, .key = p->key};
	p->key = STR_EMPTY;
	*p->tail[p->depth] = j;
	p->tail[p->depth] = &j->next;
	if (p->depth > 0)
		p->open[p->depth - 1]->n++;
	return j;
}

static unsigned
hex4(const char *s)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		unsigned c = (unsigned char)s[i];

		v = v << 4 | (c <= '9' ? c - '0' : ((c | 0x20) - 'a') + 10);
	}
	return v;
}

/* Half a pair alone has no UTF-8 and yajl would write "?". */
static bool
surrogates_paired(struct parser *p, struct str raw)
{
	for (size_t i = 0; i < raw.n; i++) {
		size_t from = i;
		unsigned hi;

		if (raw.p[i] != '\\' || raw.p[++i] != 'u')
			continue;
		hi = hex4(raw.p + i + 1);
		i += 4;
		if (hi < 0xd800 || hi > 0xdfff)
			continue;
		/* The closing quote ends any string before it is too short. */
		if (hi < 0xdc00 && raw.p[i + 1] == '\\' &&
		    raw.p[i + 2] == 'u' &&
		    (hex4(raw.p + i + 3) & 0xfc00) == 0xdc00) {
			i += 6;
			continue;
		}
		(void)refuse(p, (size_t)(raw.p - p->text.p) + from,
		    "half of a surrogate pair");
		return false;
	}
	return true;
}

/* In the input when it was written without escapes, else copied. */
static bool
decoded(struct parser *p, struct str raw, struct str s, struct str *ret)
{
	char *copy;

	if (raw.n == s.n + 2) {
		*ret = (struct str){raw.p + 1, s.n};
		return true;
	}
	if (!surrogates_paired(p, raw))
		return false;
	copy = grab(p, s.n + 1);
	memcpy(copy, s.p, s.n);
	*ret = (struct str){copy, s.n};
	return true;
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Keyed anew for each document: nobody can prepare keys that collide. */
static uint64_t
hash(struct parser *p, struct str s)
{
	uint64_t h, w;

	if (!p->keyed)
		rand_bytes(p->secret, sizeof(p->secret));
	p->keyed = true;
	h = p->secret[0] ^ s.n;
	for (; s.n >= sizeof(w); s = str_from(s, sizeof(w))) {
		memcpy(&w, s.p, sizeof(w));
		h = mix(h ^ w, p->secret[1] | 1);
	}
	w = 0;
	if (s.n > 0)
		memcpy(&w, s.p, s.n);
	return mix(h ^ w, p->secret[1] | 1);
}

static int
refuse_twice(struct parser *p, const struct json *obj, const struct json *dup)
{
	/* The key begins after the value before; dup is never the first. */
	const struct json *prev = obj->child;
	size_t at;

	while (prev->next != dup)
		prev = prev->next;
	at = (size_t)(prev->raw.p - p->text.p) + prev->raw.n;
	return refuse(p, skip(p->text, at, p->text.n), "duplicate key");
}

static int
check_few(struct parser *p, const struct json *obj)
{
	for (const struct json *j = obj->child; j; j = j->next)
		for (const struct json *k = obj->child; k != j; k = k->next)
			if (str_eq(j->key, k->key))
				return refuse_twice(p, obj, j);
	return 1;
}

static int
check_many(struct parser *p, const struct json *obj)
{
	size_t slots = 4 * FEW_KEYS;
	const struct json **table;

	while (slots < 2 * (size_t)obj->n)
		slots *= 2;
	table = grab(p, slots * sizeof(struct json *));
	memset(table, 0, slots * sizeof(struct json *));
	for (const struct json *j = obj->child; j; j = j->next) {
		size_t i = (size_t)hash(p, j->key) & (slots - 1);

		for (; table[i]; i = (i + 1) & (slots - 1))
			if (str_eq(table[i]->key, j->key))
				return refuse_twice(p, obj, j);
		table[i] = j;
	}
	return 1;
}

/* A value is whole. As an element of json_each() it goes to the caller now,
 * and what it was made of is used again for the next. */
static int
whole(struct parser *p)
{
	struct json *array = p->open[0], *element;

	if (!p->each || p->depth != 1)
		return 1;
	element = array->child;
	array->child = NULL;
	p->tail[1] = &array->child;
	p->nodes = 1;
	p->rc = p->each(p->ctx, element, p->e);
	arena_reset(p->scratch);
	return p->rc == OK;
}

static int
on_null(void *ctx)
{
	return add(ctx, JSON_NULL) && whole(ctx);
}

static int
on_bool(void *ctx, int v)
{
	return add(ctx, v ? JSON_TRUE : JSON_FALSE) && whole(ctx);
}

static int
on_number(void *ctx, const char *s, size_t n)
{
	(void)s;
	(void)n;
	return add(ctx, JSON_NUMBER) && whole(ctx);
}

static int
on_string(void *ctx, const unsigned char *s, size_t n)
{
	struct json *j = add(ctx, JSON_STRING);

	return j &&
	       decoded(
		   ctx, j->raw, (struct str){(const char *)s, n}, &j->text) &&
	       whole(ctx);
}

static int
on_key(void *ctx, const unsigned char *s, size_t n)
{
	struct parser *p = ctx;
	struct str raw;

	return token(p, &raw) &&
	       decoded(p, raw, (struct str){(const char *)s, n}, &p->key);
}

static int
begin(struct parser *p, enum json_type type)
{
	struct json *j = add(p, type);

	if (!j)
		return 0;
	if (p->depth == JSON_DEPTH_MAX)
		return refuse(
		    p, (size_t)(j->raw.p - p->text.p), "nested too deeply");
	p->open[p->depth++] = j;
	p->tail[p->depth] = &j->child;
	return 1;
}

static int
on_map(void *ctx)
{
	return begin(ctx, JSON_OBJECT);
}

static int
on_array(void *ctx)
{
	return begin(ctx, JSON_ARRAY);
}

static int
on_end(void *ctx)
{
	struct parser *p = ctx;
	struct json *j = p->open[--p->depth];
	struct str last;

	if (!token(p, &last))
		return 0;
	j->raw.n = (size_t)(last.p + last.n - j->raw.p);
	if (j->type == JSON_OBJECT &&
	    !(j->n <= FEW_KEYS ? check_few(p, j) : check_many(p, j)))
		return 0;
	return whole(p);
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

/*
 * yajl's words into ours. The place it stops at is behind a character or token
 * that may not stand there, but on one that is wrong inside a token.
 */
static const struct {
	const char *yajl, *ours;
	enum { ON, BEHIND_CHAR, BEHIND_TOKEN } stop;
} WORDS[] = {
    {"invalid char in json", "unexpected character", BEHIND_CHAR},
    {"comment", "unexpected character", ON},
    {"invalid string in json", "unknown word", ON},
    {"before a character which it may not", "unknown escape", ON},
    {"invalid character inside string", "control character in a string", ON},
    {"non-hex", "\\u wants four hexadecimal digits", ON},
    {"after the minus", "a digit must follow the minus sign", ON},
    {"after the decimal", "a digit must follow the decimal point", ON},
    {"after the exponent", "a digit must follow the exponent", ON},
    {"trailing garbage", "text after the end of the document", BEHIND_TOKEN},
    {"invalid object key", "a key in quotes was expected", BEHIND_TOKEN},
    {"by a colon", "a colon was expected after the key", BEHIND_TOKEN},
    {"inside map", "a comma or } was expected", BEHIND_TOKEN},
    {"array element", "a comma or ] was expected", BEHIND_TOKEN},
    {"unallowed token", "unexpected character", BEHIND_TOKEN},
};

static int
refuse_syntax(struct parser *p)
{
	size_t at = yajl_get_bytes_consumed(p->yajl);
	const char *why = (const char *)yajl_get_error(p->yajl, 0, NULL, 0);

	for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
		if (!strstr(why, WORDS[i].yajl))
			continue;
		if (WORDS[i].stop != ON && at > 0)
			at--;
		if (WORDS[i].stop == BEHIND_TOKEN)
			at = skip(p->text, p->at, at);
		return refuse(p, at, WORDS[i].ours);
	}
	return refuse(p, at, "no valid JSON");
}

/* Most text is ASCII: eight bytes at a time until it is not. */
static size_t
utf8_bad(struct str s)
{
	size_t at = 0;
	uint64_t w;

	for (; s.n - at >= sizeof(w); at += sizeof(w)) {
		memcpy(&w, s.p + at, sizeof(w));
		if (w & 0x8080808080808080u)
			break;
	}
	return at + str_utf8_bad(str_from(s, at));
}

static int
check_bytes(struct parser *p)
{
	size_t bad;

	if (str_trim(p->text).n == 0)
		return refuse(p, p->text.n, "the document is empty");
	if (str_starts(p->text, STR("\xef\xbb\xbf")))
		return refuse(p, 0, "a byte order mark is not allowed");
	bad = utf8_bad(p->text);
	if (bad < p->text.n)
		return refuse(p, bad, "no valid UTF-8");
	return 1;
}

/* Everything that may leave by longjmp happens below this frame. */
static void
run(struct parser *p)
{
	yajl_alloc_funcs memory = {yajl_take, yajl_retake, yajl_drop, p};
	yajl_status st;
	size_t end;

	if (setjmp(p->nomem) != 0) {
		p->rc = err_set(
		    p->e, ERR_NOMEM, "the document needs too much memory");
		return;
	}
	p->yajl = yajl_alloc(&CALLBACKS, &memory, p);
	/* check_bytes has looked, and more closely. */
	yajl_config(p->yajl, yajl_dont_validate_strings, 1);
	st = yajl_parse(p->yajl, (const unsigned char *)p->text.p, p->text.n);
	if (st == yajl_status_error)
		(void)refuse_syntax(p);
	if (st != yajl_status_ok)
		return;
	p->ended = true;
	st = yajl_complete_parse(p->yajl);
	if (st == yajl_status_client_canceled)
		return;
	end = skip(p->text, p->at, p->text.n);
	if (!p->root || p->depth > 0)
		(void)refuse(p, p->text.n, "the document ends too early");
	else if (end < p->text.n)
		(void)refuse(p, end, "text after the end of the document");
}

int
json_parse(struct arena *a, struct str text, struct json **ret, struct err *e)
{
	struct parser p = {.arena = a, .text = text, .key = STR_EMPTY, .e = e};

	p.tail[0] = &p.root;
	if (check_bytes(&p))
		run(&p);
	if (p.rc < 0)
		return p.rc;
	assert(p.root && p.depth == 0);
	*ret = p.root;
	return OK;
}

int
json_each(struct arena *a, struct arena *scratch, struct str text,
    int (*each)(void *ctx, struct json *element, struct err *e), void *ctx,
    struct err *e)
{
	struct parser p = {.arena = a,
	    .scratch = scratch,
	    .each = each,
	    .ctx = ctx,
	    .text = text,
	    .key = STR_EMPTY,
	    .e = e};

	p.tail[0] = &p.root;
	if (!str_starts(str_trim(text), STR("[")))
		return err_set(e, ERR_INVALID, "an array was expected");
	if (check_bytes(&p))
		run(&p);
	return p.rc;
}
