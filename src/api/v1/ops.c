/* Is it alive, is it ready, how does it fare. */
#include <pthread.h>

#include "api/api.h"
#include "api/handlers.h"
#include "api/openapi.h"
#include "base/log/metric.h"
#include "base/put.h"
#include "event/append.h"
#include "http/server/gzip.h"
#include "http/server/limits.h"
#include "ops/alerts.h"

int
api_health(struct req *r, struct db *, struct err *)
{
	buf_addz(&r->out, "{\"status\":\"ok\"}");
	return OK;
}

int
api_ready(struct req *r, struct db *, struct err *e)
{
	struct api *api = r->app;

	if (atomic_load(&api->stopping))
		return err_set(e, ERR_AWAY, "the server is stopping");
	TRY(append_ready(api->append, e));
	put_open(&r->out, NULL, '{');
	put_z(&r->out, "status", "ready");
	if (api->held)
		put_z(&r->out, "held",
		    "restored from a backup: nothing is delivered, relayed or fetched until hikyaku resume");
	put_close(&r->out, '}');
	return OK;
}

int
api_metrics(struct req *r, struct db *, struct err *)
{
	struct api *api = r->app;

	metric_set(M_STREAMS, atomic_load(&api->streams));
	metric_write(&r->out);
	if (api->alerts)
		alerts_write(api->alerts, &r->out);
	r->content_type = "text/plain; version=0.0.4; charset=utf-8";
	return OK;
}

/* Anybody may ask for it, again and again: it is written and packed once. */
static struct {
	pthread_once_t once;
	struct buf plain, zip;
} openapi = {.once = PTHREAD_ONCE_INIT};

static void
openapi_make(void)
{
	openapi.plain.limit = openapi.zip.limit = HTTP_OUT_MAX;
	openapi_write(API_ROUTES, API_ROUTE_COUNT, &openapi.plain);
	if (!gzip_add(&openapi.zip, buf_str(&openapi.plain)))
		buf_clear(&openapi.zip);
}

int
api_openapi(struct req *r, struct db *, struct err *)
{
	(void)pthread_once(&openapi.once, openapi_make);
	if (openapi.zip.n > 0 &&
	    gzip_accepted(req_header(r, "Accept-Encoding"))) {
		req_add_header(r, "Vary", "Accept-Encoding");
		req_add_header(r, "Content-Encoding", "gzip");
		buf_add(&r->out, buf_str(&openapi.zip));
	} else {
		buf_add(&r->out, buf_str(&openapi.plain));
	}
	return OK;
}

int
api_ping(struct req *r, struct db *, struct err *)
{
	r->status = 204;
	return OK;
}
