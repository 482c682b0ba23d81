#include <stdarg.h>

#include "hk_priv.h"

#undef hk_fail
#undef lib_nomem
#undef lib_from

const char *
hk_version(void)
{
	return HK_VERSION;
}

const char *
hk_code_name(int code)
{
	static const char *const NAMES[] = {"HK_OK", "HK_INVALID", "HK_REFUSED",
	    "HK_DENIED", "HK_ABSENT", "HK_CONFLICT", "HK_BUSY", "HK_NETWORK",
	    "HK_FULL", "HK_NOMEM", "HK_EMPTY", "HK_STOPPED", "HK_DB",
	    "HK_UNSIGNED", "HK_FIELD", "HK_TIME", "HK_WRONG", "HK_REPLAYED",
	    "HK_RETRY", "HK_DEAD", "HK_PROTOCOL"};

	return code <= 0 && code > -(int)COUNT_OF(NAMES) ? NAMES[-code]
							 : "HK_UNKNOWN";
}

int
hk_fail(struct hk_error *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	memset(e, 0, sizeof(*e));
	e->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int
lib_nomem(struct hk_error *e)
{
	return hk_fail(e, HK_NOMEM, "no memory");
}

void
lib_text(char *ret, size_t room, struct str s)
{
	size_t n = s.n < room ? s.n : room - 1;

	if (n > 0)
		memcpy(ret, s.p, n);
	/* Cut between two characters. */
	n = str_utf8_bad((struct str){ret, n});
	ret[n] = '\0';
}

int
lib_from(const struct err *from, struct hk_error *e)
{
	int code = from->code == ERR_LIMIT ? HK_FULL : HK_INVALID;

	(void)hk_fail(e, code, "%s", from->text);
	lib_text(e->pointer, sizeof(e->pointer), str_of(from->at));
	return code;
}

int
lib_status_code(int status)
{
	switch (status) {
	case 401:
	case 403:
		return HK_DENIED;
	case 404:
		return HK_ABSENT;
	case 409:
		return HK_CONFLICT;
	case 408:
	case 429:
		return HK_BUSY;
	default:
		break;
	}
	if (status / 100 == 2)
		return HK_OK;
	if (status / 100 == 4)
		return HK_REFUSED;
	return status / 100 == 5 ? HK_BUSY : HK_PROTOCOL;
}

static void
member(char *ret, size_t room, const struct json *j)
{
	if (json_is(j, JSON_STRING))
		lib_text(ret, room, j->text);
}

void
lib_server_error(const struct json *j, int status, struct hk_error *e)
{
	(void)hk_fail(
	    e, lib_status_code(status), "the server answered %d", status);
	e->status = status;
	member(e->name, sizeof(e->name), json_get(j, "code"));
	member(e->text, sizeof(e->text), json_get(j, "message"));
	member(e->pointer, sizeof(e->pointer), json_get(j, "pointer"));
}
