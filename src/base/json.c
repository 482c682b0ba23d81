#include "base/json.h"

#include "base/sip.h"

/* Objects up to this many members are compared each with each. */
#define FEW_KEYS ((size_t)16)

struct parser {
	struct arena *arena;
	struct arena *scratch; /* json_each: what an element is made of */
	int (*each)(void *ctx, struct json *element, struct err *e);
	void *ctx;
	const char *begin, *at, *end; /* the text, and how far it is read */
	struct json *root;
	struct json *open;  /* innermost not closed; its next: the one around */
	struct json **tail; /* where the next value goes */
	size_t depth, nodes;
	struct str key; /* of the value that comes now */
	struct err *e;
	int rc;
};

/* All that fails leaves here, as NULL: no place to go on from. */
static const char *
refuse_code(
    struct parser *p, enum err_code code, const char *at, const char *what)
{
	size_t line = 1, column = 1;

	/* The culprit is counted from 0, lines from 1. */
	for (const char *s = p->begin; s < at; s++)
		if (*s == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)*s & 0xc0) != 0x80) {
			column++;
		}
	p->rc = err_set(p->e, code, "%s at byte %zu (line %zu, column %zu)",
	    what, (size_t)(at - p->begin), line, column);
	return NULL;
}

/* What is wrong with the text as a whole is better news than any detail. */
static const char *
json_refuse(struct parser *p, const char *at, const char *what)
{
	struct str text = {p->begin, (size_t)(p->end - p->begin)};
	size_t bad = str_utf8_bad(text);

	if (str_trim(text).n == 0) {
		at = p->end;
		what = "the document is empty";
	} else if (str_starts(text, STR("\xef\xbb\xbf"))) {
		at = p->begin;
		what = "a byte order mark is not allowed";
	} else if (bad < text.n) {
		at = p->begin + bad;
		what = "no valid UTF-8";
	}
	return refuse_code(p, ERR_SYNTAX, at, what);
}

static const char *
early(struct parser *p)
{
	return json_refuse(p, p->end, "the document ends too early");
}

static void *
grab(struct parser *p, size_t n)
{
	void *ret =
	    arena_try(p->each && p->depth > 0 ? p->scratch : p->arena, n);

	if (!ret)
		p->rc = err_set(
		    p->e, ERR_LIMIT, "the document needs too much memory");
	return ret;
}

/* ---- tokens: each gives the place behind it, or NULL ---- */

static const char *
blank_end(const struct parser *p, const char *s)
{
	while (s < p->end && str_is_blank(*s))
		s++;
	return s;
}

#define EACH(byte) (0x0101010101010101u * (byte))

/*
 * Past what needs no second look, eight bytes at a time. A byte's high bit is
 * set in `stop` when it is a quote, a backslash, below 0x20 or over 0x7f; by
 * the borrow also in bytes behind such a one, but we take the first.
 */
