/* What is here, for whoever comes to the door: a page, or JSON. */
#include "api/api.h"
#include "api/handlers.h"
#include "base/put.h"
#include "base/version.h"

static const struct {
	const char *name, *path, *words;
} LINKS[] = {
    {"docs", "/docs", "the API, to read and to try"},
    {"openapi", "/openapi.json", "the API, described for programs"},
    {"alive", "/healthz", "whether the server is alive"},
    {"ready", "/readyz", "whether it takes events"},
    {"events", "/v1/events", "the log: publish and read, with a key"},
    {"subscriptions", "/v1/subscriptions", "who wants which events"},
    {"reader", "/api/subscriptions", "the feeds that you read"},
    {"metrics", "/metrics", "how it fares, for Prometheus"},
};

static bool
there(const char *path)
{
	for (size_t i = 0; i < API_ROUTE_COUNT; i++)
		if (strcmp(API_ROUTES[i].path, path) == 0)
			return true;
	return false;
}

static void
root_page(struct buf *b)
{
	buf_fmt(b,
	    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<title>Hikyaku</title>\n<h1>Hikyaku %s</h1>\n"
	    "<p>This server carries change to whoever needs to know: programs publish events here, "
	    "and it takes each to every system that asked. It runs.</p>\n<ul>\n",
	    HIKYAKU_VERSION);
	for (size_t i = 0; i < COUNT_OF(LINKS); i++)
		if (there(LINKS[i].path))
			buf_fmt(b, "<li><a href=\"%s\">%s</a>: %s</li>\n",
			    LINKS[i].path, LINKS[i].path, LINKS[i].words);
	buf_addz(b,
	    "</ul>\n<p>Most of these ask for a key or a password. On the server's machine "
	    "<code>hikyaku --help</code> lists what can be done at a prompt.</p>\n</html>\n");
}

int
api_root(struct req *r, struct db *, struct err *)
{
	struct buf *b = &r->out;

	req_add_header(r, "Vary", "Accept");
	if (strstr(arena_z(r->arena, req_header(r, "Accept")), "text/html")) {
		req_add_header(
		    r, "Content-Security-Policy", "default-src 'none'");
		r->content_type = "text/html; charset=utf-8";
		root_page(b);
		return OK;
	}
	put_open(b, NULL, '{');
	put_z(b, "name", "hikyaku");
	put_z(b, "version", HIKYAKU_VERSION);
	put_open(b, "links", '{');
	for (size_t i = 0; i < COUNT_OF(LINKS); i++)
		if (there(LINKS[i].path))
			put_z(b, LINKS[i].name, LINKS[i].path);
	put_close(b, '}');
	put_close(b, '}');
	return OK;
}
