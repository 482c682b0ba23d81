#include "cage/shut.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

#define MEMORY_MAX (64 * MIB)

static void
opens(void)
{
	(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
connects(void)
{
	(void)!socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void
forks(void)
{
	if (fork() == 0)
		_exit(0);
}

static void
executes(void)
{
	char name[] = "true", *argv[] = {name, NULL}, *env[] = {NULL};

	(void)execve("/bin/true", argv, env);
}

static void
kills(void)
{
	(void)kill(getppid(), 0);
}

static void
makes_code(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void
turns_to_code(void)
{
	static _Alignas(4096) char page[4096];

	(void)mprotect(page, sizeof(page), PROT_READ | PROT_EXEC);
}

static void
works(void)
{
	struct timespec t;
	void *p = malloc(8 * MIB);

	if (!p || clock_gettime(CLOCK_REALTIME, &t) != 0)
		abort();
	free(p);
}

#ifndef __SANITIZE_ADDRESS__
static void
takes_too_much(void)
{
	void *p = malloc(MEMORY_MAX);

	if (p)
		abort();
}
#endif

/* What is not allowed is the end of the process, on the spot. */
static void
holds(void **)
{
	static const struct {
		void (*what)(void);
		int sig; /* 0: fine */
	} ROWS[] = {
	    {works, 0},
#ifndef __SANITIZE_ADDRESS__
	    {takes_too_much, 0},
#endif
	    {opens, SIGSYS},
	    {connects, SIGSYS},
	    {forks, SIGSYS},
	    {executes, SIGSYS},
	    {kills, SIGSYS},
	    {makes_code, SIGSYS},
	    {turns_to_code, SIGSYS},
	};

#ifdef __SANITIZE_THREAD__
	skip();
#endif
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0) {
			if (shut_bounds(MEMORY_MAX) &&
			    shut_calls(SHUT_FORKING) && shut_calls(SHUT_ALONE))
				ROWS[i].what();
			(void)syscall(SYS_exit_group, 0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status) ? WTERMSIG(status) != ROWS[i].sig
					: status != 0 || ROWS[i].sig != 0)
			fail_msg("row %zu: %d", i, status);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
