#include "api/v1/seal.h"

#include "api/api.h"
#include "base/str.h"
#include "ops/reseal.h"
#include "ops/sealing.h"
#include "seal/keyring.h"

int
api_seal_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct reseal_state state;

	buf_clear(&r->out);
	resealer_state(api->resealer, &state);
	return reseal_show(db, api->keyring, api->conf, &state, &r->out, e);
}

static int
may_make(const struct api *api, struct err *e)
{
	const char *source = keyring_source(api->keyring);

	if (strcmp(source, "file") == 0)
		return OK;
	if (strcmp(source, "kms") == 0)
		return err_set(e, ERR_CONFLICT,
		    "a server asks no KMS while it runs: stop it and run hikyaku seal rotate, or set another webhook.encryption.kms.key.id and restart");
	return err_set(e, ERR_CONFLICT,
	    "the keys come from the environment: set the new one there, the old one as …_OLD, and restart");
}

/* On the commit thread. */
static int
rotate(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	bool stale = false, made = false;
	int rc = sealing_stale(db, api->keyring, r->arena, &stale, e);

	if (rc == OK && !stale)
		rc = may_make(api, e);
	if (rc == OK)
		rc = sealing_rotate(
		    db, api->keyring, r->arena, api_actor(r), &made, e);
	/* Its first step waits in the queue behind this transaction. */
	if (rc == OK)
		rc = resealer_start(api->resealer, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_fmt(&r->out, "{\"active\":\"%s\",\"made\":%s}",
	    keyring_id(api->keyring, 0), made ? "true" : "false");
	r->status = 202;
	return OK;
}

int
api_seal_rotate(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return api_write(r, rotate, e);
}
