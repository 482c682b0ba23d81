#include "doc/pack.h"

#define ABSENT UINT32_MAX /* in place of a text's length */

/* Shapes are three deep: a feed, its items, their categories. */
#define DEPTH_MAX 4

/* Writing --------------------------------------------------------------------- */

static void
pack_put_bytes(struct buf *to, const void *p, size_t n)
{
	buf_add(to, (struct str){p, n});
}

static void
put_u32(struct buf *to, size_t v)
{
	uint32_t n = (uint32_t)v;

	pack_put_bytes(to, &n, sizeof(n));
}

static void
pack_put_text(struct buf *to, const struct pack_field *f, struct str s)
{
	if (!s.p && f->type == PACK_MAYBE) {
		put_u32(to, ABSENT);
		return;
	}
	put_u32(to, s.n);
	buf_add(to, s);
}

static const char *
next_of(const struct pack_shape *s, const char *p)
{
	return *(const char *const *)(const void *)(p + s->next);
}

static void
pack_put_field(struct buf *to, const struct pack_field *f, const char *at)
{
	const void *v = at + f->at;
	const char *p;
	size_t n = 0;

	switch (f->type) {
	case PACK_TEXT:
	case PACK_MAYBE:
		pack_put_text(to, f, *(const struct str *)v);
		return;
	case PACK_NUMBER:
		pack_put_bytes(to, v, f->size);
		return;
	case PACK_CHAIN:
		for (p = *(const char *const *)v; p; p = next_of(f->of, p))
			n++;
		put_u32(to, n);
		for (p = *(const char *const *)v; p; p = next_of(f->of, p))
			pack_put(to, f->of, p);
		return;
	case PACK_ROW:
		n = *(const size_t *)(const void *)(at + f->count);
		put_u32(to, n);
		for (size_t i = 0; i < n; i++)
			pack_put(to, f->of, (const char *)v + i * f->of->size);
		return;
	}
}

/* Shapes hold other shapes, not themselves: this ends. */
void
pack_put(struct buf *to, const struct pack_shape *s, const void *from)
{
	for (size_t i = 0; i < s->n; i++)
		pack_put_field(to, &s->fields[i], from);
}

/* Reading. The first fault counts, and nothing more is read then. ----------- */

struct unpack {
	struct arena *arena;
	struct str rest;
	int code;
};

static void get_shape(
    struct unpack *u, const struct pack_shape *s, char *to, int depth);

static bool
needs(struct unpack *u, bool fine)
{
	if (u->code == OK && !fine)
		u->code = ERR_SYNTAX;
	return u->code == OK;
}

/* `to` is as it was when they are not there. */
static void
take_bytes(struct unpack *u, void *to, size_t n)
{
	if (!needs(u, u->rest.n >= n))
		return;
	memcpy(to, u->rest.p, n);
	u->rest = str_from(u->rest, n);
}

static void
get_text(struct unpack *u, const struct pack_field *f, struct str *to)
{
	uint32_t n = 0;
	struct str s;

	take_bytes(u, &n, sizeof(n));
	if (n == ABSENT && f->type == PACK_MAYBE)
		return; /* as `to` is zeroed */
	if (!needs(u, n <= u->rest.n && n <= f->most))
		return;
	s = (struct str){u->rest.p, n};
	if (!needs(u, !str_has(s, '\0') && str_utf8_bad(s) == n))
		return;
	*to = n > 0 ? s : STR_EMPTY;
	u->rest = str_from(u->rest, n);
}

static void
get_number(struct unpack *u, const struct pack_field *f, void *to)
{
	union {
		int8_t one;
		int32_t four;
		int64_t eight;
	} v = {.eight = 0};
	int64_t n;

	assert(f->size == 1 || f->size == 4 || f->size == 8);
	take_bytes(u, &v, f->size);
	n = f->size == 1 ? v.one : f->size == 4 ? v.four : v.eight;
	if (needs(u, n >= f->least && n <= f->most))
		memcpy(to, &v, f->size);
}

static void
get_list(struct unpack *u, const struct pack_field *f, char *to, int depth)
{
	char *v = to + f->at, **tail = (char **)(void *)v;
	uint32_t n = 0;
	size_t kept = 0;

	take_bytes(u, &n, sizeof(n));
	/* Each has a byte at least: more than that were never written. */
	(void)needs(u, n <= f->most && n <= u->rest.n);
	for (; u->code == OK && kept < n; kept++) {
		char *one = f->type == PACK_ROW
				? v + kept * f->of->size
				: arena_alloc(u->arena, f->of->size);

		if (arena_over(u->arena))
			u->code = ERR_LIMIT;
		if (f->type == PACK_CHAIN) {
			*tail = one;
			tail = (char **)(void *)(one + f->of->next);
		}
		get_shape(u, f->of, one, depth + 1);
	}
	if (f->count > 0)
		memcpy(to + f->count, &kept, sizeof(kept));
}

static void
get_field(struct unpack *u, const struct pack_field *f, char *to, int depth)
{
	void *v = to + f->at;

	switch (f->type) {
	case PACK_TEXT:
	case PACK_MAYBE:
		get_text(u, f, v);
		return;
	case PACK_NUMBER:
		get_number(u, f, v);
		return;
	case PACK_CHAIN:
	case PACK_ROW:
		get_list(u, f, to, depth);
		return;
	}
}

static void
get_shape(struct unpack *u, const struct pack_shape *s, char *to, int depth)
{
	(void)needs(u, depth < DEPTH_MAX);
	for (size_t i = 0; u->code == OK && i < s->n; i++)
		get_field(u, &s->fields[i], to, depth);
}

int
pack_get(struct arena *a, struct str *rest, const struct pack_shape *s,
    void *to, struct err *e)
{
	struct unpack u = {.arena = a, .rest = *rest};

	get_shape(&u, s, to, 0);
	*rest = u.rest;
	if (u.code == ERR_LIMIT)
		return err_set(e, ERR_LIMIT, "what is in it is too large");
	return u.code == OK ? OK
			    : err_set(e, ERR_SYNTAX, "it can't be understood");
}
