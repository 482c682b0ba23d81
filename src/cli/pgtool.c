#include "cli/pgtool.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>

#include "http/percent.h"

const char *
pgtool_url(struct arena *a, const char *url)
{
	struct str rest = str_of(url), user, password = STR_EMPTY;
	const char *slashes = strstr(url, "://");
	struct err e;
	size_t at;

	if (!slashes || !strchr(slashes, '@'))
		return url;
	at = (size_t)(slashes - url) + 3;
	rest = str_from(rest, at);
	user = str_cut(&rest, '@');
	if (str_has(user, '/') || str_has(user, '?'))
		return url; /* the @ is not of its user */
	password = user;
	user = str_cut(&password, ':');
	if (password.n == 0)
		return url;
	if (percent_decode(a, password, false, "password", &password, &e) < 0)
		return url; /* which libpq will refuse */
	(void)setenv("PGPASSWORD", arena_z(a, password), 1);
	return arena_fmt(
	    a, "%.*s%.*s@%.*s", (int)at, url, STR_ARG(user), STR_ARG(rest))
	    .p;
}

int
pgtool_run(const char *const *argv, struct err *e)
{
	char *const *args;
	pid_t pid = 0;
	int rc, status = 0;

	memcpy(&args, &argv, sizeof(args)); /* posix_spawn changes nothing */
	rc = posix_spawnp(&pid, argv[0], NULL, NULL, args, environ);
	if (rc == ENOENT)
		return err_set(e, ERR_ABSENT,
		    "%s is not installed here: it comes with PostgreSQL's client (Debian: postgresql-client)",
		    argv[0]);
	if (rc != 0)
		return err_set(e, ERR_IO, "%s: %s", argv[0], strerror(rc));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(
		    e, ERR_IO, "%s failed; its last lines say why", argv[0]);
	return OK;
}