static const char *
plain_end(const char *s, const char *end)
{
	for (; end - s >= 8; s += 8) {
		uint64_t w, stop;

		memcpy(&w, s, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		stop = ((w - EACH(0x20)) | ((w ^ EACH('"')) - EACH(1)) |
			   ((w ^ EACH('\\')) - EACH(1)) | w) &
		       EACH(0x80);
		if (stop)
			return s + __builtin_ctzll(stop) / 8;
	}
	while (s < end && *s != '"' && *s != '\\' &&
	       (unsigned char)*s >= 0x20 && (unsigned char)*s < 0x80)
		s++;
	return s;
}

static const char *
escape_end(struct parser *p, const char *s)
{
	if (++s == p->end)
		return early(p);
	if (*s != 'u')
		return *s && strchr("\"\\/bfnrt", *s)
			   ? s + 1
			   : json_refuse(p, s, "unknown escape");
	for (int i = 0; i < 4; i++) {
		if (++s == p->end)
			return early(p);
		if (str_hex_digit(*s) < 0)
			return json_refuse(
			    p, s, "\\u wants four hexadecimal digits");
	}
	return s + 1;
}

/* From s on, within a string. */
static const char *
string_rest(struct parser *p, const char *s, bool *ret_escaped)
{
	for (;;) {
		size_t n;

		s = plain_end(s, p->end);
		if (s == p->end)
			return early(p);
		if (*s == '"')
			return s + 1;
		if (*s == '\\') {
			*ret_escaped = true;
			s = escape_end(p, s);
			if (!s)
				return NULL;
			continue;
		}
		n = str_utf8_len((struct str){s, (size_t)(p->end - s)});
		if ((unsigned char)*s < 0x20 || n == 0)
			return json_refuse(
			    p, s, "control character in a string");
		s += n;
	}
}

/* Most have nothing in them but plain characters. */
static inline const char *
string_end(struct parser *p, const char *s, bool *ret_escaped)
{
	const char *end = plain_end(s + 1, p->end);

	*ret_escaped = false;
	return end < p->end && *end == '"' ? end + 1
					   : string_rest(p, end, ret_escaped);
}

static const char *
digits_end(struct parser *p, const char *s, const char *why)
{
	if (s == p->end)
		return early(p);
	if (!str_is_digit(*s))
		return json_refuse(p, s, why);
	while (s < p->end && str_is_digit(*s))
		s++;
	return s;
}

static const char *
number_end(struct parser *p, const char *s)
{
	if (*s == '-')
		s++;
	if (s < p->end && *s == '0')
		s++; /* and no digit behind it */
	else
		s = digits_end(p, s, "a digit must follow the minus sign");
	if (s && s < p->end && *s == '.')
		s = digits_end(
		    p, s + 1, "a digit must follow the decimal point");
	if (s && s < p->end && (*s == 'e' || *s == 'E')) {
		s++;
		if (s < p->end && (*s == '+' || *s == '-'))
			s++;
		s = digits_end(p, s, "a digit must follow the exponent");
	}
	return s;
}

static const char *
word_end(struct parser *p, const char *s)
{
	const char *word = *s == 't' ? "true" : *s == 'f' ? "false" : "null";

	for (; *word; word++, s++) {
		if (s == p->end)
			return early(p);
		if (*s != *word)
			return json_refuse(p, s, "unknown word");
	}
	return s;
}

/* A token where it may not stand; what is wrong inside it is told first. */
static bool
misplaced(struct parser *p, const char *what)
{
	const char *s = p->at;
	bool escaped;

	if (*s == '"')
		s = string_end(p, s, &escaped);
	else if (*s == '-' || str_is_digit(*s))
		s = number_end(p, s);
	else if (*s == 't' || *s == 'f' || *s == 'n')
		s = word_end(p, s);
	else if (!*s || !strchr("{}[],:", *s))
		what = "unexpected character";
	if (s)
		(void)json_refuse(p, p->at, what);
	return false;
}

/* ---- text ---- */

static unsigned
hex4(const char *s)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 4 | (unsigned)str_hex_digit(s[i]);
	return v;
}

