#include "base/near.h"

/* Levenshtein, one row at a time; b is at most NEAR_WORD_MAX long. */
static size_t
distance(struct str a, struct str b)
{
	size_t row[NEAR_WORD_MAX + 1];

	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 0; i < a.n; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b.n; j++) {
			size_t swap = diagonal + (a.p[i] != b.p[j]);
			size_t drop =
			    1 + (row[j] < row[j + 1] ? row[j] : row[j + 1]);

			diagonal = row[j + 1];
			row[j + 1] = swap < drop ? swap : drop;
		}
	}
	return row[b.n];
}

struct near
near_to(struct str word)
{
	size_t most = word.n / 3 > 2 ? word.n / 3 : 2;

	return (struct near){.word = word, .distance = most + 1};
}

void
near_try(struct near *n, const char *known)
{
	struct str k = {known, strlen(known)};
	size_t d;

	if (k.n > NEAR_WORD_MAX || n->word.n > NEAR_WORD_MAX)
		return;
	d = distance(n->word, k);
	/* All letters changed is no likeness, however short the word. */
	if (d >= n->distance || d >= k.n)
		return;
	n->distance = d;
	n->best = known;
}
