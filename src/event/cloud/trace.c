#include "event/cloud/trace.h"

#include "event/envelope.h"

/* Lower case alone, and not nothing but zeros. */
static bool
hex(struct str s, bool some)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
		some |= c != '0';
	}
	return some;
}

bool
trace_valid(struct str t)
{
	/* A later version may be longer; none is fixed yet. */
	return t.n == TRACE_LEN && t.p[2] == '-' && t.p[35] == '-' &&
	       t.p[52] == '-' && memcmp(t.p, "00", 2) == 0 &&
	       hex((struct str){t.p + 3, 32}, false) &&
	       hex((struct str){t.p + 36, 16}, false) &&
	       hex((struct str){t.p + 53, 2}, true);
}

bool
trace_of(struct str body, struct str *ret)
{
	static const struct str NAME = STR("\"traceparent\"");

	/* Most have none, which is seen at once. */
	return memmem(body.p, body.n, NAME.p, NAME.n) &&
	       envelope_text(body, NAME, ret) && trace_valid(*ret);
}

void
trace_next(struct str t, char ret[TRACE_LEN + 1])
{
	struct uuid span = uuid_v4(); /* eight of its bytes */
	char text[UUID_LEN + 1];

	/* Its last two groups but the variant's digit: never all zeros. */
	uuid_format(span, text);
	(void)snprintf(ret, TRACE_LEN + 1, "%.36s%.4s%.12s%.3s", t.p, text + 19,
	    text + 24, t.p + 52);
}
