#include "ops/reseal_sub.h"

#include "base/str.h"
#include "contract/sub.h"
#include "seal/keyring.h"

struct walk {
	void (*each)(void *ctx, struct arena *a, struct str sealed);
	void *ctx;
	struct arena *arena;
};

/* Unseals nothing; that the secret is no good ends the load behind it. */
static int
reseal_sub_look(void *arg, struct arena *a, struct str sealed, struct str *ret,
    struct err *e)
{
	const struct walk *w = arg;

	(void)a;
	(void)e;
	w->each(w->ctx, w->arena, sealed);
	*ret = STR("closed");
	return OK;
}

void
reseal_sub_each(const struct presets *presets, struct arena *a, struct str conf,
    void (*each)(void *ctx, struct arena *a, struct str sealed), void *ctx)
{
	struct walk w = {each, ctx, a};
	struct sub_seal by = {.unseal = reseal_sub_look, .arg = &w};
	struct sub_conf *s = NULL;
	struct err e;

	if (sub_load(conf, presets, &by, &s, &e) == OK)
		sub_free(s);
}

struct ring {
	struct keyring *ring;
	struct str where;
	bool stale; /* one is another key's, or of no key */
};

static int
seal(void *arg, struct arena *a, struct str plain, struct str *ret,
    struct err *e)
{
	const struct ring *r = arg;

	return keyring_seal(r->ring, a, r->where, plain, ret, e);
}

static int
unseal(void *arg, struct arena *a, struct str sealed, struct str *ret,
    struct err *e)
{
	const struct ring *r = arg;

	return keyring_unseal(r->ring, a, r->where, sealed, ret, e);
}

static void
look_key(void *ctx, struct arena *a, struct str sealed)
{
	struct ring *r = ctx;
	struct str id = STR_EMPTY;
	struct err e;

	if (keyring_id_of(a, sealed, &id, &e) < 0 ||
	    !str_eq(id, str_of(keyring_id(r->ring, 0))))
		r->stale = true;
}

int
reseal_sub(struct keyring *k, const struct presets *presets, struct arena *a,
    struct str where, struct str conf, struct str *ret, struct err *e)
{
	struct ring r = {.ring = k, .where = where};
	struct sub_seal by = {.seal = seal, .unseal = unseal, .arg = &r};
	struct sub_conf *s = NULL;
	int rc;

	*ret = (struct str){.p = NULL};
	reseal_sub_each(presets, a, conf, look_key, &r);
	if (!r.stale)
		return OK;
	rc = sub_load(conf, presets, &by, &s, e);
	if (rc == OK)
		rc = sub_store(s, &by, a, ret, e);
	sub_free(s);
	return rc;
}
