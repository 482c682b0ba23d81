#include "contract/verdict.h"

#include "contract/limits.h"

static const struct {
	enum reason reason;
	const char *name, *text;
} REASONS[] = {
#define REASON(name, number, text) {REASON_##name, #name, text},
#include "contract/reasons.tbl"
#undef REASON
};

static const struct {
	const char *name;
	enum reason reason;
} NETS[] = {
    [NET_ANSWER] = {"answer", REASON_HTTP_STATUS},
    [NET_TIMEOUT] = {"timeout", REASON_TIMEOUT},
    [NET_NETWORK] = {"network", REASON_NETWORK},
    [NET_DNS] = {"dns", REASON_DNS},
    [NET_TLS] = {"tls", REASON_TLS},
    [NET_REFUSED] = {"refused", REASON_REFUSED},
    [NET_TOO_LARGE] = {"tooLarge", REASON_TOO_LARGE},
};

bool
verdict_standard_error(struct arena *a, struct str body)
{
	static const char *const STRINGS[] = {
	    "code", "message", "domain", "trace"};
	struct json *j;
	struct err e;

	if (body.n > VERDICT_BODY_MAX || json_parse(a, body, &j, &e) < 0 ||
	    !json_is(json_get(j, "status"), JSON_NUMBER))
		return false;
	for (size_t i = 0; i < COUNT_OF(STRINGS); i++)
		if (!json_is(json_get(j, STRINGS[i]), JSON_STRING))
			return false;
	return true;
}

static bool
fits(struct arena *a, const struct verdict_row *row, const struct outcome *o)
{
	bool standard;

	if (o->net != NET_ANSWER)
		return row->nets >> o->net & 1;
	if (o->status < row->from || o->status > row->to)
		return false;
	if (row->body == BODY_ANY)
		return true;
	/* What was cut off is over the limit, or can't be known. */
	standard = !o->cut && verdict_standard_error(a, o->body);
	return standard == (row->body == BODY_STANDARD_ERROR);
}

struct judgement
verdict_of(struct arena *a, const struct verdict_row *rows, size_t n,
    const struct outcome *o)
{
	struct judgement j = {VERDICT_DEAD, NETS[o->net].reason};

	for (size_t i = 0; i < n; i++)
		if (fits(a, &rows[i], o)) {
			j.verdict = rows[i].verdict;
			break;
		}
	if (j.verdict == VERDICT_OK)
		j.reason = REASON_NONE;
	if (j.verdict == VERDICT_GONE)
		j.reason = REASON_GONE;
	return j;
}

const char *
reason_name(enum reason r)
{
	for (size_t i = 0; i < COUNT_OF(REASONS); i++)
		if (REASONS[i].reason == r)
			return REASONS[i].name;
	return "UNKNOWN";
}

const char *
reason_text(enum reason r)
{
	for (size_t i = 0; i < COUNT_OF(REASONS); i++)
		if (REASONS[i].reason == r)
			return REASONS[i].text;
	return "a reason that this version does not know";
}

bool
reason_unjudged(int r)
{
	return r == REASON_FILTER_FAILED || r == REASON_FILTER_OVERRAN;
}

bool
reason_find(struct str name, enum reason *ret)
{
	for (size_t i = 0; i < COUNT_OF(REASONS); i++)
		if (str_eq(name, str_of(REASONS[i].name))) {
			*ret = REASONS[i].reason;
			return true;
		}
	return false;
}

bool
outcome_net_find(struct str name, enum outcome_net *ret)
{
	for (size_t i = 0; i < COUNT_OF(NETS); i++)
		if (str_eq(name, str_of(NETS[i].name))) {
			*ret = (enum outcome_net)i;
			return true;
		}
	return false;
}
