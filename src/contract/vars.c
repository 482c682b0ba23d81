#include "contract/vars.h"

#include "base/near.h"
#include "contract/limits.h"

static const struct {
	const char *name;
	unsigned places;
} VARS[] = {
#define VAR(id, name, places, help) [VAR_##id] = {name, places},
#include "contract/vars.tbl"
#undef VAR
};

/* What follows the opening brace at `from`, up to its closing one. */
static bool
name_at(struct str text, size_t from, struct str *ret)
{
	size_t i = from;

	while (i < text.n && text.p[i] != '}' && text.p[i] != '{')
		i++;
	*ret = (struct str){text.p + from, i - from};
	return i < text.n && text.p[i] == '}';
}

static int
unknown(struct str name, const char *at, struct err *e)
{
	struct near n = near_to(name);
	int shown = name.n < 64 ? (int)name.n : 64;

	for (size_t i = 0; i < COUNT_OF(VARS); i++)
		if (VARS[i].places & ~VARS_HUB)
			near_try(&n, VARS[i].name);
	if (n.best)
		return json_wrong(e, at,
		    "has an unknown variable {%.*s}; did you mean {%s}?", shown,
		    name.p, n.best);
	return json_wrong(
	    e, at, "has an unknown variable {%.*s}", shown, name.p);
}

static int
one_var(struct str name, enum vars_place place, const char *at, enum var *ret,
    struct err *e)
{
	if (!vars_find(name, ret))
		return unknown(name, at, e);
	if (VARS[*ret].places & place)
		return OK;
	if ((VARS[*ret].places & ~VARS_HUB) == VARS_SECRET)
		return json_wrong(e, at,
		    "has {%.*s}, which may stand in a header marked secret only",
		    STR_ARG(name));
	return json_wrong(
	    e, at, "has {%.*s}, which has no place here", STR_ARG(name));
}

/* The text as pieces; `pieces` has room for VARS_PIECES_MAX. */
static int
split(struct str text, enum vars_place place, const char *at,
    struct vars_piece *pieces, size_t *ret_n, struct err *e)
{
	size_t n = 0, begin = 0;
	struct str name;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '{' || i + 1 == text.n ||
		    !str_is_letter(text.p[i + 1]))
			continue;
		if (n + 3 > VARS_PIECES_MAX)
			return json_wrong(e, at, "has too many variables");
		if (!name_at(text, i + 1, &name))
			return json_wrong(
			    e, at, "has a variable without its closing brace");
		if (i > begin)
			pieces[n++] = (struct vars_piece){
			    VAR_LITERAL, {text.p + begin, i - begin}};
		pieces[n] = (struct vars_piece){VAR_LITERAL, STR_EMPTY};
		TRY(one_var(name, place, at, &pieces[n++].var, e));
		i += name.n + 1;
		begin = i + 1;
	}
	if (begin < text.n)
		pieces[n++] = (struct vars_piece){
		    VAR_LITERAL, {text.p + begin, text.n - begin}};
	*ret_n = n;
	return OK;
}

static int
check_bytes(struct str text, const char *at, struct err *e)
{
	if (text.n > VARS_TEXT_MAX)
		return json_wrong(
		    e, at, "must be at most %zu bytes", VARS_TEXT_MAX);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
			return json_wrong(
			    e, at, "must not have control characters");
	return OK;
}

int
vars_compile(struct arena *a, struct str text, enum vars_place place,
    const char *at, struct vars *ret, struct err *e)
{
	struct vars_piece pieces[VARS_PIECES_MAX];
	struct vars v = {.n = 0};

	TRY(check_bytes(text, at, e));
	v.text = arena_dup(a, text);
	TRY(split(v.text, place, at, pieces, &v.n, e));
	v.pieces = arena_array(a, v.n ? v.n : 1, sizeof(*v.pieces));
	memcpy(v.pieces, pieces, v.n * sizeof(*pieces));
	for (size_t i = 0; i < v.n; i++)
		v.hub |= pieces[i].var < VAR_COUNT &&
			 VARS[pieces[i].var].places & VARS_HUB;
	*ret = v;
	return OK;
}

bool
vars_has(const struct vars *v, enum var var)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->pieces[i].var == var)
			return true;
	return false;
}

bool
vars_find(struct str name, enum var *ret)
{
	for (size_t i = 0; i < COUNT_OF(VARS); i++)
		if (str_eq(name, str_of(VARS[i].name))) {
			*ret = (enum var)i;
			return true;
		}
	return false;
}
