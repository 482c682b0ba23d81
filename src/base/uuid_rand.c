/* uuid.h, second half: random bytes. */
#include <errno.h>
#include <sys/random.h>

#include "base/base.h"

#define POOL_BYTES ((size_t)512)

static void
system_random(void *ret, size_t n)
{
	unsigned char *p = ret;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		/* Without random bytes nothing here is safe to go on. */
		assert(got > 0);
		p += got;
		n -= (size_t)got;
	}
}

static _Thread_local unsigned char pool[POOL_BYTES];
static _Thread_local size_t left;

void
rand_forget(void)
{
	explicit_bzero(pool, left);
	left = 0;
}

void
rand_bytes(void *ret, size_t n)
{
	if (n > POOL_BYTES / 4) {
		system_random(ret, n);
		return;
	}
	if (left < n) {
		system_random(pool, POOL_BYTES);
		left = POOL_BYTES;
	}
	left -= n;
	memcpy(ret, pool + left, n);
	explicit_bzero(pool + left, n);
}
