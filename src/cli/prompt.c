#include "cli/prompt.h"

#include <errno.h>
#include <termios.h>
#include <unistd.h>

#include "seal/limits.h"

int
prompt_line(struct cli *c, struct str *ret, struct err *e)
{
	char line[PASSWORD_MAX + 2];
	size_t n = 0;
	ssize_t got = 0;

	/* Byte by byte: what follows the line is not ours. */
	while (n < sizeof(line) && (got = read(0, line + n, 1)) == 1 &&
	       line[n] != '\n')
		n++;
	if (got < 0)
		return err_set(e, ERR_IO,
		    "the standard input can't be read: %s", strerror(errno));
	if (n > 0 && line[n - 1] == '\r')
		n--;
	*ret = arena_dup(c->arena, (struct str){line, n});
	explicit_bzero(line, sizeof(line));
	return OK;
}

int
prompt_text(struct cli *c, const char *what, struct str *ret, struct err *e)
{
	(void)fprintf(c->err, "%s: ", what);
	(void)fflush(c->err);
	return prompt_line(c, ret, e);
}

int
prompt_secret(struct cli *c, const char *what, struct str *ret, struct err *e)
{
	struct termios was, quiet;
	int rc;

	if (tcgetattr(0, &was) < 0)
		return err_set(e, ERR_IO, "the terminal can't be asked: %s",
		    strerror(errno));
	quiet = was;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	(void)fprintf(c->err, "%s: ", what);
	(void)fflush(c->err);
	(void)tcsetattr(0, TCSAFLUSH, &quiet);
	rc = prompt_line(c, ret, e);
	(void)tcsetattr(0, TCSAFLUSH, &was);
	(void)fputc('\n', c->err);
	return rc;
}
