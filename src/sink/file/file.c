#include "sink/file/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/conf/conf.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/detail.h"
#include "http/server/limits.h"
#include "sink/sink_driver.h"

#define NAME_MAX_BYTES 64

struct str
file_name(struct str url)
{
	struct str name = url;

	(void)str_cut(&name, ':');
	if (name.n > NAME_MAX_BYTES || str_starts(name, STR(".")))
		return STR_EMPTY;
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) &&
		    !strchr("._-", name.p[i]))
			return STR_EMPTY;
	return name;
}

static int
file_check(const struct sub_conf *s, const struct conf *c, struct err *e)
{
	if (!c->sink_file_folder[0])
		return 0;
	if (file_name(s->url).n == 0)
		return err_at(e, ERR_INVALID, "/url",
		    "must be file:NAME, with up to %d letters, digits, dots, dashes and underscores",
		    NAME_MAX_BYTES);
	return 1;
}

static void *
file_open(struct deliver *d)
{
	return d;
}

/* All of the line or nothing of it. */
static int
append_line(const char *folder, struct str name, struct str line, struct err *e)
{
	char path[PATH_MAX];
	ssize_t n = -1;
	off_t end;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%.*s", folder, STR_ARG(name));
	fd = open(
	    path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	end = lseek(fd, 0, SEEK_END);
	if (end >= 0)
		n = write(fd, line.p, line.n);
	if (n != (ssize_t)line.n) {
		(void)err_set(e, ERR_IO, "%s: %s", path,
		    n < 0 ? strerror(errno) : "there is no room");
		if (n > 0 && ftruncate(fd, end) < 0)
			(void)err_set(e, ERR_IO, "%s: half a line", path);
	}
	(void)close(fd);
	return n == (ssize_t)line.n ? OK : ERR_IO;
}

static void
add_line(const struct attempt *a, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "deliveryId", a->at.delivery_id);
	put_uuid(b, "eventId", a->ev.event_id);
	put_text(b, "type", a->ev.type);
	put_int(b, "attempt", a->at.number);
	/* One line: what was published may have several. */
	put_text(b, "body", a->ev.rendered.p ? a->ev.rendered : a->ev.body);
	buf_addz(b, "}\n");
}

static void
file_call(void *self, struct attempt *a)
{
	const char *folder = deliver_opts(self)->conf->sink_file_folder;
	int64_t began_us = deliver_now(a->d);
	struct buf line CLEANUP(buf_done) = BUF(HTTP_ARENA_MAX);
	struct core_result r = {.verdict = CORE_OK};
	struct err e = {0};
	int rc;

	add_line(a, &line);
	if (!folder[0])
		rc = err_set(&e, ERR_IO, "sink.file.folder is not set");
	else if (line.failed)
		rc = err_set(&e, ERR_LIMIT, "the event is too large");
	else
		rc = append_line(
		    folder, file_name(a->conf->conf->url), buf_str(&line), &e);
	r.took_us = deliver_now(a->d) - began_us;
	if (rc < 0) {
		r.reason = REASON_NETWORK;
		attempt_retry(a, -1, &r);
		r.detail = detail_error(str_of(e.text));
	}
	attempt_end(a, &r, rc < 0 ? e.text : "");
}

const struct sink_driver SINK_FILE = {
    .scheme = "file",
    .check = file_check,
    .open = file_open,
    .call = file_call,
};
