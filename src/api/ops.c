#include "api/ops.h"

#include "api/api.h"
#include "base/metric.h"
#include "event/append.h"
#include "http/openapi.h"
#include "ops/alerts.h"

int
api_health(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	buf_addz(&r->out, "{\"status\":\"ok\"}");
	return OK;
}

int
api_ready(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;

	(void)db;
	if (atomic_load(&api->stopping))
		return err_set(e, ERR_AWAY, "the server is stopping");
	if (!append_store_up(api->append))
		return err_set(e, ERR_AWAY, "the store does not answer");
	buf_addz(&r->out, "{\"status\":\"ready\"}");
	return OK;
}

int
api_metrics(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;

	(void)db;
	(void)e;
	metric_set(M_STREAMS, atomic_load(&api->streams));
	metric_write(&r->out);
	if (api->alerts)
		alerts_write(api->alerts, &r->out);
	r->content_type = "text/plain; version=0.0.4; charset=utf-8";
	return OK;
}

int
api_openapi(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	openapi_write(API_ROUTES, API_ROUTE_COUNT, &r->out);
	return OK;
}

int
api_ping(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	r->status = 204;
	return OK;
}
