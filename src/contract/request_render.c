/* request.h: texts filled with variables, as their place wants them. */
#include "contract/host.h"
#include "contract/limits.h"
#include "contract/request_priv.h"
#include "http/percent.h"

static bool
is_raw_json(enum var v)
{
	return v == VAR_ENVELOPE || v == VAR_PAYLOAD ||
	       v == VAR_PAYLOAD_MEMBERS || v == VAR_EXTENSIONS ||
	       v == VAR_WEBHOOK_CONFIG || v == VAR_SEQ ||
	       v == VAR_SCHEMA_VERSION || v == VAR_ATTEMPT ||
	       v == VAR_TIMESTAMP || v == VAR_TIMESTAMP_MS;
}

/* For a line of the log: whatever the bytes, it stays one line. */
static void
escaped(struct buf *b, struct str s)
{
	while (s.n > 0) {
		size_t good = str_utf8_bad(s);

		for (size_t i = 0; i < good; i++) {
			unsigned char c = (unsigned char)s.p[i];

			if (c == '\n')
				buf_addz(b, "\\n");
			else if (c == '\r')
				buf_addz(b, "\\r");
			else if (c == '\t')
				buf_addz(b, "\\t");
			else if (c < 0x20 || c == 0x7f)
				buf_fmt(b, "\\x%02x", c);
			else
				buf_addc(b, (char)c);
		}
		s = str_from(s, good);
		if (s.n > 0)
			buf_fmt(b, "\\x%02x", (unsigned char)s.p[0]);
		s = str_from(s, s.n > 0);
	}
}

/* Are we still between :// and the next slash? */
static bool
in_host(const struct buf *b)
{
	struct str s = buf_str(b), host;

	return host_of(s, &host) && host.p + host.n == s.p + s.n;
}

static void
add_to_url(struct maker *m, enum var var, struct str s, struct buf *b)
{
	/* These were checked as parts of a URL when they were saved. */
	bool checked = var == VAR_DOMAIN || var == VAR_USER_PATH ||
		       var == VAR_ORGANIZATION_PATH;

	if (!checked && !in_host(b))
		percent_add(b, s);
	else if (checked || host_label_ok(s))
		buf_add(b, s);
	else
		maker_fail(m, REASON_RENDER,
		    "a part of the host is no DNS label: letters, digits and - only");
}

/* One variable at its place; false when a header has to go without. */
static bool
add_value(struct maker *m, enum var var, enum vars_place place, struct buf *b)
{
	struct str s = STR_EMPTY;
	bool there = maker_value(m, var, &s);

	if (m->rc < 0)
		return false;
	if (!there && var == VAR_ACCOUNT && place == VARS_KEY)
		s = m->ev->key;
	switch (place) {
	case VARS_HEADER:
	case VARS_SECRET:
		buf_add(b, s);
		return there;
	case VARS_BODY:
		if (!there)
			buf_addz(b, "null");
		else if (is_raw_json(var))
			buf_add(b, s);
		else
			buf_json(b, s);
		break;
	case VARS_URL:
		if (there)
			add_to_url(m, var, s, b);
		else
			maker_fail(m, REASON_RENDER,
			    "a variable of the URL has no value");
		break;
	case VARS_LOG:
		escaped(b, s);
		break;
	case VARS_KEY:
	case VARS_SIGN:
		buf_add(b, s);
		break;
	}
	return m->rc == OK;
}

bool
maker_render(struct maker *m, const struct vars *v, enum vars_place place,
    struct str *ret)
{
	struct buf b = BUF(REQUEST_BODY_MAX);

	for (size_t i = 0; i < v->n; i++) {
		const struct vars_piece *p = &v->pieces[i];

		if (p->var == VAR_LITERAL) {
			buf_add(&b, p->text);
		} else if (!add_value(m, p->var, place, &b)) {
			buf_done(&b);
			return false;
		}
	}
	return maker_done(m, &b, ret);
}
