#include "doc/pack.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define ABSENT UINT32_MAX /* in place of a text's length */

/* Shapes are three deep: a feed, its items, their categories. */
#define DEPTH_MAX 4

/* Writing --------------------------------------------------------------------- */

static void
put_bytes(struct buf *to, const void *p, size_t n)
{
	buf_add(to, (struct str){p, n});
}

static void
put_u32(struct buf *to, size_t v)
{
	uint32_t n = (uint32_t)v;

	put_bytes(to, &n, sizeof(n));
}

static void
put_text(struct buf *to, const struct pack_field *f, struct str s)
{
	if (!s.p && f->type == PACK_MAYBE) {
		put_u32(to, ABSENT);
		return;
	}
	put_u32(to, s.n);
	buf_add(to, s);
}

static size_t
chain_length(const struct pack_shape *s, const char *p)
{
	size_t n = 0;

	for (; p; p = *(const char *const *)(const void *)(p + s->next))
		n++;
	return n;
}

static void
put_field(struct buf *to, const struct pack_field *f, const char *at)
{
	const void *v = at + f->at;
	const char *p;

	switch (f->type) {
	case PACK_TEXT:
	case PACK_MAYBE:
		put_text(to, f, *(const struct str *)v);
		return;
	case PACK_NUMBER:
		put_bytes(to, v, sizeof(int64_t));
		return;
	case PACK_CHOICE:
		put_bytes(to, v, sizeof(int));
		return;
	case PACK_FLAG:
		buf_addc(to, *(const bool *)v ? 1 : 0);
		return;
	case PACK_CHAIN:
		p = *(const char *const *)v;
		put_u32(to, chain_length(f->of, p));
		for (; p;
		     p = *(const char *const *)(const void *)(p + f->of->next))
			pack_put(to, f->of, p);
		return;
	case PACK_ROW: {
		size_t n = *(const size_t *)(const void *)(at + f->count);

		put_u32(to, n);
		for (size_t i = 0; i < n; i++)
			pack_put(to, f->of, (const char *)v + i * f->of->size);
		return;
	}
	}
}

/* Shapes hold other shapes, not themselves: this ends. */
void
pack_put(struct buf *to, const struct pack_shape *s, const void *from)
{
	for (size_t i = 0; i < s->n; i++)
		put_field(to, &s->fields[i], from);
}

/* Reading --------------------------------------------------------------------- */

static int get_shape(struct arena *a, struct str *rest,
    const struct pack_shape *s, char *to, int depth, struct err *e);

static int
not_packed(struct err *e)
{
	return err_set(e, ERR_SYNTAX, "it can't be understood");
}

static bool
take_bytes(struct str *rest, void *to, size_t n)
{
	if (rest->n < n)
		return false;
	memcpy(to, rest->p, n);
	*rest = str_from(*rest, n);
	return true;
}

/* UTF-8 without NUL; most of it is ASCII. */
static bool
is_text(struct str s)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	uint64_t word;
	size_t at = 0;

	if (memchr(s.p, '\0', s.n))
		return false;
	for (; at + sizeof(word) <= s.n; at += sizeof(word)) {
		memcpy(&word, s.p + at, sizeof(word));
		if (word & high)
			break;
	}
	s = str_from(s, at);
	return str_utf8_bad(s) == s.n;
}

static int
get_text(
    struct str *rest, const struct pack_field *f, struct str *to, struct err *e)
{
	uint32_t n;
	struct str s;

	if (!take_bytes(rest, &n, sizeof(n)))
		return not_packed(e);
	if (n == ABSENT && f->type == PACK_MAYBE) {
		*to = (struct str){.p = NULL};
		return OK;
	}
	if (n > rest->n || n > f->most)
		return not_packed(e);
	s = (struct str){rest->p, n};
	if (!is_text(s))
		return not_packed(e);
	*to = n > 0 ? s : STR_EMPTY;
	*rest = str_from(*rest, n);
	return OK;
}

static int
get_number(
    struct str *rest, const struct pack_field *f, void *to, struct err *e)
{
	int64_t v = 0;
	int choice = 0;

	if (f->type == PACK_CHOICE) {
		if (!take_bytes(rest, &choice, sizeof(choice)))
			return not_packed(e);
		v = choice;
	} else if (!take_bytes(rest, &v, sizeof(v))) {
		return not_packed(e);
	}
	if (v < f->least || v > f->most)
		return not_packed(e);
	if (f->type == PACK_CHOICE)
		memcpy(to, &choice, sizeof(choice));
	else
		memcpy(to, &v, sizeof(v));
	return OK;
}

static int
get_flag(struct str *rest, bool *to, struct err *e)
{
	unsigned char c;

	if (!take_bytes(rest, &c, 1) || c > 1)
		return not_packed(e);
	*to = c == 1;
	return OK;
}

static int
get_list(struct arena *a, struct str *rest, const struct pack_field *f,
    char *to, int depth, struct err *e)
{
	char *v = to + f->at, **tail = (char **)(void *)v;
	uint32_t n;
	size_t kept;
	int rc = OK;

	/* Each has a byte at least: more than that were never written. */
	if (!take_bytes(rest, &n, sizeof(n)) || n > f->most || n > rest->n)
		return not_packed(e);
	for (uint32_t i = 0; rc == OK && i < n; i++) {
		char *one = f->type == PACK_ROW ? v + i * f->of->size
						: arena_alloc(a, f->of->size);

		if (arena_over(a))
			return err_set(
			    e, ERR_LIMIT, "what is in it is too large");
		if (f->type == PACK_CHAIN) {
			*tail = one;
			tail = (char **)(void *)(one + f->of->next);
		}
		rc = get_shape(a, rest, f->of, one, depth + 1, e);
	}
	kept = n;
	if (f->count != PACK_UNCOUNTED)
		memcpy(to + f->count, &kept, sizeof(kept));
	return rc;
}

static int
get_field(struct arena *a, struct str *rest, const struct pack_field *f,
    char *to, int depth, struct err *e)
{
	void *v = to + f->at;

	switch (f->type) {
	case PACK_TEXT:
	case PACK_MAYBE:
		return get_text(rest, f, v, e);
	case PACK_NUMBER:
	case PACK_CHOICE:
		return get_number(rest, f, v, e);
	case PACK_FLAG:
		return get_flag(rest, v, e);
	case PACK_CHAIN:
	case PACK_ROW:
		return get_list(a, rest, f, to, depth, e);
	}
	return not_packed(e);
}

static int
get_shape(struct arena *a, struct str *rest, const struct pack_shape *s,
    char *to, int depth, struct err *e)
{
	int rc = depth < DEPTH_MAX ? OK : not_packed(e);

	for (size_t i = 0; rc == OK && i < s->n; i++)
		rc = get_field(a, rest, &s->fields[i], to, depth, e);
	return rc;
}

int
pack_get(struct arena *a, struct str *rest, const struct pack_shape *s,
    void *to, struct err *e)
{
	return get_shape(a, rest, s, to, 0, e);
}
