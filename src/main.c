#include <malloc.h>
#include <unistd.h>

#include "base/limits.h"
#include "cage/cage.h"
#include "cli/verbs.h"
#include "doc/child.h"
#include "match/jq_child.h"

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

int
main(int argc, char **argv)
{
	int status;

	tame_malloc();
	status = cage_main(CHILDREN, argc, argv);
	if (status >= 0)
		return status;
	return cli_run(&VERBS, argc, argv, environ, stdout, stderr);
}
