#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "reader/fetch/hatebu.h"
#include "reader/limits.h"

int64_t
hatebu_pause_ms(int64_t failures)
{
	static const struct {
		int64_t failures, minutes;
	} PAUSES[] = {{10, 360}, {5, 60}, {3, 30}};

	for (size_t i = 0; i < COUNT_OF(PAUSES); i++)
		if (failures >= PAUSES[i].failures)
			return PAUSES[i].minutes * 60000;
	return 0;
}

bool
hatebu_add_url(struct buf *query, struct str link)
{
	static const char HEX[] = "0123456789ABCDEF";

	if (query->n + 3 * link.n + 8 > HATEBU_QUERY_MAX)
		return false;
	buf_addz(query, query->n > 0 ? "&url=" : "url=");
	for (size_t i = 0; i < link.n; i++) {
		unsigned char c = (unsigned char)link.p[i];

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z') || (c && strchr("-._~", c))) {
			buf_addc(query, (char)c);
			continue;
		}
		buf_addc(query, '%');
		buf_addc(query, HEX[c >> 4]);
		buf_addc(query, HEX[c & 15]);
	}
	return !query->failed;
}

int
hatebu_counts(struct arena *a, struct str answer, const struct str *links,
    size_t n, int64_t *counts, struct err *e)
{
	struct json *doc = NULL;
	int rc = json_parse(a, answer, &doc, e);

	if (rc < 0)
		return rc;
	if (!json_is(doc, JSON_OBJECT))
		return err_set(e, ERR_INVALID, "the answer is no object");
	for (size_t i = 0; i < n; i++) {
		const struct json *j = json_step(doc, links[i]);

		counts[i] = 0;
		if (j && (!json_int(j, &counts[i]) || counts[i] < 0 ||
			     counts[i] > INT32_MAX))
			return err_set(e, ERR_INVALID,
			    "the answer has a count that is none");
	}
	return OK;
}
