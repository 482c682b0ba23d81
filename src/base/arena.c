#include "base/arena.h"

#include <sanitizer/asan_interface.h> /* nothing without ASan */
#include <stdalign.h>
#include <stdarg.h>

#define BLOCK_BYTES ((size_t)4096)
#define ALIGN       alignof(max_align_t)

struct block {
	struct block *next;
	size_t cap, used;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena {
	struct block *blocks; /* the newest first; the first one made last */
	size_t used, limit;
};

static struct block *
block_new(size_t cap)
{
	struct block *b = malloc(sizeof(*b) + cap);

	if (!b)
		mem_out(cap);
	b->next = NULL;
	b->cap = cap;
	b->used = 0;
	ASAN_POISON_MEMORY_REGION(b->bytes, cap);
	return b;
}

static void
block_free(struct block *b)
{
	ASAN_UNPOISON_MEMORY_REGION(b->bytes, b->cap);
	free(b);
}

struct arena *
arena_new(size_t limit)
{
	struct arena *a = mem_get(sizeof(*a));

	a->limit = limit;
	return a;
}

void
arena_free(struct arena *a)
{
	if (!a)
		return;
	arena_reset(a);
	if (a->blocks)
		block_free(a->blocks);
	free(a);
}

void
arena_freep(struct arena **a)
{
	arena_free(*a);
}

void
arena_reset(struct arena *a)
{
	a->used = 0;
	while (a->blocks && a->blocks->next) {
		struct block *next = a->blocks->next;

		block_free(a->blocks);
		a->blocks = next;
	}
	if (a->blocks) {
		a->blocks->used = 0;
		ASAN_POISON_MEMORY_REGION(a->blocks->bytes, a->blocks->cap);
	}
}

size_t
arena_used(const struct arena *a)
{
	return a->used;
}

bool
arena_over(const struct arena *a)
{
	return a->used > a->limit;
}

static void *
give(struct arena *a, size_t n)
{
	struct block *b = a->blocks;
	size_t want = (n + ALIGN - 1) / ALIGN * ALIGN;
	void *p;

	if (want < n)
		mem_out(n);
	if (!b || want > b->cap - b->used) {
		/* Each block doubles what we have, so that there are few. */
		size_t cap = b ? 2 * b->cap : BLOCK_BYTES;

		if (cap > 64 * BLOCK_BYTES)
			cap = 64 * BLOCK_BYTES;
		b = block_new(want > cap ? want : cap);
		b->next = a->blocks;
		a->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += want;
	a->used += n;
	ASAN_UNPOISON_MEMORY_REGION(p, n);
	return p;
}

void *
arena_try(struct arena *a, size_t n)
{
	return arena_over(a) || n > a->limit - a->used ? NULL : give(a, n);
}

void *
arena_alloc(struct arena *a, size_t n)
{
	return memset(give(a, n), 0, n);
}

void *
arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		mem_out(SIZE_MAX);
	return arena_alloc(a, bytes);
}

struct str
arena_dup(struct arena *a, struct str s)
{
	char *p = give(a, s.n + 1);

	if (s.n > 0)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return (struct str){.p = p, .n = s.n};
}

const char *
arena_z(struct arena *a, struct str s)
{
	return arena_dup(a, s).p;
}

struct str
arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return STR_EMPTY;
	p = give(a, (size_t)n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return (struct str){.p = p, .n = (size_t)n};
}
