#include "base/mem.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

void
mem_out(size_t bytes)
{
	char line[80];
	int n = snprintf(line, sizeof(line),
	    "hikyaku: no memory for %zu bytes; ends, to be started anew\n",
	    bytes);

	if (n > 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
	/* Not by _exit(), where a sanitizer looks for leaks with system calls
	 * that a cage does not let out. */
	for (;;)
		(void)syscall(SYS_exit_group, MEM_EXIT);
}

void *
mem_get(size_t bytes)
{
	void *p = calloc(1, bytes > 0 ? bytes : 1);

	if (!p)
		mem_out(bytes);
	return p;
}

void *
mem_array(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		mem_out(SIZE_MAX);
	return mem_get(bytes);
}

void *
mem_grow(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		mem_out(SIZE_MAX);
	p = realloc(p, bytes > 0 ? bytes : 1);
	if (!p)
		mem_out(bytes);
	return p;
}

void *
mem_more(void *v, size_t *cap, size_t n, size_t size)
{
	if (n < *cap)
		return v;
	while (*cap <= n)
		*cap = *cap ? 2 * *cap : 16;
	return mem_grow(v, *cap, size);
}

char *
mem_z(struct str s)
{
	char *z = mem_get(s.n + 1);

	if (s.n > 0)
		memcpy(z, s.p, s.n);
	return z;
}
