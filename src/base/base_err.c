#include <stdarg.h>

#include "base/base.h"

#undef err_at

int
err_at(struct err *e, enum err_code code, const char *at, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	e->retry_after_s = 0;
	e->word = NULL;
	e->inside = false;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	(void)snprintf(e->at, sizeof(e->at), "%s", at);
	return code;
}

int
err_word(struct err *e, const char *word)
{
	e->word = word;
	return e->code;
}
