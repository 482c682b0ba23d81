/* batch.h: events that a filter failed over. They are of no window: each is a
 * dead letter, written with the position that leaves it behind. */
#include "base/mem.h"
#include "base/str.h"
#include "deliver/batch/batch_priv.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/letter.h"
#include "match/jq/jq.h"
#include "match/limits.h"
#include "sql.h"

bool
batch_fail(
    struct gather *g, const struct letter *l, enum reason r, struct str why)
{
	char text[JQ_REASON_MAX + 1];
	struct core_dead *d;

	if (g->n_fails == BATCH_FAILS_MAX || g->reload)
		return false;
	if (!g->fails)
		g->fails = mem_array(BATCH_FAILS_MAX, sizeof(*g->fails));
	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(why));
	d = &g->fails[g->n_fails++];
	*d = (struct core_dead){
	    .sub = g->sub,
	    .okey = letter_hash(l->key),
	    .seq = l->seq,
	    .at = deliver_now(g->b->d),
	    .reason = (int)r,
	    .detail = detail_dead(text, letter_ours(l)),
	};
	batch_engage(g, l->seq);
	g->seen = l->seq;
	return true;
}

static void
free_fails(struct core_dead *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].detail);
	free(v);
}

void
batch_forget_fails(struct gather *g)
{
	free_fails(g->fails, g->n_fails);
	g->fails = NULL;
	g->n_fails = 0;
}

void
batch_job_fails(struct batch_job *j)
{
	struct gather *g = j->g;
	int64_t last = g->n_fails ? g->fails[g->n_fails - 1].seq : 0;

	j->fails = g->fails;
	j->n_fails = g->n_fails;
	g->fails = NULL;
	g->n_fails = 0;
	if (last > j->pos)
		j->pos = g->handled = last;
}

void
batch_job_forget_fails(struct batch_job *j)
{
	free_fails(j->fails, j->n_fails);
	j->fails = NULL;
	j->n_fails = 0;
}

void
batcher_fail(struct batcher *b, uint32_t sub, const struct letter *l,
    enum reason r, struct str why)
{
	struct gather *g = batch_find(b, sub);

	/* One that is behind asks the filter itself. */
	if (!g || !g->live || l->seq <= g->seen)
		return;
	if (!batch_fail(g, l, r, why))
		batch_fall_behind_at(g, l->seq);
	batch_set_due(g, deliver_now(b->d));
}
