#include "cli/receiver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include "contract/limits.h"
#include "contract/receive.h"

struct receiver {
	struct receiver_opts o;
	struct MHD_Daemon *daemon;
};

/* A request while its body arrives. */
struct incoming {
	struct buf body;
	struct arena *arena;
};

static enum MHD_Result
each_header(void *arg, enum MHD_ValueKind, const char *name, const char *value)
{
	struct received *r = arg;
	struct str_pair *list = (void *)(uintptr_t)r->headers;

	if (r->n < REQUEST_HEADERS_MAX)
		list[r->n++] = (struct str_pair){str_of(name), str_of(value)};
	return MHD_YES;
}

static enum MHD_Result
receiver_answer(struct MHD_Connection *conn, unsigned status, struct str body)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
	    body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result rc = MHD_NO;

	if (r) {
		(void)MHD_add_response_header(
		    r, "Content-Type", "application/json");
		rc = MHD_queue_response(conn, status, r);
		MHD_destroy_response(r);
	}
	return rc;
}

static enum MHD_Result
complete(struct receiver *x, struct MHD_Connection *conn, struct incoming *in,
    const char *url, const char *method)
{
	struct received r = {.line = STR_EMPTY,
	    .headers =
		arena_array(in->arena, REQUEST_HEADERS_MAX, sizeof(*r.headers)),
	    .body = buf_str(&in->body)};

	/* A hub says that it is well before it is called. */
	if (str_eq(str_of(method), STR("GET")) &&
	    str_ends(str_of(url), STR("/g/api/pca119")))
		return receiver_answer(
		    conn, MHD_HTTP_OK, STR("{\"Status\":2}"));
	if (in->body.failed)
		return receiver_answer(conn, MHD_HTTP_CONTENT_TOO_LARGE,
		    STR("{\"error\":\"too large\"}"));
	(void)MHD_get_connection_values(conn, MHD_HEADER_KIND, each_header, &r);
	return receiver_answer(
	    conn, x->o.take(x->o.arg, method, url, &r, in->arena), STR("{}"));
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *conn, const char *url,
    const char *method, const char *, const char *data, size_t *data_size,
    void **ctx)
{
	struct incoming *in = *ctx;

	if (!in) {
		in = mem_get(sizeof(*in));
		in->body = BUF(REQUEST_BODY_MAX);
		in->arena = arena_new(MIB);
		*ctx = in;
		return MHD_YES;
	}
	if (*data_size > 0) {
		buf_add(&in->body, (struct str){data, *data_size});
		*data_size = 0;
		return MHD_YES;
	}
	return complete(arg, conn, in, url, method);
}

static void
completed(void *, struct MHD_Connection *, void **ctx,
    enum MHD_RequestTerminationCode)
{
	struct incoming *in = *ctx;

	if (!in)
		return;
	buf_done(&in->body);
	arena_free(in->arena);
	free(in);
	*ctx = NULL;
}

int
receiver_start(
    const struct receiver_opts *o, struct receiver **ret, struct err *e)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)o->port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct receiver *x = mem_get(sizeof(*x));

	x->o = *o;
	x->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL,
	    NULL, on_request, x, MHD_OPTION_SOCK_ADDR, &at,
	    MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
	    MHD_OPTION_CONNECTION_TIMEOUT, 60U, MHD_OPTION_END);
	if (!x->daemon) {
		free(x);
		return err_set(e, ERR_IO, "can't listen on 127.0.0.1:%lld: %s",
		    (long long)o->port, strerror(errno));
	}
	*ret = x;
	return OK;
}

void
receiver_stop(struct receiver *x)
{
	if (!x)
		return;
	MHD_stop_daemon(x->daemon);
	free(x);
}

unsigned
receiver_port(const struct receiver *x)
{
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(x->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : (unsigned)x->o.port;
}
