/* delivery.h: dead letters, a page of them, and one. */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "contract/verdict.h"
#include "http/server/limits.h"

/* Pages --------------------------------------------------------------------------- */

int
deads_find(struct req *r, struct db *db, struct deads *d, const char *at,
    struct err *e)
{
	struct sql_sub_head_row sub;
	enum reason reason;

	d->at = d->to;
	if (d->tenant.p && !tenant_parse(d->tenant, &d->tenant_id))
		return err_at(e, ERR_INVALID,
		    arena_fmt(r->arena, "%stenant", at).p,
		    "tenant must be " TENANT_WORDS);
	if (d->reason_word.p) {
		if (!reason_find(d->reason_word, &reason))
			return err_at(e, ERR_INVALID,
			    arena_fmt(r->arena, "%sreason", at).p,
			    "there is no such reason; HTTP_STATUS, EXHAUSTED and EXPIRED are some");
		d->reason = (int)reason;
	}
	if (d->subscription.p) {
		TRY(seen_sub_find(r, db, d->subscription,
		    arena_fmt(r->arena, "%ssubscription", at).p, &sub, e));
		d->sub = sub.id;
	}
	return OK;
}

static int
deads_query(struct db *db, const struct deads *d, int64_t most,
    struct rows **ret, struct err *e)
{
	struct sql_dead_page_args a = {.state = d->state,
	    .lo = d->from,
	    .at = d->at,
	    .sub = d->sub ? d->sub : d->spot.sub,
	    .seq = d->spot.seq,
	    .rep = d->spot.rep,
	    .most = most};

	return d->sub ? sql_dead_page_sub_run(db, &a, ret, e)
		      : sql_dead_page_run(db, &a, ret, e);
}

struct spot
dead_spot(const struct sql_dead_page_row *row)
{
	return (struct spot){row->seq, (uint32_t)row->sub, (int)row->rep};
}

int
deads_after(
    const struct req *r, struct deads *d, struct str cursor, struct err *e)
{
	struct str at = str_cut(&cursor, '.');

	return str_int(at, &d->at) && spot_open(r->app, cursor, &d->spot)
		   ? OK
		   : api_no_cursor(e);
}

struct str
deads_cursor(const struct req *r, const struct deads *d)
{
	char id[UUID_LEN + 1];

	uuid_format(spot_id(r->app, d->spot), id);
	return arena_fmt(r->arena, "%lld.%s", (long long)d->at, id);
}

static bool
type_fits(struct str want, struct str type)
{
	if (str_ends(want, STR(".*")))
		return str_starts(type, (struct str){want.p, want.n - 1});
	return str_eq(want, type);
}

static bool
deads_fit(const struct deads *d, const struct sql_dead_page_row *x)
{
	return (d->reason < 0 || x->reason == d->reason) &&
	       (!d->source.p || str_eq(x->source, d->source)) &&
	       (!d->type.p || type_fits(d->type, x->type)) &&
	       (!d->tenant.p || (x->tenant.p && uuid_eq(uuid_of(x->tenant),
						    d->tenant_id))) &&
	       (!d->key.p || str_eq(x->pkey, d->key)) &&
	       (!d->error.p || d->error.n == 0 ||
		   (x->error.p &&
		       memmem(x->error.p, x->error.n, d->error.p, d->error.n)));
}

/* One query of it; the end is where less came than was asked for. Where most
 * may not fit, more are asked for. */
static int
deads_some(struct db *db, struct deads *d, size_t most,
    struct sql_dead_page_row *v, size_t *n, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_dead_page_row row;
	bool picky = d->reason >= 0 || d->source.p || d->type.p ||
		     d->tenant.p || d->key.p || d->error.p;
	size_t got = 0, batch = picky && most < PAGE_MAX ? PAGE_MAX : most + 1;

	TRY(deads_query(db, d, (int64_t)batch, &rows, e));
	while (*n < most && TRY(sql_dead_page_next(rows, &row, e)) > 0) {
		got++;
		d->looked++;
		d->at = row.at;
		d->spot = dead_spot(&row);
		if (!deads_fit(d, &row))
			continue;
		row.tenant = row.type = row.pkey = row.source = row.error =
		    STR_EMPTY;
		v[(*n)++] = row;
	}
	d->end = *n < most && got < batch;
	return OK;
}

int
deads_next(struct db *db, struct deads *d, size_t most,
    struct sql_dead_page_row *v, size_t *ret_n, struct err *e)
{
	*ret_n = 0;
	while (*ret_n < most && !d->end && d->looked < PAGE_SCAN)
		TRY(deads_some(db, d, most, v, ret_n, e));
	return OK;
}

