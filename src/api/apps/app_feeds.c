#include "api/apps/app_feeds.h"

#include "api/api.h"
#include "api/people/feed_register.h"

static void
done(struct registration *reg)
{
	req_wake(MAIL_OF(reg, struct app_feed, reg)->r);
}

/* The fetcher is through; on the http thread. */
static int
added(struct req *r, struct err *e)
{
	struct app_feed *a = r->ctx;

	if (a->reg.err.code != OK) {
		*e = a->reg.err;
		return e->code;
	}
	r->then = api_said;
	return api_write(r, a->finish, e);
}

int
app_feed_add(struct req *r, struct app_feed *a, struct err *e)
{
	a->r = r;
	a->reg.done = done;
	r->ctx = a;
	r->then = added;
	return feed_register(r, &a->reg, e);
}

static int
written(struct req *r, struct err *e)
{
	struct api *api = r->app;

	if (r->rc >= 0)
		fetcher_poke(api->fetcher);
	return api_said(r, e);
}

int
app_write_due(struct req *r, handler_fn fn, struct err *e)
{
	r->then = written;
	return api_write(r, fn, e);
}
