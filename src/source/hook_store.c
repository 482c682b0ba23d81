#include "source/hook_store.h"

#include <stdatomic.h>

#include "base/log/log.h"
#include "contract/preset.h"
#include "match/jq/jq.h"
#include "seal/digest.h"
#include "seal/keyring.h"
#include "source/limits.h"
#include "sql.h"

#define COLUMN "hook_source.secrets"

static _Atomic uint64_t changes = 1;

void
hooks_changed(void)
{
	(void)atomic_fetch_add(&changes, 1);
}

/* Rows ------------------------------------------------------------------------- */

/* .p NULL: there are none, or no key of ours opens them. */
static int
open_secrets(struct keyring *k, struct arena *a,
    const struct sql_hook_get_row *row, struct uuid uid, struct str *ret,
    bool *ret_closed, struct err *e)
{
	int rc;

	*ret = (struct str){.p = NULL};
	if (!row->secrets.p)
		return OK;
	rc = keyring_unseal(
	    k, a, keyring_where(a, COLUMN, uid), row->secrets, ret, e);
	if (rc != ERR_INVALID)
		return rc;
	log_err(LOG_WARN, "a source's secrets can't be read", e);
	*ret = (struct str){.p = NULL};
	*ret_closed = true;
	return OK;
}

static int
hook_store_take(struct keyring *k, const struct hook_rules *rules,
    const struct sql_hook_get_row *row, struct hook **ret, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(2 * HOOK_MEM_MAX);
	struct uuid uid = {{0}};
	struct str secrets;
	struct hook *h = NULL;
	bool closed = false;
	int rc;

	if (row->uid.n == sizeof(uid.b))
		memcpy(uid.b, row->uid.p, row->uid.n);
	TRY(open_secrets(k, a, row, uid, &secrets, &closed, e));
	rc = hook_load(row->name, row->conf, secrets, rules, &h, e);
	if (secrets.p)
		digest_wipe((char *)(uintptr_t)secrets.p, secrets.n);
	if (rc < 0)
		return rc;
	h->id = row->id;
	h->uid = uid;
	h->version = row->version;
	h->created_us = row->created_at;
	h->changed_us = row->changed_at;
	h->closed = closed;
	*ret = h;
	return OK;
}

int
hook_find(struct db *db, struct keyring *k, const struct hook_rules *rules,
    struct str name, struct hook **ret, struct err *e)
{
	struct sql_hook_get_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_hook_get(db, &rows, e, .name = name));
	if (TRY(sql_hook_get_next(rows, &row, e)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such source");
	return hook_store_take(k, rules, &row, ret, e);
}

int
hook_walk(struct db *db, struct keyring *k, const struct hook_rules *rules,
    const struct hook_each *each, struct err *e)
{
	struct sql_hook_get_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_hook_page(
	    db, &rows, e, .after = each->after, .most = (int64_t)each->most));
	while (TRY(sql_hook_page_next(rows, &row, e)) > 0) {
		struct hook *h = NULL;

		/* One that can't be read must not stop the others. */
		if (hook_store_take(k, rules, &row, &h, e) < 0)
			log_err(LOG_ERROR, "a source can't be used", e);
		else
			TRY(each->fn(each->ctx, h, e));
	}
	return OK;
}

static int
has_room(struct db *db, struct err *e)
{
	struct sql_hook_stamp_row row;

	if (TRY(sql_hook_stamp_one(db, &row, e)) > 0 && row.n >= HOOKS_MAX)
		return err_set(
		    e, ERR_LIMIT, "there are %d sources already", HOOKS_MAX);
	return OK;
}

static int
too_long(struct err *e)
{
	return err_set(e, ERR_LIMIT, "the source is too long to be stored");
}

static int
seal_secrets(struct keyring *k, struct arena *a, const struct hook *h,
    struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(SEAL_PLAIN_MAX);
	int rc;

	*ret = (struct str){.p = NULL};
	if (h->n_secrets == 0)
		return OK;
	hook_secrets(h, &b);
	rc = b.failed ? too_long(e)
		      : keyring_seal(k, a, keyring_where(a, COLUMN, h->uid),
			    buf_str(&b), ret, e);
	digest_wipe(b.p, b.n);
	return rc;
}

