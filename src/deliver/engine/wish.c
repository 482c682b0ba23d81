#include "deliver/engine/wish.h"

#include "contract/retry.h"
#include "contract/sub.h"
#include "deliver/batch/child_limit.h"
#include "deliver/engine/letter.h"
#include "deliver/limits.h"
#include "http/url.h"
#include "match/types.h"
#include "sink/sink_driver.h"
#include "sql.h"

uint64_t
wish_endpoint(struct str text)
{
	char name[URL_TEXT_MAX];
	struct url u;
	struct err e;

	/* {tenant} in a host: one endpoint for all of them. */
	if (url_parse(text, &u, &e) < 0)
		return letter_hash(text);
	return letter_hash((struct str){name, url_endpoint(&u, name)});
}

static void
fill_core(struct wish *w, const struct sql_subs_page_row *row,
    const struct sub_conf *s, int64_t scale)
{
	struct sub_policy p;

	sub_policy(s, scale, &p);
	w->core = (struct core_sub){
	    .id = (uint32_t)row->id,
	    .endpoint = wish_endpoint(s->url),
	    .order = p.ordered ? CORE_ORDER_KEY : CORE_ORDER_NONE,
	    .concurrency = (int)p.concurrency,
	    .floor = (int)p.concurrency_floor,
	    .lock_us = p.lock_ms * US_PER_MS,
	    .spacing_us = p.spacing_ms * US_PER_MS,
	    .breaker_fails = (int)p.breaker_failures,
	    .breaker_us = p.breaker_open_ms * US_PER_MS,
	    .breaker_first = p.breaker_first,
	    .block = s->block,
	    .enabled = row->enabled && !row->held,
	    .held = row->held != 0,
	    .alone = s->drop_stale,
	    .coalesce = s->coalesce,
	};
	if (p.rate_per_second > 0 && s->rate_per_second > 0)
		w->core.rate_us = US_PER_S / p.rate_per_second;
	else if (p.rate_per_second > 0)
		w->core.url_rate_us = US_PER_S / p.rate_per_second;
	w->sink = sink_of(s->url);
	if (SINK_DRIVERS[w->sink]->terms)
		SINK_DRIVERS[w->sink]->terms(s, &w->core);
	w->spaced = p.spacing_ms > 0;
	w->picky = s->preset->n_paths > 0;
	w->checked = s->preset->preflight.on;
	w->audited = s->preset->audit != PRESET_AUDIT_OFF &&
		     !SINK_DRIVERS[w->sink]->quiet;
	w->directed = sub_managed_by(s).directed;
	w->key = s->preset->keyed_by_event ? WISH_KEY_EVENT : WISH_KEY_PRESET;
}

enum wish_kind
wish_kind_of(const struct sub_conf *s)
{
	if (s->preset->gathers == PRESET_GATHERS_CHILD)
		return WISH_CHILD;
	return s->batch.mode == BATCH_IMMEDIATE ? WISH_PLAIN : WISH_ALL;
}

bool
wish_gathers(const struct wish *w, struct str type, int64_t seq)
{
	enum wish_kind kind = w->kind;

	for (size_t i = w->n_was; i > 0 && seq <= w->was[i - 1].until_seq; i--)
		kind = w->was[i - 1].kind;
	return kind == WISH_ALL ||
	       (kind == WISH_CHILD && child_type_of(type) != CHILD_TYPES);
}

static void
fill_batch(struct wish *w, const struct sub_conf *s, int64_t scale)
{
	int64_t ms = s->batch.mode == BATCH_SUMMARY ? BATCH_SUMMARY_MS
						    : s->batch.window_s * 1000;

	/* Set to immediate: what was gathered before goes at once. */
	if (s->batch.mode == BATCH_IMMEDIATE)
		ms = 0;
	w->batch = s->batch;
	w->window_us = retry_scaled(ms, scale) * US_PER_MS;
	w->kind = wish_kind_of(s);
}

/* One block of memory: the struct, its arrays, the texts. */
static struct wish *
alloc(const struct sub_conf *s)
{
	size_t texts = s->filter.n;
	struct wish *w;
	struct str *types;
	struct uuid *tenants;
	char *at;

	for (size_t i = 0; i < s->n_types; i++)
		texts += s->types[i].n;
	w = mem_get(sizeof(*w) + s->n_types * sizeof(*types) +
		    s->tenants.n * sizeof(*tenants) + texts);
	types = (struct str *)(w + 1);
	tenants = (struct uuid *)(types + s->n_types);
	at = (char *)(tenants + s->tenants.n);
	for (size_t i = 0; i < s->n_types; i++)
		types[i] = str_put(&at, s->types[i]);
	if (s->tenants.n > 0)
		memcpy(tenants, s->tenants.v, s->tenants.n * sizeof(*tenants));
	w->filter = str_put(&at, s->filter);
	w->types = types;
	w->n_types = s->n_types;
	w->tenants = tenants;
	w->n_tenants = s->tenants.n;
	w->refs = 1;
	return w;
}

int
wish_new(const struct sql_subs_page_row *row, const struct wish_was *was,
    size_t n_was, const struct presets *presets, int64_t scale,
    struct wish **ret, struct err *e)
{
	struct sub_conf *s = NULL;
	struct wish *w;

	TRY(sub_load(row->conf, presets, NULL, &s, e));
	w = alloc(s);
	w->from_seq = row->from_seq;
	w->version = row->version;
	w->strike_us = retry_scaled(STRIKE_MS, scale) * US_PER_MS;
	w->uid = uuid_of(row->uid);
	fill_core(w, row, s, scale);
	fill_batch(w, s, scale);
	/* The newest of them. */
	for (size_t i = n_was > BATCH_KINDS_MAX ? n_was - BATCH_KINDS_MAX : 0;
	     i < n_was; i++)
		w->was[w->n_was++] = was[i];
	*ret = w;
	sub_free(s);
	return OK;
}

struct wish *
wish_ref(struct wish *w)
{
	(void)atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
	return w;
}

void
wish_unref(struct wish *w)
{
	if (w && atomic_fetch_sub(&w->refs, 1) == 1)
		free(w);
}

bool
wish_strike(struct wish *w, enum reason r, int64_t now_us)
{
	return strikes_add(&w->strikes, r, now_us, w->strike_us);
}

bool
wish_held(const struct wish *w)
{
	return w->core.held || atomic_load(&w->strikes.held) != REASON_NONE;
}

bool
wish_asked(const struct wish *w, struct str type)
{
	return w->n_types > 0 || !str_starts(type, STR("ops."));
}

bool
wish_wants(const struct wish *w, struct str type, const struct uuid *tenant)
{
	bool ours = w->n_tenants == 0, fits = w->n_types == 0;

	if (w->directed || !wish_asked(w, type))
		return false;
	for (size_t i = 0; !ours && i < w->n_tenants; i++)
		ours = uuid_eq(w->tenants[i], *tenant);
	for (size_t i = 0; ours && !fits && i < w->n_types; i++)
		fits = match_types_fit(match_types_key(w->types[i]), type);
	return ours && fits;
}
