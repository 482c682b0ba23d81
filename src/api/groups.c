#include "api/groups.h"

#include "api/people/person.h"
#include "base/str.h"
#include "http/server/reply.h"

/* Seed 004. */
static int
task_error(struct buf *b, const struct http_error *x)
{
	struct http_error mine = *x;

	if (x->hidden) {
		mine.name = "INTERNAL_ERROR";
		(void)snprintf(mine.e.text, sizeof(mine.e.text),
		    "An unexpected error occurred");
	}
	http_error_write(b, &mine);
	return x->status;
}

static int
miniflux_error(struct buf *b, const struct http_error *x)
{
	struct str text = str_of(x->e.text);

	text.n = str_utf8_bad(text); /* it may be cut in mid-character */
	buf_addz(b, "{\"error_message\":");
	buf_json(b, text);
	buf_addc(b, '}');
	return x->status == 422 ? 400 : x->status;
}

const struct route_group FOR_TASKS = {.error = task_error};
const struct route_group FOR_PEOPLE = {
    .error = person_error, .by_browsers = true};
const struct route_group FOR_MINIFLUX = {
    .error = miniflux_error, .by_apps = true};
const struct route_group FOR_APPS = {.by_apps = true};
