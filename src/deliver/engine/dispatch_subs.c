/* dispatch_priv.h: which subscriptions there are, in the order of the log. */
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/map.h"
#include "base/str.h"
#include "contract/preset.h"
#include "deliver/batch/batch.h"
#include "deliver/engine/dispatch_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/preset_store.h"
#include "match/jq/jq.h"
#include "sql.h"

#define SUBS_A_PAGE 500

struct str
dispatch_key(const uint32_t *id)
{
	return (struct str){(const char *)id, sizeof(*id)};
}

static void
forget(struct dispatch *x, uint32_t id)
{
	struct known *k = map_take(x->subs, dispatch_key(&id));

	if (!k)
		return;
	match_drop(x->table, id);
	if (k->program >= 0)
		jq_forget(x->jq, k->program);
	wish_unref(k->wish);
	free(k);
}

void
dispatch_forget_all(struct dispatch *x)
{
	size_t at;
	struct known *k;

	while (at = 0, (k = map_each(x->subs, &at)))
		forget(x, k->wish->core.id);
	batcher_halt(x->batch);
}

static void
tell_sub(struct dispatch *x, struct wish *w, uint32_t ended)
{
	struct sub_note *n = calloc(1, sizeof(*n));

	if (!n) {
		(void)fputs("hikyaku: no memory for subscriptions\n", stderr);
		abort();
	}
	n->note.kind = w ? NOTE_SUB : NOTE_SUB_END;
	n->wish = w ? wish_ref(w) : NULL;
	n->sub = ended;
	deliver_tell(x->d, &n->note);
}

static int
learn(struct dispatch *x, struct wish *w, struct err *e)
{
	struct known *k = calloc(1, sizeof(*k));
	struct match_want want = {
	    .sub = w->core.id,
	    .types = w->types,
	    .n_types = w->n_types,
	    .tenants = w->tenants,
	    .n_tenants = w->n_tenants,
	};
	int rc = OK;

	forget(x, w->core.id);
	if (!k)
		return err_set(e, ERR_NOMEM, "no memory for subscriptions");
	k->program = -1;
	k->wish = w;
	if (w->filter.n > 0)
		rc = jq_program(x->jq, w->filter, &k->program, e);
	if (rc == OK && !w->directed)
		rc = match_add(x->table, &want, e);
	if (rc == OK)
		rc = map_put(x->subs, dispatch_key(&w->core.id), k, NULL, e);
	if (rc == OK) {
		(void)wish_ref(w);
		return OK;
	}
	match_drop(x->table, w->core.id);
	if (k->program >= 0)
		jq_forget(x->jq, k->program);
	free(k);
	return rc;
}

/* Of one subscription, or of all: 0. */
static int
load_kinds(struct dispatch *x, int64_t sub, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_batch_kinds(x->db, &rows, e, .sub = sub);

	x->n_kinds = 0;
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		if (x->n_kinds == x->cap_kinds) {
			size_t cap = x->cap_kinds ? 2 * x->cap_kinds : 64;
			void *v = realloc(x->kinds, cap * sizeof(*x->kinds));

			if (!v) {
				rc = err_set(
				    e, ERR_NOMEM, "no memory for batches");
				break;
			}
			x->kinds = v;
			x->cap_kinds = cap;
		}
		sql_batch_kinds_get(rows, &x->kinds[x->n_kinds++]);
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
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
static int
take_row(struct dispatch *x, const struct wish_row *given, struct err *e)
{
	struct wish_was was[BATCH_KINDS_MAX];
	struct wish_row row_now = *given, *row = &row_now;
	struct wish *w = NULL;
	struct err why = {0};
	int rc;

	row->was = was;
	row->n_was = kinds_of(x, row->id, was);
	rc = wish_new(row, x->presets, x->d->o.conf->time_scale, &w, &why);
	if (rc == OK)
		rc = learn(x, w, &why);
	if (rc == OK) {
		const struct known *k =
		    map_find(x->subs, dispatch_key(&w->core.id));

		batcher_sub(x->batch, w, k->program);
		tell_sub(x, w, 0);
	}
	wish_unref(w);
	if (rc == ERR_NOMEM) {
		*e = why;
		return rc;
	}
	if (rc < 0) {
		log_err(LOG_ERROR, "a subscription can't be used", &why);
		forget(x, (uint32_t)row->id);
		batcher_forget(x->batch, (uint32_t)row->id);
		tell_sub(x, NULL, (uint32_t)row->id);
	}
	return OK;
}

static int
load_presets(struct dispatch *x, struct err *e)
{
	struct presets *fresh = NULL;
	int rc = presets_open(x->db, x->d->o.conf, &fresh, e);

	if (rc == OK) {
		presets_free(x->presets);
		x->presets = fresh;
	}
	return rc;
}

/* Of all, or of those with that preset: the columns are the same. */
static int
load_page(struct dispatch *x, struct str preset, int64_t *after, int *ret_n,
    struct err *e)
{
	struct sql_subs_page_row row;
	struct rows *rows = NULL;
	int rc = preset.n > 0
		     ? sql_subs_of_preset(x->db, &rows, e, .preset = preset,
			   .after = *after, .most = SUBS_A_PAGE)
		     : sql_subs_page(x->db, &rows, e, .after = *after,
			   .most = SUBS_A_PAGE);

	*ret_n = 0;
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_subs_page_get(rows, &row);
		rc = take_row(x,
		    &(struct wish_row){
			.id = row.id,
			.uid = row.uid,
			.conf = row.conf,
			.enabled = row.enabled != 0,
			.held = row.held != 0,
			.from_seq = row.from_seq,
			.version = row.version,
		    },
		    e);
		*after = row.id;
		++*ret_n;
	}
	rows_close(rows);
	return rc;
}

