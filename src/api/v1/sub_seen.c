/* subs.h: subscriptions as they are seen: one, a list, their numbers. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/v1/subs.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/str.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "deliver/engine/wish.h"
#include "event/append.h"
#include "http/server/limits.h"
#include "seal/keyring.h"
#include "sql.h"

static int
seal(void *arg, struct arena *a, struct str plain, struct str *ret,
    struct err *e)
{
	const struct sub_sealer *s = arg;

	return keyring_seal(s->ring, a, s->where, plain, ret, e);
}

static int
unseal(void *arg, struct arena *a, struct str sealed, struct str *ret,
    struct err *e)
{
	const struct sub_sealer *s = arg;

	return keyring_unseal(s->ring, a, s->where, sealed, ret, e);
}

int
sub_sealer(const struct api *api, struct arena *a, struct uuid uid,
    struct sub_sealer *arg, struct sub_seal *ret, struct err *e)
{
	arg->ring = api->keyring;
	arg->where = keyring_where(a, "subscription.conf", uid);
	*ret = (struct sub_seal){.seal = seal, .unseal = unseal, .arg = arg};
	return arg->where.p
		   ? OK
		   : err_set(e, ERR_NOMEM, "no memory for a subscription");
}

void
sub_seen_done(struct sub_seen *s)
{
	sub_free(s->conf);
	s->conf = NULL;
}

static int
endpoint(struct db *db, struct sub_seen *s, struct err *e)
{
	struct sql_endpoint_seen_row row;
	struct rows *rows = NULL;
	int rc = sql_endpoint_seen(
	    db, &rows, e, .endpoint = (int64_t)wish_endpoint(s->conf->url));

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_endpoint_seen_get(rows, &row);
		s->open_until = row.open_until;
		s->not_before = row.not_before;
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/*
 * Opened, so that masks show which secrets there are. One whose key is gone
 * is shown all the same, closed.
 */
static int
open_conf(const struct api *api, struct arena *a, struct str conf,
    const struct presets *presets, struct sub_seen *s, struct err *e)
{
	struct sub_sealer sealer;
	struct sub_seal by;
	int rc = sub_sealer(api, a, s->uid, &sealer, &by, e);

	if (rc == OK)
		rc = sub_load(conf, presets, &by, &s->conf, e);
	if (rc == ERR_INVALID) {
		log_err(LOG_WARN, "a subscription's secrets can't be read", e);
		s->closed = true;
		rc = sub_load(conf, presets, NULL, &s->conf, e);
	}
	return rc;
}

/* Both statements have these columns. */
static int
take(struct req *r, struct db *db, const struct presets *presets,
    const struct sql_sub_seen_row *row, struct sub_seen *ret, struct err *e)
{
	struct sub_seen s = {
	    .id = row->id,
	    .version = row->version,
	    .enabled = row->enabled != 0,
	    .managed = row->managed_by.p != NULL,
	    .why = arena_dup(r->arena, row->why),
	    .held = row->held.p ? arena_dup(r->arena, row->held) : row->held,
	    .created_us = row->created_at,
	    .changed_us = row->changed_at,
	    .behind = !row->pos_null,
	    .pos = row->pos,
	};
	int rc;

	if (row->uid.n == sizeof(s.uid.b))
		memcpy(s.uid.b, row->uid.p, row->uid.n);
	rc = s.why.p ? open_conf(r->app, r->arena, row->conf, presets, &s, e)
		     : err_set(e, ERR_NOMEM, "no memory for a subscription");
	if (rc < 0)
		return rc;
	if (!s.conf)
		return err_set(e, ERR_NOMEM, "no memory for a subscription");
	s.kind = wish_kind_of(s.conf);
	s.conf->enabled = s.enabled; /* it may have been switched since */
	rc = endpoint(db, &s, e);
	if (rc < 0)
		sub_seen_done(&s);
	else
		*ret = s;
	return rc;
}

bool
sub_seen_may(const struct req *r, const struct sub_seen *s)
{
	return s->conf && scopes_tenants_within(
			      s->conf->n_tenants ? s->conf->tenants : NULL,
			      s->conf->n_tenants, &r->who);
}

int
sub_seen_get(struct req *r, struct db *db, const struct presets *presets,
    struct sub_seen *ret, struct err *e)
{
	struct sql_sub_seen_row row;
	struct rows *rows = NULL;
	struct sub_seen s = {.id = 0};
	struct uuid uid;
	int rc = 0;

