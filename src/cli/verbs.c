#include "cli/verbs.h"

#include "account/limits.h"
#include "api/limits.h"
#include "cli/ask.h"
#include "cli/out/listing.h"
#include "contract/limits.h"
#include "deliver/limits.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): rows of tables. */
#define OPT(n, t, v, h, ...)                                                   \
	{                                                                      \
		.name = n, .type = t, .value = v, .help = h, __VA_ARGS__       \
	}
#define FLAG(n, ...)    OPT(n, OPT_FLAG, "", __VA_ARGS__, )
#define BOOL(n, ...)    OPT(n, OPT_BOOL, "", __VA_ARGS__, )
#define PAIR(n, v, ...) OPT(n, OPT_PAIR, v, __VA_ARGS__, )
#define JSON(n, ...)    OPT(n, OPT_JSON, "JSON", __VA_ARGS__, )
#define DOC(n, ...)     OPT(n, OPT_DOC, "FILE", __VA_ARGS__, )
#define TEXT(n, v, ...) OPT(n, OPT_TEXT, v, __VA_ARGS__, )
#define LIST(n, v, ...) OPT(n, OPT_LIST, v, __VA_ARGS__, )
#define INT(n, v, from, to, ...)                                               \
	OPT(n, OPT_INT, v, __VA_ARGS__, .least = from, .most = to)
#define CONF(n, v, k, h) OPT(n, OPT_CONF, v, h, .key = k)

#define OPTS(table, ...)                                                       \
	static const struct opt table[] = {__VA_ARGS__, {.name = NULL}};
#define COLUMNS(table, ...)                                                    \
	static const struct column table[] = {__VA_ARGS__, {.head = NULL}};
#define VERB(...)
#define LOCAL(...)
#define ASK(...)
#define LIST_OF(...)
#include "cli/verbs.tbl"
#undef OPTS
#undef COLUMNS
#undef VERB
#undef LOCAL
#undef ASK
#undef LIST_OF

#define ROW(n, o, from, to, s, opts, t, ...)                                   \
	{.name = n,                                                            \
	    .operands = o,                                                     \
	    .least = from,                                                     \
	    .most = to,                                                        \
	    .summary = s,                                                      \
	    .text = t,                                                         \
	    .own = opts,                                                       \
	    __VA_ARGS__},
static const struct verb TABLE[] = {
#define OPTS(...)
#define COLUMNS(...)
#define LOCAL(fn, n, o, from, to, s, opts, t)                                  \
	ROW(n, o, from, to, s, opts, t, .run = verb_##fn)
#define VERB(fn, n, o, from, to, s, opts, t)                                   \
	ROW(n, o, from, to, s, opts, t, .reach = OPTS_REACH, .run = verb_##fn)
#define ASK(path, n, o, from, to, s, opts, t, ...)                             \
	ROW(n, o, from, to, s, opts, t, .reach = OPTS_REACH, .kind = OPTS_ASK, \
	    .run = verb_ask, .api = path, __VA_ARGS__)
#define LIST_OF(path, table, n, s, opts, t)                                    \
	ROW(n, "", 0, 0, s, opts, t, .reach = OPTS_REACH, .kind = OPTS_LIST,   \
	    .run = verb_ask, .api = "GET " path, .columns = table)
#include "cli/verbs.tbl"
#undef OPTS
#undef COLUMNS
#undef VERB
#undef LOCAL
#undef ASK
#undef LIST_OF
};

/* NOLINTEND(bugprone-macro-parentheses) */

const struct verbs VERBS = {.v = TABLE, .n = COUNT_OF(TABLE)};
