#include "cli/reach.h"

#include <assert.h>
#include <unistd.h>

#include "base/arena.h"
#include "cli/limits.h"
#include "ops/sealing.h"
#include "seal/keyring.h"
#include "store/lock.h"
#include "store/store.h"

static int
open_store(struct cli *c, struct reach *x, struct err *e)
{
	struct store_opts o = {
	    .dir = c->conf.data,
	    .url = c->conf.database_url,
	    .sqlite_sync = c->conf.sqlite_synchronous,
	};
	int steps = 0;
	int rc = store_there(&o, e);

	if (rc == ERR_ABSENT)
		return err_set(e, ERR_ABSENT,
		    "no data in %s: is --data right? hikyaku serve or migrate makes what is missing",
		    c->conf.data);
	if (rc == OK)
		rc = store_lock(c->conf.data, &x->lock, e);
	if (rc == ERR_BUSY)
		return err_set(e, ERR_BUSY,
		    "another hikyaku works on %s and can't be asked; wait for it to end or start",
		    c->conf.data);
	if (rc == OK)
		rc = store_open(&o, &x->store, e);
	if (rc == OK)
		rc = store_migrate(x->store, &steps, e);
	if (rc == OK)
		rc = db_open(x->store, DB_WRITE, &x->db, e);
	return rc;
}

int
reach_open(struct cli *c, struct reach *ret, struct err *e)
{
	int rc;

	*ret = (struct reach){.lock = -1};
	rc = client_open(c->conf.data, &ret->client, e);
	return rc == ERR_ABSENT ? open_store(c, ret, e) : rc;
}

void
reach_close(struct reach *x)
{
	client_close(x->client);
	keyring_close(x->keyring);
	if (x->db)
		db_close(x->db);
	store_close(x->store);
	if (x->lock >= 0)
		(void)close(x->lock);
	*x = (struct reach){.lock = -1};
}

int
reach_keyring(struct reach *x, struct cli *c, struct err *e)
{
	assert(x->db);
	return sealing_open(x->db, &c->conf, &x->keyring, e);
}

int
reach_ask(struct reach *x, struct cli *c, const char *method, const char *path,
    struct str body, struct str *ret_answer, struct err *e)
{
	struct buf answer = BUF(CLI_ANSWER_MAX);
	int status = 0, rc;

	assert(x->client);
	rc = client_call(x->client, method, path, body, &answer, &status, e);
	if (rc == OK)
		rc = client_check(status, buf_str(&answer), c->arena, e);
	if (rc == OK) {
		*ret_answer = arena_dup(c->arena, buf_str(&answer));
		if (!ret_answer->p)
			rc = err_set(e, ERR_NOMEM, "the answer is too long");
	}
	buf_done(&answer);
	return rc;
}
