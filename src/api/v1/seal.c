/*
 * The keys that seal secrets, over HTTP.
 *
 * A rotation makes a new active key, tells the audit, and has every value
 * sealed anew in the background (ops/reseal.h). While values of an older key
 * are left it goes on with those, and makes none. With env and kms the new key
 * comes with a restart: a server asks no KMS while it serves. Events of the log
 * stay with the key that sealed them (event/sealed.h); GET tells which it
 * needs, and when a rotation is done.
 */
#include "api/api.h"
#include "api/handlers.h"
#include "ops/reseal.h"
#include "ops/sealing.h"
#include "seal/keyring.h"

int
api_seal_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct reseal_state state;

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

int
api_seal_rotate(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	bool stale = false, made = false;
	struct buf *b;

	TRY(sealing_stale(db, api->keyring, r->arena, &stale, e));
	if (!stale)
		TRY(may_make(api, e));
	TRY(sealing_rotate(db, api->keyring, r->arena, api_actor(r), &made, e));
	/* Its first step waits in the queue behind this transaction. */
	TRY(resealer_start(api->resealer, e));
	b = api_object(r);
	put_z(b, "active", keyring_id(api->keyring, 0));
	put_bool(b, "made", made);
	put_close(b, '}');
	r->status = 202;
	return OK;
}