int
hook_put(struct db *db, struct keyring *k, struct arena *a, struct hook *h,
    int64_t was, struct err *e)
{
	struct buf conf CLEANUP(buf_done) = BUF(HOOK_MEM_MAX);
	struct str secrets;
	int64_t n;

	if (was == 0)
		TRY(has_room(db, e));
	TRY(seal_secrets(k, a, h, &secrets, e));
	hook_conf(h, &conf);
	if (conf.failed)
		return too_long(e);
	n = was == 0 ? sql_hook_add(db, e, .uid = uuid_str(&h->uid),
			   .name = h->name, .conf = buf_str(&conf),
			   .secrets = secrets, .now = h->changed_us)
		     : sql_hook_change(db, e, .name = h->name, .was = was,
			   .conf = buf_str(&conf), .secrets = secrets,
			   .now = h->changed_us);
	if (n == 0)
		return err_set(e, ERR_CONFLICT,
		    "somebody else changed this source meanwhile");
	if (n < 0)
		return (int)n;
	h->version = was + 1;
	return OK;
}

int
hook_remove(struct db *db, struct str name, struct err *e)
{
	int64_t n = sql_hook_del(db, e, .name = name);

	if (n == 0)
		return err_set(e, ERR_ABSENT, "there is no such source");
	return n < 0 ? (int)n : OK;
}

/* In memory --------------------------------------------------------------------- */

struct hooks {
	struct keyring *keyring;
	struct presets *presets;
	struct jq *jq;
	struct map *by_name; /* NULL: never read */
	struct sql_hook_stamp_row stamp;
	uint64_t seen; /* changes that are in it */
	int64_t looked_ms;
};

struct hooks *
hooks_new(const struct conf *conf, struct keyring *k)
{
	struct hooks *hs = mem_get(sizeof(*hs));

	hs->presets = presets_load(conf);
	hs->jq = jq_new("/proc/self/exe");
	hs->keyring = k;
	return hs;
}

static void
drop_one(struct hooks *hs, struct hook *h)
{
	if (h->program >= 0)
		jq_forget(hs->jq, h->program);
	hook_free(h);
}

static void
drop(struct hooks *hs, struct map *by_name)
{
	struct hook *h;
	size_t at = 0;

	while (by_name && (h = map_each(by_name, &at)))
		drop_one(hs, h);
	map_free(by_name);
}

void
hooks_free(struct hooks *hs)
{
	if (!hs)
		return;
	drop(hs, hs->by_name);
	jq_free(hs->jq);
	presets_free(hs->presets);
	free(hs);
}

struct jq *
hooks_jq(struct hooks *hs)
{
	return hs->jq;
}

struct filling {
	struct hooks *hs;
	struct map *to;
};

static int
hook_store_keep(void *ctx, struct hook *h, struct err *e)
{
	struct filling *f = ctx;
	int rc = h->template.n > 0
		     ? jq_program(f->hs->jq, h->template, &h->program, e)
		     : OK;

	if (rc == OK)
		rc = map_put(f->to, h->name, h, NULL, e);
	if (rc < 0)
		drop_one(f->hs, h);
	return rc;
}

static int
read_all(struct hooks *hs, struct db *db, struct err *e)
{
	const struct hook_rules rules = {.presets = hs->presets};
	struct filling f = {.hs = hs, .to = map_new(HOOKS_MAX)};
	const struct hook_each each = {.after = STR_EMPTY,
	    .most = HOOKS_MAX,
	    .fn = hook_store_keep,
	    .ctx = &f};
	int rc = hook_walk(db, hs->keyring, &rules, &each, e);

	if (rc < 0) {
		drop(hs, f.to);
		return rc;
	}
	drop(hs, hs->by_name); /* what both have stays compiled */
	hs->by_name = f.to;
	return OK;
}

int
hooks_refresh(struct hooks *hs, struct db *db, struct err *e)
{
	struct sql_hook_stamp_row stamp = {0};
	uint64_t now = atomic_load(&changes);
	int64_t now_ms = clock_mono_ms();

	if (hs->by_name && hs->seen == now &&
	    now_ms - hs->looked_ms < HOOK_FRESH_MS)
		return OK;
	TRY(sql_hook_stamp_one(db, &stamp, e));
	if (!hs->by_name || hs->seen != now || stamp.n != hs->stamp.n ||
	    stamp.versions != hs->stamp.versions ||
	    stamp.newest != hs->stamp.newest)
		TRY(read_all(hs, db, e));
	hs->stamp = stamp;
	hs->seen = now;
	hs->looked_ms = now_ms;
	return OK;
}

const struct hook *
hooks_find(const struct hooks *hs, struct str name)
{
	return map_find(hs->by_name, name);
}
