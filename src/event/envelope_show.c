#include "event/envelope.h"
#include "seal/tenant.h"

/* Stored bodies: as they are shown, and what is found in them unparsed. */

void
envelope_show_open(
    struct buf *b, struct str body, int64_t seq, int64_t received_us)
{
	assert(body.n > 2 && body.p[0] == '{' && body.p[body.n - 1] == '}');
	body.n--;
	buf_add(b, body);
	buf_addz(b, ",\"seq\":");
	buf_int(b, seq);
	buf_addz(b, ",\"receivedAt\":\"");
	time_add(b, received_us);
	buf_addc(b, '"');
}

void
envelope_show(struct buf *b, struct str body, int64_t seq, int64_t received_us)
{
	envelope_show_open(b, body, seq, received_us);
	buf_addc(b, '}');
}

void
envelope_show_all(struct buf *b, struct str body, int64_t seq,
    int64_t received_us, struct str deliveries)
{
	envelope_show_open(b, body, seq, received_us);
	buf_addz(b, ",\"deliveries\":");
	buf_add(b, deliveries);
	buf_addc(b, '}');
}

/* Behind the string that begins at `at`; the end when it has none. */
static size_t
string_end(struct str s, size_t at)
{
	for (at++; at < s.n && s.p[at] != '"'; at++)
		at += s.p[at] == '\\';
	return at < s.n ? at + 1 : s.n;
}

bool
envelope_text(struct str body, struct str quoted, struct str *ret)
{
	size_t at = 0, depth = 0;

	while (at < body.n) {
		char c = body.p[at];
		size_t end = c == '"' ? string_end(body, at) : at + 1;
		struct str s = {body.p + at, end - at};

		depth += c == '{' || c == '[';
		depth -= depth > 0 && (c == '}' || c == ']');
		at = end;
		if (depth != 1 || !str_eq(s, quoted))
			continue;
		s = str_trim(str_from(body, at));
		if (!str_pass(&s, STR(":")))
			continue; /* a value that looks like the name */
		s = str_trim(s);
		if (s.n < 2 || s.p[0] != '"')
			return false;
		end = string_end(s, 0);
		*ret = (struct str){s.p + 1, end - 2};
		return end > 1 && s.p[end - 1] == '"';
	}
	return false;
}

bool
envelope_correlation(struct str body, struct uuid *ret)
{
	struct str s;

	return envelope_text(body, STR("\"correlationId\""), &s) &&
	       uuid_parse(s, ret);
}

void
envelope_put_tenant(
    struct buf *b, const char *name, struct str body, struct uuid tenant)
{
	struct str s;
	struct uuid u;

	if (envelope_text(body, STR("\"tenantId\""), &s) &&
	    tenant_parse(s, &u) && uuid_eq(u, tenant))
		put_text(b, name, s);
	else
		put_uuid(b, name, tenant);
}
