#include "api/app_feeds.h"

#include "api/api.h"

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
	struct api *api = r->app;

	a->r = r;
	a->reg.user = r->who.user;
	a->reg.done = done;
	r->ctx = a;
	r->then = added;
	if (!api->fetcher)
		return err_set(e, ERR_AWAY, "this server adds no feeds");
	return fetcher_register(api->fetcher, &a->reg, e) < 0 ? (int)e->code
							      : REQ_WAIT;
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
