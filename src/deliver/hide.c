#include "deliver/hide.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "deliver/request.h"
#include "deliver/subscription.h"

static struct str
without(struct arena *a, struct str s, struct str secret)
{
	struct buf b = BUF(ANSWER_MAX);
	struct str out = STR_EMPTY;
	const char *at;

	if (secret.n < HIDE_LEAST || s.n == 0 ||
	    !memmem(s.p, s.n, secret.p, secret.n))
		return s;
	while ((at = memmem(s.p, s.n, secret.p, secret.n))) {
		buf_add(&b, (struct str){s.p, (size_t)(at - s.p)});
		buf_addz(&b, SUB_MASK);
		s = str_from(s, (size_t)(at - s.p) + secret.n);
	}
	buf_add(&b, s);
	if (!b.failed)
		out = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return out.p ? out : STR_EMPTY;
}

struct str
hide(
    struct arena *a, const struct request *r, struct str password, struct str s)
{
	for (size_t i = 0; i < r->n; i++) {
		struct str word = r->headers[i].value;

		if (!r->headers[i].secret)
			continue;
		s = without(a, s, word);
		(void)str_cut(&word, ' ');
		s = without(a, s, word);
	}
	return without(a, s, password);
}
