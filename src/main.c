#include <unistd.h>

#include "cli/verbs.h"

int
main(int argc, char **argv)
{
	return cli_run(&VERBS, argc, argv, environ, stdout, stderr);
}
