#include "reader/fetcher_priv.h"

struct hatebu {
	struct fetcher *f;
};
int
hatebu_new(struct fetcher *f, struct hatebu **ret, struct err *e)
{
	(void)e;
	struct hatebu *h = calloc(1, sizeof(*h));
	h->f = f;
	*ret = h;
	return OK;
}
void
hatebu_run(struct hatebu *h)
{
	(void)h;
}
int
hatebu_patience_ms(const struct hatebu *h)
{
	(void)h;
	return 60000;
}
void
hatebu_free(struct hatebu *h)
{
	free(h);
}
