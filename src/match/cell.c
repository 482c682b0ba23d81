#include "match/cell.h"

#include <assert.h>

#include "match/table_priv.h"

static int64_t *
members(struct cell *c)
{
	return c->shift ? c->many : &c->one;
}

static size_t
room(const struct cell *c)
{
	return (size_t)1 << c->shift;
}

/* Where it is, or where it belongs. */
static size_t
place(const int64_t *v, size_t n, int64_t sub)
{
	size_t low = 0;

	if (n == 0 || sub > llabs(v[n - 1]))
		return n; /* ids grow: nearly always */
	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (llabs(v[mid]) < sub)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

int
cell_reserve(struct cell *c, struct err *e)
{
	unsigned shift = c->shift;
	int64_t *many;

	if (c->n < room(c))
		return OK;
	shift++;
	many = realloc(c->shift ? c->many : NULL, sizeof(int64_t) << shift);
	if (!many)
		return err_set(e, ERR_NOMEM, "no memory for subscriptions");
	if (c->shift == 0)
		many[0] = c->one;
	c->many = many;
	c->shift = shift & 31;
	return OK;
}

void
cell_put(struct cell *c, int64_t sub)
{
	int64_t *v = members(c);
	size_t at = place(v, c->n, sub);

	assert(sub > 0);
	if (at < c->n && llabs(v[at]) == sub) {
		if (v[at] < 0)
			c->holes--;
		v[at] = sub;
		return;
	}
	assert(c->n < room(c));
	memmove(v + at + 1, v + at, (c->n - at) * sizeof(*v));
	v[at] = sub;
	c->n++;
}

/* Gives memory back, down to room for one more than there are. */
static void
shrink(struct cell *c)
{
	unsigned shift = c->shift;
	int64_t *less, *old = c->many;

	while (shift > 1 && c->n + 1u <= (size_t)1 << (shift - 1))
		shift--;
	if (c->n == 0) {
		c->shift = 0;
		c->one = 0;
		free(old);
		return;
	}
	less = realloc(old, sizeof(int64_t) << shift);
	if (!less)
		return;
	c->many = less;
	c->shift = shift & 31;
}

static void
sweep(struct cell *c)
{
	int64_t *v = members(c);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (v[i] > 0)
			v[kept++] = v[i];
	c->n = kept;
	c->holes = 0;
	if (c->shift && room(c) > 4 * (size_t)c->n)
		shrink(c);
}

void
cell_remove(struct cell *c, int64_t sub)
{
	int64_t *v = members(c);
	size_t at = place(v, c->n, sub);

	if (at == c->n || v[at] != sub)
		return;
	v[at] = -sub;
	c->holes++;
	if (2 * c->holes > c->n)
		sweep(c);
}

int
cell_hits(const struct cell *c, struct match_hits *h, struct err *e)
{
	const int64_t *v = c->shift ? c->many : &c->one;
	int rc = OK;

	if (c->holes == 0)
		return match_hit(h, v, c->n, e);
	for (uint32_t i = 0, run; i < c->n && rc == OK; i = run + 1) {
		for (run = i; run < c->n && v[run] > 0;)
			run++;
		rc = match_hit(h, v + i, run - i, e);
	}
	return rc;
}

void
cell_done(struct cell *c)
{
	if (c->shift)
		free(c->many);
}
