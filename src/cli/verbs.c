#include "cli/verbs.h"

#include "account/limits.h"
#include "api/limits.h"
#include "contract/limits.h"
#include "deliver/limits.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): rows of tables. */
#define OPT(n, t, v, h, ...)                                                   \
	{                                                                      \
		.name = n, .type = t, .value = v, .help = h, __VA_ARGS__       \
	}
#define FLAG(n, ...)    OPT(n, OPT_FLAG, "", __VA_ARGS__, )
#define TEXT(n, v, ...) OPT(n, OPT_TEXT, v, __VA_ARGS__, )
#define LIST(n, v, ...) OPT(n, OPT_LIST, v, __VA_ARGS__, )
#define INT(n, v, from, to, ...)                                               \
	OPT(n, OPT_INT, v, __VA_ARGS__, .least = from, .most = to)
#define CONF(n, v, k, h) OPT(n, OPT_CONF, v, h, .key = k)

#define OPTS(table, ...)                                                       \
	static const struct opt table[] = {__VA_ARGS__, {.name = NULL}};
#define VERB(...)
#include "cli/verbs.tbl"
#undef OPTS
#undef VERB

static const struct verb TABLE[] = {
#define OPTS(...)
#define VERB(fn, n, o, from, to, s, opts, t)                                   \
	{.name = n,                                                            \
	    .operands = o,                                                     \
	    .least = from,                                                     \
	    .most = to,                                                        \
	    .summary = s,                                                      \
	    .text = t,                                                         \
	    .own = opts,                                                       \
	    .run = verb_##fn},
#include "cli/verbs.tbl"
#undef OPTS
#undef VERB
};

/* NOLINTEND(bugprone-macro-parentheses) */

const struct verbs VERBS = {.v = TABLE, .n = COUNT_OF(TABLE)};
