#include "cli/args.h"

#include "base/near.h"
#include "cli/limits.h"
#include "http/percent.h"

const struct opt OPTS_COMMON[] = {
    {"data", OPT_CONF, "DIR", .help = "the data folder", .key = "data"},
    {"config", OPT_TEXT, "FILE", .help = "read settings from FILE"},
    {"log", OPT_CONF, "FORM", .help = "log as json or text", .key = "log.form"},
    {"color", OPT_TEXT, "WHEN",
	.help = "auto, always or never; auto minds NO_COLOR"},
    {"print-config", OPT_FLAG, "", .help = "show every setting and end"},
    {"help", OPT_FLAG, "", .help = "show this and end; also -h"},
    {.name = NULL},
};

const struct opt OPTS_REACH[] = {
    {"server", OPT_TEXT, "URL",
	.help = "ask this server instead of a data folder; HIKYAKU_URL"},
    {"key", OPT_TEXT, "KEY",
	.help = "with this API key; better HIKYAKU_KEY or hikyaku login"},
    {"ca", OPT_TEXT, "FILE", .help = "trust these authorities alone, PEM"},
    {"insecure", OPT_FLAG, "",
	.help = "send the key over plain http to another machine"},
    {.name = NULL},
};

const struct opt OPTS_ASK[] = {
    {"json", OPT_FLAG, "", .help = "show the answer as JSON"},
    {.name = NULL},
};

const struct opt OPTS_LIST[] = {
    {"limit", OPT_INT, "N", .help = "so many at most; all when not given",
	.least = 1, .most = INT64_MAX},
    {"json", OPT_FLAG, "", .help = "one JSON object a line"},
    {.name = NULL},
};

/* Whether it is called so; *ret_off: switched off by it. */
static bool
called(const struct opt *o, struct str name, bool *ret_off)
{
	struct str own = str_of(o->name);

	*ret_off = o->type == OPT_BOOL && str_starts(name, STR("no-")) &&
		   str_eq(own, str_from(name, 3));
	if (o->type == OPT_LIST && own.n == name.n + 1 &&
	    own.p[name.n] == 's' && str_starts(own, name))
		return true;
	return *ret_off || str_eq(own, name);
}

static int
args_find(const struct opt *const tables[ARGS_TABLES], struct str name,
    const struct opt **ret, bool *ret_off, struct err *e)
{
	struct near n = near_to(name);
	int shown = name.n < 64 ? (int)name.n : 64;

	for (size_t i = 0; i < ARGS_TABLES; i++)
		for (const struct opt *o = tables[i]; o && o->name; o++) {
			if (called(o, name, ret_off)) {
				*ret = o;
				return OK;
			}
			near_try(&n, o->name);
		}
	if (n.best)
		return err_set(e, ERR_INVALID,
		    "unknown option --%.*s; did you mean --%s?", shown, name.p,
		    n.best);
	return err_set(e, ERR_INVALID, "unknown option --%.*s", shown, name.p);
}

/* One option; *ret_used is how many words it took. */
static int
args_take(struct args *a, const struct opt *const tables[ARGS_TABLES],
    char *const *word, bool more, int *ret_used, struct err *e)
{
	const char *value = strchr(word[0], '=');
	struct str name = str_of(word[0] + 2);
	const struct opt *o = NULL;
	int used = 1;
	bool off = false, flag;
	int64_t v;

	name = str_cut(&name, '=');
	TRY(args_find(tables, name, &o, &off, e));
	assert(o);
	flag = o->type == OPT_FLAG || o->type == OPT_BOOL;
	if (value && flag)
		return err_set(e, ERR_INVALID, "--%s takes no value", o->name);
	if (value) {
		value++;
	} else if (flag) {
		value = off ? NULL : "";
	} else {
		/* A value that looks like an option is a forgotten value. */
		if (!more || str_starts(str_of(word[1]), STR("--")))
			return err_set(e, ERR_INVALID,
			    "--%s needs a value: --%s %s", o->name, o->name,
			    o->value);
		value = word[1];
		used = 2;
	}
	if (o->type == OPT_INT &&
	    (!str_int(str_of(value), &v) || v < o->least || v > o->most))
		return err_set(e, ERR_INVALID,
		    "--%s must be a whole number from %lld to %lld, not %.40s",
		    o->name, (long long)o->least, (long long)o->most, value);
	if (o->type == OPT_PAIR && !strchr(value, ':'))
		return err_set(
		    e, ERR_INVALID, "--%s must be \"Name: value\"", o->name);
	a->given[a->n_given].opt = o;
	a->given[a->n_given++].value = value;
	*ret_used = used;
	return OK;
}

