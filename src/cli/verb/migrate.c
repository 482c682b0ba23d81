#include "cli/verbs.h"
#include "store/lock.h"
#include "store/store.h"

int
verb_migrate(struct cli *c, struct err *e)
{
	struct store_opts o = cli_store(c);
	struct reach *x = &c->reach; /* so that the frame closes them */
	int steps = 0, version = 0;

	TRY(store_lock(c->conf.data, &x->lock, e));
	TRY(store_open(&o, &x->store, e));
	TRY(store_migrate(x->store, &steps, e));
	TRY(store_version(x->store, &version, e));
	(void)fprintf(c->out, "%s is at version %d (%d steps applied)\n",
	    store_name(x->store), version, steps);
	return OK;
}
