/* confdoc - writes docs/settings.md from config.tbl: `make docs`. */
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/limits.h"

int
main(void)
{
	struct buf b = BUF(MIB);
	bool bad;

	conf_doc(&b);
	bad = b.failed || fwrite(b.p, 1, b.n, stdout) != b.n ||
	      fflush(stdout) != 0;
	buf_done(&b);
	return bad;
}
