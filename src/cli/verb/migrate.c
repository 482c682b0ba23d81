#include <unistd.h>

#include "cli/verbs.h"
#include "store/lock.h"
#include "store/store.h"

int
verb_migrate(struct cli *c, struct err *e)
{
	struct store_opts o = cli_store(c);
	struct store *s = NULL;
	int lock_fd = -1, steps = 0, version = 0;
	int rc = store_lock(c->conf.data, &lock_fd, e);

	if (rc == OK)
		rc = store_open(&o, &s, e);
	if (rc == OK)
		rc = store_migrate(s, &steps, e);
	if (rc == OK)
		rc = store_version(s, &version, e);
	if (rc == OK)
		(void)fprintf(c->out,
		    "%s is at version %d (%d steps applied)\n", store_name(s),
		    version, steps);
	store_close(s);
	if (lock_fd >= 0)
		(void)close(lock_fd);
	return rc;
}
