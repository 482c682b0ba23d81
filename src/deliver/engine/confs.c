#include "base/arena.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/map.h"
#include "base/str.h"
#include "contract/request.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/told.h"
#include "match/jq/jq.h"
#include "seal/keyring.h"
#include "sql.h"

/*
 * Whole subscriptions, with their secrets open, as long as they are sent to:
 * the CONFS_MAX least idle ones. One that changed is forgotten and read again;
 * an attempt under way goes on with the old one.
 */

struct opener {
	struct keyring *ring;
	struct str where;
};

static int
unseal(void *arg, struct arena *a, struct str sealed, struct str *ret,
    struct err *e)
{
	const struct opener *o = arg;

	return keyring_unseal(o->ring, a, o->where, sealed, ret, e);
}

static struct str
key_of(const uint32_t *sub)
{
	return (struct str){(const char *)sub, sizeof(*sub)};
}

void
conf_put(struct deliver *d, struct kept_conf *k)
{
	if (!k || --k->refs > 0)
		return;
	if (k->template >= 0)
		jq_forget(d->jq, k->template);
	sub_free(k->conf);
	free(k);
}

static void
drop(struct deliver *d, struct kept_conf *k)
{
	(void)map_take(d->confs, key_of(&k->sub));
	list_remove(&d->conf_order, &k->in_order);
	conf_put(d, k);
}

void
conf_forget(struct deliver *d, uint32_t sub)
{
	struct kept_conf *k = map_find(d->confs, key_of(&sub));

	if (k)
		drop(d, k);
}

void
confs_done(struct deliver *d)
{
	struct link *l, *next;

	for (l = d->confs ? list_first(&d->conf_order) : NULL; l; l = next) {
		next = list_next(&d->conf_order, l);
		drop(d, LINK_OF(l, struct kept_conf, in_order));
	}
	map_free(d->confs);
	d->confs = NULL;
}

static int
open_row(struct deliver *d, const struct sql_subs_one_row *row,
    struct kept_conf *k, struct err *e)
{
	struct arena *a = arena_new(64 * KIB);
	struct uuid uid = {{0}};
	struct opener o = {.ring = d->o.keyring};
	struct sub_seal seal = {.unseal = unseal, .arg = &o};
	int rc = OK;

	if (a && row->uid.n == sizeof(uid.b)) {
		memcpy(uid.b, row->uid.p, row->uid.n);
		o.where = keyring_where(a, "subscription.conf", uid);
	}
	if (!o.where.p)
		rc = err_set(e, ERR_NOMEM, "no memory for a subscription");
	if (rc == OK)
		rc = sub_load(row->conf, d->presets, &seal, &k->conf, e);
	if (rc == OK)
		sub_policy(k->conf, d->o.conf->time_scale, &k->policy);
	if (rc == OK && k->conf->template.n > 0)
		rc = jq_program(d->jq, k->conf->template, &k->template, e);
	arena_free(a);
	return rc;
}

static int
load(struct deliver *d, uint32_t sub, struct kept_conf *k, struct err *e)
{
	struct sql_subs_one_row row;
	struct rows *rows = NULL;
	int rc = sql_subs_one(d->db, &rows, e, .id = sub);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_subs_one_get(rows, &row);
		rc = open_row(d, &row, k, e);
	} else if (rc == 0) {
		rc = err_set(e, ERR_ABSENT, "the subscription is gone");
	}
	rows_close(rows);
	return rc;
}

/* A reference, or NULL: ERR_AWAY when it may be tried again. */
struct kept_conf *
conf_get(struct deliver *d, uint32_t sub, struct err *e)
{
	struct kept_conf *k = map_find(d->confs, key_of(&sub));

	if (k) {
		list_remove(&d->conf_order, &k->in_order);
		list_add(&d->conf_order, &k->in_order);
		k->refs++;
		return k;
	}
	k = calloc(1, sizeof(*k));
	if (!k) {
		(void)err_set(e, ERR_NOMEM, "no memory for a subscription");
		return NULL;
	}
	k->sub = sub;
	k->refs = 1;
	k->template = -1;
	if (load(d, sub, k, e) < 0) {
		conf_put(d, k);
		return NULL;
	}
	if (d->conf_order.n >= CONFS_MAX)
		drop(d, LINK_OF(list_first(&d->conf_order), struct kept_conf,
			    in_order));
	if (map_put(d->confs, key_of(&k->sub), k, NULL, e) == OK) {
		list_add(&d->conf_order, &k->in_order);
		k->refs++;
	}
	return k;
}

bool
conf_send(struct deliver *d, struct arena *a, const struct kept_conf *k,
    const struct request *r, struct client_send *ret)
{
	const struct sub_conf *c = k->conf;
	struct client_header *h = arena_array(a, r->n + 1, sizeof(*h));
	bool mtls = c->auth.type == AUTH_MTLS;

	if (!h)
		return false;
	for (size_t i = 0; i < r->n; i++)
		h[i] = (struct client_header){
		    r->headers[i].name, r->headers[i].value};
	*ret = (struct client_send){
	    .url = r->url,
	    .headers = h,
	    .n_headers = r->n,
	    .body = r->body,
	    .use = GUARD_WEBHOOK,
	    .connect_ms = (int)k->policy.connect_ms,
	    .total_ms = (int)k->policy.total_ms,
	    .keep_max = told_keep(c->preset),
	    .proxy =
		d->o.conf->webhook_proxy[0] ? d->o.conf->webhook_proxy : NULL,
	    .tls_cert_pem = mtls ? arena_z(a, c->auth.certificate) : NULL,
	    .tls_key_pem = mtls ? arena_z(a, c->auth.key) : NULL,
	};
	return true;
}
