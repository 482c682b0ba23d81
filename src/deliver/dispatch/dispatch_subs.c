/* dispatch_priv.h: which subscriptions there are, in the order of the log. */
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "contract/preset.h"
#include "deliver/batch/batch.h"
#include "deliver/dispatch/dispatch_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/preset_store.h"
#include "deliver/limits.h"
#include "match/jq/jq.h"
#include "sql.h"

#define SUBS_A_PAGE 500

static struct match_want
want_of(const struct wish *w)
{
	return (struct match_want){
	    .sub = w->core.id,
	    .types = w->types,
	    .n_types = w->n_types,
	    .tenants = w->tenants,
	    .n_tenants = w->n_tenants,
	};
}

static void
forget_sub(struct dispatch *x, uint32_t id)
{
	struct known *k = map_take(x->subs, SUB_KEY(&id));
	struct match_want want;

	if (!k)
		return;
	want = want_of(k->wish);
	if (!k->wish->directed)
		match_drop(x->table, &want);
	if (k->program >= 0)
		jq_forget(x->jq, k->program);
	wish_unref(k->wish);
	free(k);
}

void
dispatch_forget_all(struct dispatch *x)
{
	struct known *k;

	/* Another may have moved up into the slot of the one that went. */
	for (size_t at = 0; (k = map_each(x->subs, &at)); at--)
		forget_sub(x, k->wish->core.id);
	batcher_halt(x->batch);
}

/* With a wish that it keeps a reference of. */
static int
learn(struct dispatch *x, struct wish *w, struct err *e)
{
	struct match_want want = want_of(w);
	int program = -1;
	struct known *k;

	forget_sub(x, w->core.id);
	if (w->filter.n > 0)
		TRY(jq_program(x->jq, w->filter, &program, e));
	if (!w->directed && match_add(x->table, &want, e) < 0) {
		if (program >= 0)
			jq_forget(x->jq, program);
		return e->code;
	}
	k = mem_get(sizeof(*k));
	*k = (struct known){.wish = wish_ref(w), .program = program};
	map_set(x->subs, SUB_KEY(&w->core.id), k);
	batcher_sub(x->batch, w, program);
	deliver_tell_sub(x->d, NOTE_SUB, w, 0);
	return OK;
}

static void
unlearn(struct dispatch *x, uint32_t id)
{
	forget_sub(x, id);
	batcher_forget(x->batch, id);
	deliver_tell_sub(x->d, NOTE_SUB_END, NULL, id);
}

/* Of one subscription, or of all: 0. */
static int
load_kinds(struct dispatch *x, int64_t sub, struct err *e)
{
	struct sql_batch_kinds_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	x->n_kinds = 0;
	TRY(sql_batch_kinds(x->db, &rows, e, .sub = sub));
	while (TRY(sql_batch_kinds_next(rows, &row, e)) > 0) {
		x->kinds = mem_more(
		    x->kinds, &x->cap_kinds, x->n_kinds, sizeof(*x->kinds));
		x->kinds[x->n_kinds++] = row;
	}
	return OK;
}

/* How it was gathered before; the newest of them. */
static size_t
kinds_of(
    const struct dispatch *x, int64_t sub, struct wish_was was[BATCH_KINDS_MAX])
{
	size_t low = 0, high = x->n_kinds, n = 0;

	while (low < high) { /* the first behind them */
		size_t mid = low + (high - low) / 2;

		if (x->kinds[mid].sub <= sub)
			low = mid + 1;
		else
			high = mid;
	}
	while (low > 0 && n < BATCH_KINDS_MAX && x->kinds[low - 1].sub == sub)
		low--, n++;
	for (size_t i = 0; i < n; i++)
		was[i] = (struct wish_was){
		    .until_seq = x->kinds[low + i].until_seq,
		    .kind = (enum wish_kind)x->kinds[low + i].kind,
		};
	return n;
}

/* One that can't be used is told of and left out; the others go on. */
static void
take_sub(struct dispatch *x, const struct sql_subs_page_row *row)
{
	struct wish_was was[BATCH_KINDS_MAX];
	struct wish *w = NULL;
	struct err e = {0};
	int rc = wish_new(row, was, kinds_of(x, row->id, was), x->presets,
	    x->o->conf->time_scale, &w, &e);

	if (rc == OK)
		rc = learn(x, w, &e);
	wish_unref(w);
	if (rc < 0) {
		log_err(LOG_ERROR, "a subscription can't be used", &e);
		unlearn(x, (uint32_t)row->id);
	}
}

/* How many: of all, or of those with that preset. */
static int
load_page(struct dispatch *x, struct str preset, int64_t *after, struct err *e)
{
	struct sql_subs_page_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int n = 0;

	TRY(preset.n > 0 ? sql_subs_of_preset(x->db, &rows, e, .preset = preset,
			       .after = *after, .most = SUBS_A_PAGE)
			 : sql_subs_page(x->db, &rows, e, .after = *after,
			       .most = SUBS_A_PAGE));
	for (; TRY(sql_subs_page_next(rows, &row, e)) > 0; n++) {
		take_sub(x, &row);
		*after = row.id;
	}
	return n;
}

static int
load_subs(struct dispatch *x, struct str preset, struct err *e)
{
	int64_t after = 0;

	TRY(load_kinds(x, 0, e));
	while (TRY(load_page(x, preset, &after, e)) == SUBS_A_PAGE)
		continue;
	return OK;
}

static struct note LOADED = {.kind = NOTE_LOADED};

int
dispatch_load(struct dispatch *x, struct err *e)
{
	int rc = presets_reload(x->db, x->o->conf, &x->presets, e);

	dispatch_forget_all(x);
	TRY(rc);
	TRY(load_subs(x, STR_EMPTY, e));
	deliver_tell(x->d, &LOADED);
	return OK;
}

/* A preset was changed, and with it all subscriptions that use it. */
static int
apply_preset(struct dispatch *x, struct str name, struct err *e)
{
	struct presets *copy = NULL;
	struct presets_note *note;

	TRY(presets_reload(x->db, x->o->conf, &x->presets, e));
	TRY(presets_open(x->db, x->o->conf, &copy, e));
	note = mem_get(sizeof(*note));
	note->note.kind = NOTE_PRESETS;
	note->presets = copy;
	deliver_tell(x->d, &note->note);
	return load_subs(x, name, e);
}

/* A subscription, a preset or a replay was changed at this place of the log. */
int
dispatch_apply(struct dispatch *x, const struct letter *l, struct err *e)
{
	struct sql_subs_page_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	if (str_eq(l->type, STR("preset")))
		return apply_preset(x, l->key, e);
	if (str_eq(l->type, STR("replay"))) {
		deliver_tell_sub(x->d, NOTE_REPLAY, NULL, (uint32_t)l->to_sub);
		return OK;
	}
	TRY(load_kinds(x, l->to_sub, e));
	TRY(sql_subs_one(x->db, &rows, e, .id = l->to_sub));
	if (TRY(sql_subs_one_next(rows, &row, e)) > 0 && row.until_seq_null)
		take_sub(x, &row);
	else
		unlearn(x, (uint32_t)l->to_sub);
	return OK;
}