	if (uuid_parse(r->params[0], &uid)) {
		rc = sql_sub_seen(db, &rows, e, .uid = uuid_str(&uid));
		if (rc == OK)
			rc = rows_next(rows, e);
		if (rc > 0) {
			sql_sub_seen_get(rows, &row);
			rc = take(r, db, presets, &row, &s, e);
			if (rc == OK)
				rc = 1;
		}
		rows_close(rows);
	}
	if (rc > 0 && !sub_seen_may(r, &s)) {
		sub_seen_done(&s);
		rc = 0;
	}
	if (rc == 0)
		return err_set(e, ERR_ABSENT, "there is no such subscription");
	if (rc < 0)
		return rc;
	*ret = s;
	return OK;
}

int
sub_seen_consumer(struct req *r, struct db *db, const struct presets *presets,
    struct str name, struct sub_seen *ret, struct err *e)
{
	struct sql_sub_seen_row row;
	struct rows *rows = NULL;
	int rc = sql_consumer_seen(db, &rows, e, .name = name);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_sub_seen_get(rows, &row); /* the same columns */
		rc = take(r, db, presets, &row, ret, e);
		rc = rc == OK ? 1 : rc;
	}
	rows_close(rows);
	return rc;
}

int
sub_seen_consumers(struct req *r, struct db *db, const struct presets *presets,
    struct str after, int64_t most,
    int (*each)(void *arg, const struct sub_seen *s, struct err *e), void *arg,
    struct err *e)
{
	struct sql_sub_seen_row row;
	struct rows *rows = NULL;
	int rc = sql_consumers_seen(db, &rows, e, .after = after, .most = most);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		struct sub_seen s = {.id = 0};

		sql_sub_seen_get(rows, &row);
		rc = take(r, db, presets, &row, &s, e);
		if (rc == OK)
			rc = each(arg, &s, e);
		sub_seen_done(&s);
	}
	rows_close(rows);
	return rc;
}

static void
add_time(struct buf *b, const char *name, int64_t us)
{
	char text[TIME_LEN + 1];

	buf_fmt(b, ",\"%s\":", name);
	if (us <= 0) {
		buf_addz(b, "null");
		return;
	}
	time_format(us, text);
	buf_fmt(b, "\"%s\"", text);
}

static void
add_delivery(const struct api *api, const struct sub_seen *s, struct buf *b)
{
	int64_t now = clock_now_us(), lag = 0;

	if (s->behind)
		lag = append_last_seq(api->append) - s->pos;
	buf_fmt(b, ",\"delivery\":{\"state\":\"%s\",\"lag\":%lld",
	    !s->enabled            ? "disabled"
	    : s->held.p            ? "held"
	    : s->open_until > now  ? "open"
	    : s->not_before > now  ? "waiting"
	    : s->behind && lag > 0 ? "behind"
				   : "live",
	    (long long)(lag > 0 ? lag : 0));
	add_time(b, "openUntil", s->open_until > now ? s->open_until : 0);
	add_time(b, "notBefore", s->not_before > now ? s->not_before : 0);
	buf_addc(b, '}');
}

void
sub_seen_show(
    const struct api *api, const struct sub_seen *s, bool once, struct buf *b)
{
	buf_addz(b, "{\"id\":\"");
	uuid_add(b, s->uid);
	buf_addz(b, "\",");
	sub_show(s->conf, once, b);
	buf_fmt(
	    b, ",\"version\":%lld,\"disabledReason\":", (long long)s->version);
	if (!s->enabled && s->why.n > 0)
		buf_json(b, s->why);
	else
		buf_addz(b, "null");
	buf_addz(b, ",\"heldReason\":");
	if (s->held.p)
		buf_json(b, s->held);
	else
		buf_addz(b, "null");
	add_time(b, "createdAt", s->created_us);
	add_time(b, "changedAt", s->changed_us);
	add_delivery(api, s, b);
	buf_addc(b, '}');
}

int
api_subs_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets = NULL;
	struct sub_seen s = {.id = 0};
	int rc = presets_open(db, api->conf, &presets, e);

	if (rc == OK)
		rc = sub_seen_get(r, db, presets, &s, e);
	if (rc == OK) {
		buf_clear(&r->out);
		sub_seen_show(api, &s, false, &r->out);
	}
	sub_seen_done(&s);
	presets_free(presets);
	return rc;
}

/* The list ---------------------------------------------------------------- */

