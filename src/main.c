#include <malloc.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cage/cage.h"
#include "cli/verbs.h"
#include "doc/child.h"
#include "match/jq/jq_child.h"

static const struct cage_kind *const CHILDREN[] = {&JQ_CHILD, &DOC_CHILD, NULL};

/*
 * What is large goes back to the system when it is freed. Left alone, glibc
 * takes the first large block that is freed (7 MiB of a password check) for a
 * sign to keep such blocks, in a heap for each thread, for ever.
 */
static void
tame_malloc(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, (int)(256 * KIB));
	(void)mallopt(M_TRIM_THRESHOLD, (int)(512 * KIB));
	(void)mallopt(M_ARENA_MAX, 2);
}

/*
 * What we make is for us alone, and so is what we hold: keys and passwords
 * would lie in a core dump, or before whoever of the same user traces us.
 */
static void
keep_to_ourselves(void)
{
	(void)umask(077);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int
main(int argc, char **argv)
{
	int status;

	tame_malloc();
	keep_to_ourselves();
	status = cage_main(CHILDREN, argc, argv);
	if (status >= 0)
		return status;
	return cli_run(&VERBS, argc, argv, environ, stdout, stderr);
}
