#include "api/api.h"
#include "api/limits.h"

static int
too_many(struct err *e, const char *who, int most)
{
	(void)err_set(e, ERR_BUSY,
	    "%s has %d live streams and long polls at once, not more", who,
	    most);
	e->retry_after_s = 5;
	return ERR_BUSY;
}

/* By which of its shares one more is too many; then nothing is counted. */
int
api_count_stream(struct req *r, struct err *e)
{
	struct api *api = r->app;
	unsigned who = share_principal(&api->followers, &r->who);
	unsigned net = share_network(&api->followers, r->peer);
	bool local = r->who.kind == WHO_LOCAL;
	size_t mine = share_add(&api->followers, who, 1);
	size_t near = share_add(&api->followers, net, 1);
	int all = atomic_fetch_add(&api->streams, 1) + 1;
	int rc = OK;

	if (all > HTTP_STREAMS_MAX)
		rc = too_many(e, "this server", HTTP_STREAMS_MAX);
	else if (mine > HTTP_STREAMS_EACH && !local)
		rc = too_many(e, "one caller", HTTP_STREAMS_EACH);
	else if (near > HTTP_STREAMS_NETWORK && !local)
		rc = too_many(e, "one network", HTTP_STREAMS_NETWORK);
	if (rc < 0)
		api_uncount_stream(r);
	return rc;
}

void
api_uncount_stream(struct req *r)
{
	struct api *api = r->app;

	(void)atomic_fetch_sub(&api->streams, 1);
	share_sub(
	    &api->followers, share_principal(&api->followers, &r->who), 1);
	share_sub(&api->followers, share_network(&api->followers, r->peer), 1);
}