struct list {
	struct req *r;
	struct presets *presets;
	int64_t limit, after;
	int enabled; /* -1: both */
	struct str q, managed_by;
	bool has_managed;
	size_t shown, looked;
	struct uuid last;
	bool more;
};

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Anywhere in it, ASCII letters of either case. */
static bool
has(struct str in, struct str part)
{
	for (size_t at = 0; at + part.n <= in.n; at++) {
		size_t i = 0;

		while (i < part.n && lower(in.p[at + i]) == lower(part.p[i]))
			i++;
		if (i == part.n)
			return true;
	}
	return false;
}

static bool
fits(const struct list *l, const struct sql_sub_seen_row *row)
{
	if (l->enabled >= 0 && (row->enabled != 0) != l->enabled)
		return false;
	return !l->has_managed ||
	       (row->managed_by.p && str_eq(row->managed_by, l->managed_by));
}

static int
list_row(struct list *l, struct db *db, const struct sql_sub_seen_row *row,
    struct err *e)
{
	struct req *r = l->r;
	struct sub_seen s = {.id = 0};
	int rc;

	if (!fits(l, row))
		return OK;
	rc = take(r, db, l->presets, row, &s, e);
	if (rc == ERR_ABSENT || rc == ERR_INVALID || rc == ERR_SYNTAX) {
		log_err(LOG_ERROR, "a subscription can't be shown", e);
		return OK;
	}
	if (rc < 0)
		return rc;
	if (sub_seen_may(r, &s) && (l->q.n == 0 || has(s.conf->name, l->q) ||
				       has(s.conf->url, l->q))) {
		if (l->shown++)
			buf_addc(&r->out, ',');
		sub_seen_show(r->app, &s, false, &r->out);
	}
	sub_seen_done(&s);
	return OK;
}

/* One page of the store; *ret_n rows came. */
static int
list_some(
    struct list *l, struct db *db, int64_t most, int64_t *ret_n, struct err *e)
{
	struct sql_sub_seen_row row;
	struct rows *rows = NULL;
	int64_t n = 0;
	int rc = sql_subs_seen(db, &rows, e, .after = l->after, .most = most);

	while (rc >= 0 && !l->more && (rc = rows_next(rows, e)) > 0) {
		sql_sub_seen_get(rows, &row);
		n++;
		l->more =
		    (int64_t)l->shown == l->limit || l->r->out.n > PAGE_BYTES;
		if (l->more)
			break;
		l->looked++;
		l->after = row.id;
		memcpy(l->last.b, row.uid.p, sizeof(l->last.b));
		rc = list_row(l, db, &row, e);
	}
	rows_close(rows);
	*ret_n = n;
	return rc < 0 ? rc : OK;
}

static int
list_read(struct list *l, struct db *db, struct err *e)
{
	static const char *const names[] = {
	    "limit", "after", "enabled", "q", "managedBy", NULL};
	struct req *r = l->r;
	struct rows *rows = NULL;
	struct uuid uid;
	struct str s;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &l->limit, e);
	if (rc == OK && req_query(r, "enabled", &s)) {
		l->enabled = str_eq(s, STR("true"));
		if (!l->enabled && !str_eq(s, STR("false")))
			rc = err_set(
			    e, ERR_INVALID, "enabled must be true or false");
	}
	(void)req_query(r, "q", &l->q);
	l->has_managed = req_query(r, "managedBy", &l->managed_by);
	if (rc < 0 || !req_query(r, "after", &s))
		return rc;
	rc = 0;
	if (uuid_parse(s, &uid)) {
		rc = sql_sub_row_of(db, &rows, e, .uid = uuid_str(&uid));
		if (rc == OK)
			rc = rows_next(rows, e);
		if (rc > 0)
			l->after = rows_int(rows, 0);
		rows_close(rows);
	}
	if (rc == 0)
		return err_set(
		    e, ERR_INVALID, "after is no cursor of this list");
	return rc < 0 ? rc : OK;
}

int
api_subs_list(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct list l = {.r = r, .enabled = -1};
	int64_t batch, n;
	int rc = list_read(&l, db, e);

	if (rc == OK)
		rc = presets_open(db, api->conf, &l.presets, e);
	batch = n = l.limit + 1;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	while (rc == OK && !l.more && n == batch && l.looked < PAGE_SCAN)
		rc = list_some(&l, db, batch, &n, e);
	buf_addz(&r->out, "],\"next\":");
	if (l.more || n == batch) {
		buf_addc(&r->out, '"');
		uuid_add(&r->out, l.last);
		buf_addz(&r->out, "\"}");
	} else {
		buf_addz(&r->out, "null}");
	}
	presets_free(l.presets);
	return rc;
}