static struct note LOADED = {.kind = NOTE_LOADED};

int
dispatch_load(struct dispatch *x, struct err *e)
{
	int64_t after = 0;
	int n = SUBS_A_PAGE, rc = load_presets(x, e);

	dispatch_forget_all(x);
	if (rc == OK)
		rc = load_kinds(x, 0, e);
	while (rc >= 0 && n == SUBS_A_PAGE)
		rc = load_page(x, STR_EMPTY, &after, &n, e);
	if (rc >= 0)
		deliver_tell(x->d, &LOADED);
	return rc < 0 ? rc : OK;
}

/* A preset was changed, and with it all subscriptions that use it. */
static int
apply_preset(struct dispatch *x, struct str name, struct err *e)
{
	struct presets_note *note = calloc(1, sizeof(*note));
	int64_t after = 0;
	int n = SUBS_A_PAGE, rc;

	if (!note)
		return err_set(e, ERR_NOMEM, "no memory for presets");
	note->note.kind = NOTE_PRESETS;
	rc = load_presets(x, e);
	if (rc == OK)
		rc = presets_open(x->db, x->d->o.conf, &note->presets, e);
	if (rc < 0) {
		free(note);
		return rc;
	}
	deliver_tell(x->d, &note->note);
	rc = load_kinds(x, 0, e);
	while (rc >= 0 && n == SUBS_A_PAGE)
		rc = load_page(x, name, &after, &n, e);
	return rc < 0 ? rc : OK;
}

/* A subscription was made, changed or ended at this place of the log. */
int
dispatch_apply(struct dispatch *x, const struct letter *l, struct err *e)
{
	struct sql_subs_one_row row;
	struct rows *rows = NULL;
	bool there = false;
	int rc;

	if (str_eq(l->type, STR("preset")))
		return apply_preset(x, l->key, e);
	rc = load_kinds(x, l->to_sub, e);
	if (rc == OK)
		rc = sql_subs_one(x->db, &rows, e, .id = l->to_sub);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_subs_one_get(rows, &row);
		there = row.until_seq_null;
		rc = !there ? OK
			    : take_row(x,
				  &(struct wish_row){
				      .id = row.id,
				      .uid = row.uid,
				      .conf = row.conf,
				      .enabled = row.enabled != 0,
				      .held = row.held != 0,
				      .from_seq = row.from_seq,
				      .version = row.version,
				  },
				  e);
	}
	rows_close(rows);
	if (rc >= 0 && !there) {
		forget(x, (uint32_t)l->to_sub);
		batcher_forget(x->batch, (uint32_t)l->to_sub);
		tell_sub(x, NULL, (uint32_t)l->to_sub);
	}
	return rc < 0 ? rc : OK;
}