/* The escape at s, which is a whole one; the place behind it, or NULL. */
static const char *
unescape(struct parser *p, const char *s, char **out)
{
	static const char FROM[] = "bfnrt", TO[] = "\b\f\n\r\t";
	const char *found = strchr(FROM, s[1]);
	unsigned c, low;

	if (s[1] != 'u') {
		*(*out)++ = found ? TO[found - FROM] : s[1];
		return s + 2;
	}
	c = hex4(s + 2);
	if (c < 0xd800 || c > 0xdfff) {
		*out += str_utf8_put(c, *out);
		return s + 6;
	}
	/* The closing quote ends any string before it is too short. */
	low = s[6] == '\\' && s[7] == 'u' ? hex4(s + 8) : 0;
	if (c >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
		return json_refuse(p, s, "half of a surrogate pair");
	c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
	*out += str_utf8_put(c, *out);
	return s + 12;
}

/* A copy, which is never longer. */
static bool
decode(struct parser *p, struct str raw, struct str *ret)
{
	const char *s = raw.p + 1, *end = raw.p + raw.n - 1;
	char *copy, *out;

	out = copy = grab(p, raw.n);
	while (out && s && s < end) {
		if (*s == '\\')
			s = unescape(p, s, &out);
		else
			*out++ = *s++;
	}
	*ret = (struct str){copy, (size_t)(out - copy)};
	return copy && s;
}

/* Of a string: in the input when it was written without escapes. */
static inline bool
json_text_of(struct parser *p, struct str raw, bool escaped, struct str *ret)
{
	*ret = (struct str){raw.p + 1, raw.n - 2};
	return !escaped || decode(p, raw, ret);
}

/* ---- keys ---- */

static bool
refuse_twice(struct parser *p, const struct json *obj, const struct json *dup)
{
	/* The key begins after the value before; dup is never the first. */
	const struct json *prev = obj->child;
	const char *at;

	while (prev->next != dup)
		prev = prev->next;
	at = blank_end(p, prev->raw.p + prev->raw.n);
	(void)json_refuse(p, blank_end(p, at + 1), "duplicate key");
	return false;
}

static bool
check_few(struct parser *p, const struct json *obj)
{
	for (const struct json *j = obj->child; j; j = j->next)
		for (const struct json *k = obj->child; k != j; k = k->next)
			if (str_eq(j->key, k->key))
				return refuse_twice(p, obj, j);
	return true;
}

/* Hashed anew for each object: nobody can prepare keys that collide. */
static bool
check_many(struct parser *p, const struct json *obj)
{
	struct sip sip = sip_new();
	size_t slots = 4 * FEW_KEYS;
	const struct json **table;

	while (slots < 2 * (size_t)obj->n)
		slots *= 2;
	table = grab(p, slots * sizeof(struct json *));
	if (!table)
		return false;
	memset(table, 0, slots * sizeof(struct json *));
	for (const struct json *j = obj->child; j; j = j->next) {
		size_t i = (size_t)sip_hash(&sip, j->key) & (slots - 1);

		for (; table[i]; i = (i + 1) & (slots - 1))
			if (str_eq(table[i]->key, j->key))
				return refuse_twice(p, obj, j);
		table[i] = j;
	}
	return true;
}

/* ---- values ---- */

/* A value that ends at `end`, which is NULL when it is none. */
static struct json *
json_add(struct parser *p, enum json_type type, const char *end)
{
	struct json *j;

	if (!end)
		return NULL;
	if (p->nodes == JSON_NODES_MAX) {
		(void)refuse_code(p, ERR_LIMIT, p->at, "too many values");
		return NULL;
	}
	j = grab(p, sizeof(*j));
	if (!j)
		return NULL;
	p->nodes++;
	*j = (struct json){.type = type,
	    .raw = {p->at, (size_t)(end - p->at)},
	    .text = STR_EMPTY,
	    .key = p->key};
	p->key = STR_EMPTY;
	*p->tail = j;
	p->tail = &j->next;
	if (p->open)
		p->open->n++;
	p->at = end;
	return j;
}

/* A value is whole. As an element of json_each() it goes to the caller now,
 * and what it was made of is used again for the next. */
static bool
whole(struct parser *p)
{
	struct json *element;

	if (!p->each || p->depth != 1)
		return true;
	element = p->root->child;
	p->root->child = NULL;
	p->tail = &p->root->child;
	p->nodes = 1;
	p->rc = p->each(p->ctx, element, p->e);
	arena_reset(p->scratch);
	return p->rc == OK;
}

static bool
scalar(struct parser *p, enum json_type type, const char *end)
{
	return json_add(p, type, end) && whole(p);
}

static bool
string(struct parser *p)
{
	bool escaped;
	struct json *j =
	    json_add(p, JSON_STRING, string_end(p, p->at, &escaped));

	return j && json_text_of(p, j->raw, escaped, &j->text) && whole(p);
}

static bool
json_begin(struct parser *p, enum json_type type)
{
	struct json *j = json_add(p, type, p->at + 1);

	if (!j)
		return false;
	if (p->depth == JSON_DEPTH_MAX) {
		(void)json_refuse(p, j->raw.p, "nested too deeply");
		return false;
	}
	p->depth++;
	j->next = p->open;
	p->open = j;
	p->tail = &j->child;
	return true;
}

static bool
finish(struct parser *p)
{
	struct json *j = p->open;

	p->at++;
	p->depth--;
	p->open = j->next;
	p->tail = &j->next;
	j->next = NULL;
	j->raw.n = (size_t)(p->at - j->raw.p);
	if (j->type == JSON_OBJECT &&
	    !(j->n <= FEW_KEYS ? check_few(p, j) : check_many(p, j)))
		return false;
	return whole(p);
}

/* The key, and the colon behind it. */
static bool
key(struct parser *p)
{
	const char *s;
	bool escaped;

	if (*p->at != '"')
		return misplaced(p, "a key in quotes was expected");
	s = string_end(p, p->at, &escaped);
	if (!s || !json_text_of(p, (struct str){p->at, (size_t)(s - p->at)},
		      escaped, &p->key))
		return false;
	p->at = blank_end(p, s);
	if (p->at == p->end)
		return early(p);
	if (*p->at != ':')
		return misplaced(p, "a colon was expected after the key");
	p->at = blank_end(p, p->at + 1);
	return p->at < p->end || early(p);
}

static bool
value(struct parser *p)
{
	switch (*p->at) {
	case '"':
		return string(p);
	case '{':
		return json_begin(p, JSON_OBJECT);
	case '[':
		return json_begin(p, JSON_ARRAY);
	case 't':
		return scalar(p, JSON_TRUE, word_end(p, p->at));
	case 'f':
		return scalar(p, JSON_FALSE, word_end(p, p->at));
	case 'n':
		return scalar(p, JSON_NULL, word_end(p, p->at));
	default:
		if (*p->at == '-' || str_is_digit(*p->at))
			return scalar(p, JSON_NUMBER, number_end(p, p->at));
		return misplaced(p, "unexpected character");
	}
}

/* No recursion: what is open is linked through the tree itself. */
static bool
json_run(struct parser *p)
{
	enum { NEXT, FIRST, BEHIND } where = NEXT; /* of a container's values */

	for (;;) {
		struct json *in = p->open;
		bool object = in && in->type == JSON_OBJECT;

		p->at = blank_end(p, p->at);
		if (where == BEHIND && !in)
			break;
		if (p->at == p->end)
			return early(p);
		if (where != NEXT && *p->at == (object ? '}' : ']')) {
			if (!finish(p))
				return false;
			where = BEHIND;
		} else if (where != BEHIND) {
			if ((object && !key(p)) || !value(p))
				return false;
			where = p->open == in ? BEHIND : FIRST;
		} else {
			if (*p->at != ',')
				return misplaced(
				    p, object ? "a comma or } was expected"
					      : "a comma or ] was expected");
			p->at++;
			where = NEXT;
		}
	}
	return p->at == p->end ||
	       json_refuse(p, p->at, "text after the end of the document");
}

static int
parse(struct parser *p, struct str text)
{
	p->begin = p->at = text.p;
	p->end = text.p + text.n;
	p->key = STR_EMPTY;
	p->tail = &p->root;
	(void)json_run(p); /* which says the same */
	return p->rc;
}

int
json_parse(struct arena *a, struct str text, struct json **ret, struct err *e)
{
	struct parser p = {.arena = a, .e = e};

	TRY(parse(&p, text));
	*ret = p.root;
	return OK;
}

int
json_each(struct arena *a, struct arena *scratch, struct str text,
    int (*each)(void *ctx, struct json *element, struct err *e), void *ctx,
    struct err *e)
{
	struct parser p = {
	    .arena = a, .scratch = scratch, .each = each, .ctx = ctx, .e = e};

	if (!str_starts(str_trim(text), STR("[")))
		return err_set(e, ERR_INVALID, "an array was expected");
	return parse(&p, text);
}
