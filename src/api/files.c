#include "api/files.h"

#include "api/handlers.h"
#include "http/server/gzip.h"

static const struct file *
file_find(struct str path)
{
	for (const struct file *f = FILES; f->path; f++)
		if (str_eq(path, str_of(f->path)))
			return f;
	return NULL;
}

/* If-None-Match: a list of tags, or anything. */
static bool
has_tag(struct str list, const char *etag)
{
	while (list.n > 0) {
		struct str one = str_trim(str_cut(&list, ','));

		if (str_starts(one, STR("W/")))
			one = str_from(one, 2);
		if (str_eq(one, STR("*")) || str_eq(one, str_of(etag)))
			return true;
	}
	return false;
}

int
api_files(struct req *r, struct db *, struct err *e)
{
	const struct file *f = file_find(r->path);
	bool zip;

	if (!f)
		return err_set(e, ERR_ABSENT, "there is no such file");
	zip = f->zip.n > 0 && gzip_accepted(req_header(r, "Accept-Encoding"));
	req_add_header(r, "ETag", f->etag);
	req_add_header(r, "Cache-Control", "no-cache");
	if (f->zip.n > 0)
		req_add_header(r, "Vary", "Accept-Encoding");
	if (has_tag(req_header(r, "If-None-Match"), f->etag)) {
		r->status = 304;
		return OK;
	}
	req_add_header(r, "Content-Security-Policy",
	    "default-src 'none'; script-src 'self'; style-src 'self'; "
	    "img-src 'self' data:; font-src 'self'; connect-src 'self'; "
	    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
	req_add_header(r, "Referrer-Policy", "no-referrer");
	if (zip)
		req_add_header(r, "Content-Encoding", "gzip");
	r->content_type = f->type;
	buf_add(&r->out, zip ? f->zip : f->plain);
	return OK;
}
