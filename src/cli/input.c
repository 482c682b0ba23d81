#include "cli/input.h"

#include <errno.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

int
input_read(const char *path, struct buf *b, struct err *e)
{
	bool standard = !path || str_eq(str_of(path), STR("-"));
	FILE *f = standard ? stdin : fopen(path, "re");
	size_t n;
	int rc = OK;

	if (!f)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	do {
		char *p = buf_room(b, 64 * KIB);

		n = p ? fread(p, 1, 64 * KIB, f) : 0;
		b->n += n;
	} while (n > 0);
	if (b->failed)
		rc = err_set(
		    e, ERR_LIMIT, "the input is over %zu MiB", b->limit / MIB);
	else if (ferror(f))
		rc = err_set(e, ERR_IO, "reading failed: %s", strerror(errno));
	if (!standard)
		(void)fclose(f);
	return rc;
}
