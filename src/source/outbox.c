#include "source/outbox.h"

#define NAME_MAX_LEN 63 /* PostgreSQL would cut a longer one */

static bool
is_name(struct str s)
{
	if (s.n == 0 || s.n > NAME_MAX_LEN || (s.p[0] >= '0' && s.p[0] <= '9'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return true;
}

int
outbox_table(const char *name, char ret[OUTBOX_TABLE_MAX], struct err *e)
{
	struct str rest = str_of(name), first = str_cut(&rest, '.');
	bool two = strchr(name, '.') != NULL;

	if (!is_name(first) || (two && !is_name(rest)))
		return err_set(e, ERR_INVALID,
		    "outbox.table must be NAME or SCHEMA.NAME of letters, digits and _, not \"%.80s\"",
		    name);
	if (two)
		(void)snprintf(ret, OUTBOX_TABLE_MAX, "\"%.*s\".\"%.*s\"",
		    STR_ARG(first), STR_ARG(rest));
	else
		(void)snprintf(
		    ret, OUTBOX_TABLE_MAX, "\"%.*s\"", STR_ARG(first));
	return OK;
}

const char *
outbox_file(const char *url)
{
	static const char SCHEME[] = "sqlite://";

	return strncmp(url, SCHEME, sizeof(SCHEME) - 1) == 0
		   ? url + sizeof(SCHEME) - 1
		   : NULL;
}
