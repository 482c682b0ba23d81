#include "api/apps/app_read.h"

#include "api/api.h"
#include "base/clock.h"

static int looked(struct req *r, struct err *e);

/* On a read thread. */
static int
look(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	int rc = a->find && !a->found ? a->find(r, db, e) : OK;

	if (rc < 0)
		return rc;
	a->found = true;
	rc = sync_reading_next(db, r->who.user, &a->what, r->arena, e);
	return rc == OK && a->what.n == 0 ? a->finish(r, db, e) : rc;
}

/* On the commit thread. */
static int
step(struct req *r, struct db *db, struct err *e)
{
	const struct app_reading *a = r->ctx;

	return sync_set_read(
	    db, r->who.user, a->what.ids, a->what.n, true, clock_now_us(), e);
}

static int
stepped(struct req *r, struct err *e)
{
	if (r->rc < 0)
		return api_said(r, e);
	r->then = looked;
	return api_read(r, look, e);
}

static int
looked(struct req *r, struct err *e)
{
	const struct app_reading *a = r->ctx;

	if (r->rc < 0 || a->what.n == 0)
		return api_said(r, e);
	r->then = stepped;
	return api_write(r, step, e);
}

int
app_read_all(struct req *r, struct app_reading *a, struct err *e)
{
	r->ctx = a;
	r->then = looked;
	return api_read(r, look, e);
}
