#include "http/server/gzip.h"

#include <pthread.h>
#include <zlib.h>

#define LEVEL       1
#define GZIP_WINDOW (15 + 16) /* 32 KiB, gzip header */
#define MEM_LEVEL   8

/*
 * A compressor is a quarter of a megabyte. Each thread that compresses keeps
 * one, and frees it when it ends.
 */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
drop_compressor(void *arg)
{
	(void)deflateEnd(arg);
	free(arg);
}

static void
make_key(void)
{
	int rc = pthread_key_create(&key, drop_compressor);

	assert(rc == 0);
}

/* This thread's, ready for a new text; NULL when there is no memory. */
static z_stream *
compressor(void)
{
	z_stream *z;

	(void)pthread_once(&once, make_key);
	z = pthread_getspecific(key);
	if (z)
		return deflateReset(z) == Z_OK ? z : NULL;
	z = mem_get(sizeof(*z));
	if (deflateInit2(z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL,
		Z_DEFAULT_STRATEGY) != Z_OK) {
		free(z);
		return NULL;
	}
	if (pthread_setspecific(key, z) != 0) {
		drop_compressor(z);
		return NULL;
	}
	return z;
}

bool
gzip_add(struct buf *b, struct str s)
{
	z_stream *z = compressor();
	char *room;

	/* Asking for no more than s.n makes "got no smaller" an overflow. */
	room = z && s.n <= UINT32_MAX ? buf_room(b, s.n) : NULL;
	if (!room)
		return false;
	/* zlib takes what it only reads without const. */
	z->next_in = (Bytef *)(uintptr_t)s.p;
	z->avail_in = (uInt)s.n;
	z->next_out = (Bytef *)room;
	z->avail_out = (uInt)s.n;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return false;
	b->n += s.n - z->avail_out;
	return true;
}

/* "0", "0.0", "0.000": anything else is a yes, or not for us to judge. */
static bool
is_zero(struct str q)
{
	if (q.n == 0 || q.p[0] != '0')
		return false;
	for (size_t i = 1; i < q.n; i++)
		if (q.p[i] != '0' && q.p[i] != '.')
			return false;
	return true;
}

bool
gzip_accepted(struct str accept_encoding)
{
	bool any = false;

	while (accept_encoding.n > 0) {
		struct str rest = str_cut(&accept_encoding, ',');
		struct str name = str_trim(str_cut(&rest, ';'));
		bool yes = true;

		while (rest.n > 0) {
			struct str value = str_cut(&rest, ';');
			struct str param = str_trim(str_cut(&value, '='));

			if (str_eq_nocase(param, STR("q")))
				yes = !is_zero(str_trim(value));
		}
		if (str_eq_nocase(name, STR("gzip")) ||
		    str_eq_nocase(name, STR("x-gzip")))
			return yes;
		if (str_eq(name, STR("*")))
			any = yes;
	}
	return any;
}