/* GET /v1/dead-letters --------------------------------------------------------------- */

struct deads_list {
	struct api_page page;
	struct deads deads;
};

#define LIST(field) offsetof(struct deads_list, field)
const struct member DEADS_QUERY[] = {
    DEADS_WORDS(LIST(deads)),
    {"state", MEMBER_CHOICE, LIST(deads.state), .words = DEAD_STATES,
	.about = "absent: those that wait for a decision"},
    API_PAGE(struct deads_list),
    {.name = NULL},
};

/* The one that is named, if the caller may see it: 1, 0 or < 0. */
static int
dead_look(struct req *r, struct db *db, struct spot spot, struct seen *s,
    struct sql_sub_head_row *sub, struct err *e)
{
	*sub = (struct sql_sub_head_row){0};
	if (spot.sub == 0 ? r->who.tenants != NULL
			  : TRY(seen_sub(r, db, spot.sub, sub, e)) == 0)
		return 0;
	TRY(seen_get(r, db, spot, s, e));
	return 1;
}

int
dead_get(struct req *r, struct db *db, struct spot spot, struct seen *s,
    struct sql_sub_head_row *sub, struct err *e)
{
	if (TRY(dead_look(r, db, spot, s, sub, e)) == 0 || !s->has_dead)
		return err_set(e, ERR_ABSENT, "there is no such dead letter");
	return OK;
}

static int
dead_show(struct req *r, struct db *db, const struct seen *s,
    const struct sql_sub_head_row *sub, struct err *e)
{
	return seen_show(
	    r, db, s, s->spot.sub == 0 ? NULL : sub, NULL, &r->out, e);
}

int
api_deads_list(struct req *r, struct db *db, struct err *e)
{
	struct deads_list l = {.deads = DEADS_ALL};
	struct deads *d = &l.deads;
	struct sql_dead_page_row *v;
	size_t n = 0, limit;
	bool more;

	TRY(api_query(r, DEADS_QUERY, &l, e));
	TRY(deads_find(r, db, d, "", e));
	if (l.page.after.p)
		TRY(deads_after(r, d, l.page.after, e));
	limit = (size_t)l.page.limit;
	v = arena_array(r->arena, limit + 1, sizeof(*v));
	api_list(r);
	TRY(deads_next(db, d, limit + 1, v, &n, e));
	more = n > limit || !d->end;
	if (n > limit) {
		n = limit;
		d->at = v[n - 1].at;
		d->spot = dead_spot(&v[n - 1]);
	}
	for (size_t i = 0; i < n; i++) {
		struct sql_sub_head_row sub;
		struct seen s;

		if (TRY(dead_look(r, db, dead_spot(&v[i]), &s, &sub, e)) == 0)
			continue;
		TRY(dead_show(r, db, &s, &sub, e));
		buf_addc(&r->out, '}');
	}
	api_list_end(r, more ? deads_cursor(r, d) : (struct str){.p = NULL});
	return OK;
}

/* One --------------------------------------------------------------------------------- */

int
dead_event(struct req *r, struct db *db, struct spot spot, struct str *ret,
    struct err *e)
{
	static const struct uuid nobody;
	struct sql_log_get_row row;
	struct sql_dead_body_row dead;
	struct err shut;

	*ret = (struct str){.p = NULL};
	if (TRY(sql_log_get_one(db, r->arena, &row, e, .seq = spot.seq)) > 0)
		return delivery_body(
		    r, row.tenant, row.event_id, row.body, ret, e);
	if (TRY(sql_dead_body_one(db, r->arena, &dead, e, .sub = spot.sub,
		.seq = spot.seq, .rep = spot.rep)) == 0 ||
	    !dead.body.p)
		return OK;
	/* The entry of what a source handed over was nobody's. */
	if (delivery_body(r, spot.sub == 0 ? uuid_str(&nobody) : dead.tenant,
		dead.event_id, dead.body, ret, &shut) < 0)
		*ret = (struct str){.p = NULL};
	return OK;
}

int
api_deads_get(struct req *r, struct db *db, struct err *e)
{
	struct sql_sub_head_row sub;
	struct spot spot;
	struct seen s;
	struct str event = {.p = NULL};

	TRY(spot_read(r, &spot, e));
	TRY(dead_get(r, db, spot, &s, &sub, e));
	TRY(dead_event(r, db, spot, &event, e));
	TRY(dead_show(r, db, &s, &sub, e));
	TRY(seen_attempts(db, spot, &r->out, e));
	put_raw(&r->out, "event", event);
	put_close(&r->out, '}');
	return OK;
}
