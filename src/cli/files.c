#include "cli/files.h"

#include <sys/resource.h>

#include "base/log/log.h"
#include "cli/limits.h"
#include "http/server/limits.h"

int
files_fit(uint64_t limit, int wanted, int others)
{
	int64_t own = FILES_OWN + HTTP_LOCAL_EXTRA + HTTP_LINGER_MAX + others;
	int64_t room;

	if (limit > HTTP_FDS_MAX)
		limit = HTTP_FDS_MAX;
	room = (int64_t)limit - own;
	if (room >= wanted)
		return wanted;
	return room < 1 ? 1 : (int)room;
}

int
files_raise(int wanted, int others)
{
	struct rlimit l;
	rlim_t was;
	int fit;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return wanted;
	was = l.rlim_cur;
	if (l.rlim_cur < HTTP_FDS_MAX) {
		l.rlim_cur =
		    l.rlim_max < HTTP_FDS_MAX ? l.rlim_max : HTTP_FDS_MAX;
		if (setrlimit(RLIMIT_NOFILE, &l) < 0)
			l.rlim_cur = was;
	}
	fit = files_fit(l.rlim_cur, wanted, others);
	if (fit < wanted)
		log_fmt(LOG_WARN, "fewer connections than http.connections.max",
		    "%d instead of %d: the limit of open files (ulimit -n) is "
		    "%llu, and %d are for the program itself",
		    fit, wanted, (unsigned long long)l.rlim_cur,
		    (int)l.rlim_cur - fit);
	return fit;
}
