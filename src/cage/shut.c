#include "cage/shut.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cage/limits.h"

/* ASan maps terabytes of address space, TSan also has a thread of its own. */
#if defined(__SANITIZE_THREAD__)
#define BOUND_MEMORY 0
#define BOUND_CALLS  0
#elif defined(__SANITIZE_ADDRESS__)
#define BOUND_MEMORY 0
#define BOUND_CALLS  1
#else
#define BOUND_MEMORY 1
#define BOUND_CALLS  1
#endif

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#else
#error "name this machine's AUDIT_ARCH_ here"
#endif

#define AT(field)   ((uint32_t)offsetof(struct seccomp_data, field))
#define LOAD(field) BPF_STMT((uint16_t)(BPF_LD | BPF_W | BPF_ABS), AT(field))
#define EQUAL(v, yes, no)                                                      \
	BPF_JUMP((uint16_t)(BPF_JMP | BPF_JEQ | BPF_K), (uint32_t)(v), yes, no)
#define ANY_BIT(v, yes, no)                                                    \
	BPF_JUMP((uint16_t)(BPF_JMP | BPF_JSET | BPF_K), (uint32_t)(v), yes, no)
#define ANSWER(v) BPF_STMT((uint16_t)(BPF_RET | BPF_K), v)
#define ALLOW(nr) EQUAL(nr, 0, 1), ANSWER(SECCOMP_RET_ALLOW)

#define KILL ANSWER(SECCOMP_RET_KILL_PROCESS)

/* Memory, but none that could be run as code. */
#define MEMORY                                                                 \
	ALLOW(SYS_brk), ALLOW(SYS_munmap), ALLOW(SYS_mremap),                  \
	    ALLOW(SYS_madvise), EQUAL(SYS_mmap, 1, 0),                         \
	    EQUAL(SYS_mprotect, 0, 4), LOAD(args[2]),                          \
	    ANY_BIT(PROT_EXEC, 0, 1), KILL, ANSWER(SECCOMP_RET_ALLOW)
/* Reading and writing, the CPU timer, the time, a hash's secret, and ways to
 * end. ASan looks at the signal stack on its way out. */
#define COMMON                                                                 \
	LOAD(arch), EQUAL(ARCH, 1, 0), KILL, LOAD(nr), ALLOW(SYS_read),        \
	    ALLOW(SYS_write), ALLOW(SYS_writev), ALLOW(SYS_setitimer),         \
	    ALLOW(SYS_futex), ALLOW(SYS_rt_sigreturn),                         \
	    ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_sigaltstack),                 \
	    ALLOW(SYS_restart_syscall), ALLOW(SYS_clock_gettime),              \
	    ALLOW(SYS_gettimeofday), ALLOW(SYS_getrandom), ALLOW(SYS_exit),    \
	    ALLOW(SYS_exit_group)

static bool
lock_calls(struct sock_filter *code, size_t n)
{
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};

	return !BOUND_CALLS ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool
shut_calls(enum shut_calls which)
{
	struct sock_filter alone[] = {COMMON, MEMORY, KILL};
	/* fork(), pipe(), and what a worker does before it locks itself in. */
	struct sock_filter forking[] = {COMMON, ALLOW(SYS_clone),
	    ALLOW(SYS_set_robust_list), ALLOW(SYS_wait4), ALLOW(SYS_pipe2),
	    ALLOW(SYS_close), ALLOW(SYS_prctl), ALLOW(SYS_getpid),
	    ALLOW(SYS_getppid), MEMORY, KILL};

	return which == SHUT_ALONE ? lock_calls(alone, COUNT_OF(alone))
				   : lock_calls(forking, COUNT_OF(forking));
}

/* How much address space we have, before any program: libraries, mostly. */
static bool
address_space(rlim_t *ret)
{
	char text[64];
	struct str line, pages;
	int64_t v = 0;
	ssize_t n;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	(void)close(fd);
	line = (struct str){text, n > 0 ? (size_t)n : 0};
	pages = str_cut(&line, ' ');
	if (!str_int(pages, &v))
		return false;
	*ret = (rlim_t)v * (rlim_t)sysconf(_SC_PAGESIZE);
	return true;
}

static bool
limit(__rlimit_resource_t what, rlim_t most)
{
	struct rlimit l = {.rlim_cur = most, .rlim_max = most};

	return setrlimit(what, &l) == 0;
}

bool
shut_bounds(size_t memory_max)
{
	rlim_t now = 0;

	if (BOUND_MEMORY &&
	    (!address_space(&now) || !limit(RLIMIT_AS, now + memory_max)))
		return false;
	return limit(RLIMIT_CORE, 0) && limit(RLIMIT_STACK, CAGE_STACK_MAX) &&
	       limit(RLIMIT_FSIZE, 0) &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}