int
args_read(struct args *a, const struct opt *const tables[ARGS_TABLES], int argc,
    char *const *argv, struct err *e)
{
	bool options = true;
	int used;

	a->n_given = a->n_operands = 0;
	for (int i = 0; i < argc; i += used) {
		used = 1;
		if (a->n_given == ARGS_MAX || a->n_operands == OPERANDS_MAX)
			return err_set(e, ERR_INVALID, "too many arguments");
		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && str_starts(str_of(argv[i]), STR("--"))) {
			TRY(args_take(
			    a, tables, argv + i, i + 1 < argc, &used, e));
		} else if (options && strcmp(argv[i], "-h") == 0) {
			char *const help[] = {(char[]){"--help"}, NULL};

			TRY(args_take(a, tables, help, false, &used, e));
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			return err_set(e, ERR_INVALID,
			    "unknown option %.64s; options begin with --",
			    argv[i]);
		} else {
			a->operands[a->n_operands++] = argv[i];
		}
	}
	return OK;
}

const char *
args_text(const struct args *a, const char *name)
{
	for (size_t i = a->n_given; i > 0; i--)
		if (strcmp(a->given[i - 1].opt->name, name) == 0)
			return a->given[i - 1].value;
	return NULL;
}

bool
args_flag(const struct args *a, const char *name)
{
	return args_text(a, name) != NULL;
}

int64_t
args_int(const struct args *a, const char *name, int64_t absent)
{
	const char *text = args_text(a, name);
	int64_t v = absent;
	bool ok = !text || str_int(str_of(text), &v);

	assert(ok); /* checked when it was read */
	return v;
}

/* Is it the last of its option? That one counts, or stands for all. */
static bool
is_last(const struct args *a, size_t at)
{
	for (size_t i = at + 1; i < a->n_given; i++)
		if (a->given[i].opt == a->given[at].opt)
			return false;
	return true;
}

/* All that an option which may come several times was given. */
static void
put_all(const struct args *a, const struct opt *o, struct buf *b)
{
	bool pairs = o->type == OPT_PAIR;

	put_open(b, o->member, pairs ? '{' : '[');
	for (size_t i = 0; i < a->n_given; i++) {
		struct str rest = str_of(a->given[i].value), name;

		if (a->given[i].opt != o)
			continue;
		if (pairs) {
			name = str_trim(str_cut(&rest, ':'));
			put_name(b, NULL);
			buf_json(b, name);
			buf_addc(b, ':');
			buf_json(b, str_trim(rest));
		}
		while (!pairs && rest.n > 0)
			put_text(b, NULL, str_trim(str_cut(&rest, ',')));
	}
	put_close(b, pairs ? '}' : ']');
}

void
args_body(const struct args *a, struct buf *b)
{
	for (size_t i = 0; i < a->n_given; i++) {
		const struct opt *o = a->given[i].opt;
		struct str value = str_of(a->given[i].value);

		if (!o->member || o->query || o->type == OPT_DOC ||
		    !is_last(a, i) || (o->type == OPT_LIST && value.n == 0))
			continue;
		if (o->type == OPT_FLAG || o->type == OPT_BOOL)
			put_bool(b, o->member, a->given[i].value);
		else if (o->type == OPT_INT || o->type == OPT_JSON)
			put_raw(b, o->member, value);
		else if (o->type == OPT_LIST || o->type == OPT_PAIR)
			put_all(a, o, b);
		else
			put_text(b, o->member, value);
	}
}

void
args_query(const struct args *a, bool all, struct buf *b)
{
	for (size_t i = 0; i < a->n_given; i++) {
		const struct opt *o = a->given[i].opt;
		const char *value = a->given[i].value;

		if (!o->member || !(o->query || all) || !is_last(a, i))
			continue;
		if (o->type == OPT_FLAG || o->type == OPT_BOOL)
			value = value ? "true" : "false";
		buf_addc(b, str_has(buf_str(b), '?') ? '&' : '?');
		buf_fmt(b, "%s=", o->member);
		percent_add(b, str_of(value));
	}
}

int
args_json(
    const struct args *a, struct arena *arena, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(ARGS_JSON_MAX);

	put_open(&b, NULL, '{');
	args_body(a, &b);
	put_close(&b, '}');
	if (b.failed)
		return err_set(e, ERR_LIMIT, "this is too long");
	*ret = arena_dup(arena, buf_str(&b));
	return OK;
}
