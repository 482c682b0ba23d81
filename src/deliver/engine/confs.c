#include "deliver/engine/confs.h"

#include "base/conf/conf.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "deliver/engine/preset_store.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "match/jq/jq.h"
#include "seal/keyring.h"
#include "sql.h"

void
confs_init(struct confs *c)
{
	c->map = map_new(SIZE_MAX / 2);
	list_init(&c->order);
}

void
confs_put(struct confs *c, struct kept_conf *k)
{
	if (!k || --k->refs > 0)
		return;
	if (k->template >= 0)
		jq_forget(c->jq, k->template);
	sub_free(k->conf);
	free(k);
}

static void
uncache(struct confs *c, struct kept_conf *k)
{
	(void)map_take(c->map, SUB_KEY(&k->sub));
	list_remove(&c->order, &k->in_order);
	confs_put(c, k);
}

void
confs_forget(struct confs *c, uint32_t sub)
{
	struct kept_conf *k = sub ? map_find(c->map, SUB_KEY(&sub)) : NULL;

	if (k)
		uncache(c, k);
	while (!sub && (k = list_head(&c->order, struct kept_conf, in_order)))
		uncache(c, k);
}

void
confs_done(struct confs *c)
{
	if (c->map)
		confs_forget(c, 0);
	map_free(c->map);
	jq_free(c->jq);
	presets_free(c->presets);
	db_close(c->db);
}

void
confs_take_presets(struct confs *c, struct presets *presets)
{
	presets_free(c->presets);
	c->presets = presets;
}

static int
open_conf(struct confs *c, struct str stored, struct uuid uid,
    struct kept_conf *k, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(64 * KIB);
	struct sub_seal seal = sub_seal_by(c->keyring, a, uid);

	TRY(sub_load(stored, c->presets, &seal, &k->conf, e));
	sub_policy(k->conf, c->conf->time_scale, &k->policy);
	return OK;
}

static struct kept_conf *
kept_new(uint32_t sub)
{
	struct kept_conf *k = mem_get(sizeof(*k));

	*k = (struct kept_conf){.sub = sub, .refs = 1, .template = -1};
	return k;
}

struct kept_conf *
confs_open(struct confs *c, struct str stored, struct uuid uid, struct err *e)
{
	struct kept_conf *k = kept_new(0);

	if (open_conf(c, stored, uid, k, e) == OK)
		return k;
	confs_put(c, k);
	return NULL;
}

static int
load(struct confs *c, struct kept_conf *k, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) =
	    arena_new(SUB_STORED_MAX + 64 * KIB);
	struct sql_subs_page_row row;

	if (TRY(sql_subs_one_one(c->db, a, &row, e, .id = k->sub)) == 0)
		return err_set(e, ERR_ABSENT, "the subscription is gone");
	TRY(open_conf(c, row.conf, uuid_of(row.uid), k, e));
	return k->conf->template.n > 0
		   ? jq_program(c->jq, k->conf->template, &k->template, e)
		   : OK;
}

struct kept_conf *
confs_get(struct confs *c, uint32_t sub, struct err *e)
{
	struct kept_conf *k = map_find(c->map, SUB_KEY(&sub));

	if (k) {
		list_remove(&c->order, &k->in_order);
		list_add(&c->order, &k->in_order);
		k->refs++;
		return k;
	}
	k = kept_new(sub);
	if (load(c, k, e) < 0) {
		confs_put(c, k);
		return NULL;
	}
	if (c->order.n >= CONFS_MAX)
		uncache(c, list_head(&c->order, struct kept_conf, in_order));
	map_set(c->map, SUB_KEY(&k->sub), k);
	list_add(&c->order, &k->in_order);
	k->refs++;
	return k;
}
