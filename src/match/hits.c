#include "match/limits.h"
#include "match/table_priv.h"

#define FIRST_HITS ((size_t)16)

int
match_hit(struct match_hits *h, const int64_t *subs, size_t n, struct err *e)
{
	size_t cap = h->cap ? h->cap : FIRST_HITS;
	int64_t *wide;

	if (n == 0)
		return OK;
	if (n > MATCH_HITS_MAX - h->n)
		return err_set(e, ERR_LIMIT,
		    "an event hits over %d subscriptions", MATCH_HITS_MAX);
	while (cap < h->n + n)
		cap *= 2;
	if (cap > h->cap) {
		wide = realloc(h->subs, cap * sizeof(*wide));
		if (!wide)
			return err_set(e, ERR_NOMEM, "no memory for matches");
		h->subs = wide;
		h->cap = cap;
	}
	memcpy(h->subs + h->n, subs, n * sizeof(*subs));
	h->n += n;
	return OK;
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void
match_settle(struct match_hits *h, size_t from)
{
	size_t kept = from, at = from + 1;

	while (at < h->n && h->subs[at - 1] < h->subs[at])
		at++;
	if (at >= h->n)
		return; /* one list gave them: as a rule */
	qsort(h->subs + from, h->n - from, sizeof(*h->subs), ascending);
	for (size_t i = from; i < h->n; i++)
		if (i == from || h->subs[i] != h->subs[kept - 1])
			h->subs[kept++] = h->subs[i];
	h->n = kept;
}

void
match_hits_done(struct match_hits *h)
{
	free(h->subs);
	*h = (struct match_hits){.n = 0};
}
