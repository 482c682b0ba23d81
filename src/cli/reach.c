#include "cli/reach.h"

#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/limits.h"
#include "cli/target.h"
#include "ops/sealing.h"
#include "seal/keyring.h"
#include "store/lock.h"
#include "store/store.h"

static int
open_store(struct cli *c, struct reach *x, struct err *e)
{
	struct store_opts o = cli_store(c);
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
	TRY(rc);
	TRY(store_open(&o, &x->store, e));
	TRY(store_migrate(x->store, &steps, e));
	return db_open(x->store, DB_WRITE, &x->db, e);
}

int
reach_open(struct cli *c, struct err *e)
{
	struct reach *x = &c->reach;
	struct client_at at = {.url = NULL};
	int rc;

	if (x->client || x->db)
		return OK;
	rc = c->verb->reach ? TRY(target_find(c, &at, e)) : 0;
	if (rc > 0)
		return client_open_at(&at, &x->client, e);
	rc = client_open(c->conf.data, &x->client, e);
	return rc == ERR_ABSENT ? open_store(c, x, e) : rc;
}

int
reach_server(struct cli *c, struct err *e)
{
	TRY(reach_open(c, e));
	if (!c->reach.client)
		return err_set(e, ERR_AWAY,
		    "no server runs on the data folder %s: start hikyaku serve first, or name one with --server URL",
		    c->conf.data);
	return OK;
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
reach_keyring(struct cli *c, struct err *e)
{
	assert(c->reach.db);
	if (c->reach.keyring)
		return OK;
	return sealing_open(c->reach.db, &c->conf, &c->reach.keyring, e);
}

int
reach_ask(struct cli *c, struct arena *a, const char *method, struct str path,
    struct str body, struct str *ret_answer, struct err *e)
{
	struct client_call k = {
	    .method = method, .path = arena_z(a, path), .body = body};
	struct buf answer CLEANUP(buf_done) = BUF(CLI_ANSWER_MAX);
	int status = 0;

	TRY(reach_server(c, e));
	TRY(client_send(c->reach.client, &k, &answer, &status, e));
	TRY(client_check(status, buf_str(&answer), a, e));
	if (ret_answer)
		*ret_answer = arena_dup(a, buf_str(&answer));
	return OK;
}

int
reach_json(struct cli *c, struct arena *a, const char *method, struct str path,
    struct str body, struct json **ret, struct err *e)
{
	struct str text = STR_EMPTY;

	TRY(reach_ask(c, a, method, path, body, &text, e));
	return text.n == 0 ? OK : json_parse(a, text, ret, e);
}
