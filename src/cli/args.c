#include "cli/args.h"

#include "base/near.h"
#include "cli/limits.h"

const struct opt OPTS_COMMON[] = {
    {"data", OPT_CONF, "DIR", .help = "the data folder", .key = "data"},
    {"config", OPT_TEXT, "FILE", .help = "read settings from FILE"},
    {"log", OPT_CONF, "FORM", .help = "log as json or text", .key = "log.form"},
    {"print-config", OPT_FLAG, "", .help = "show every setting and end"},
    {"help", OPT_FLAG, "", .help = "show this and end"},
    {.name = NULL},
};

static int
args_find(const struct opt *own, struct str name, const struct opt **ret,
    struct err *e)
{
	const struct opt *const tables[] = {own, OPTS_COMMON};
	struct near n = near_to(name);
	int shown = name.n < 64 ? (int)name.n : 64;

	for (size_t i = 0; i < COUNT_OF(tables); i++)
		for (const struct opt *o = tables[i]; o && o->name; o++) {
			if (str_eq(str_of(o->name), name)) {
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
args_take(struct args *a, const struct opt *own, char *const *word, bool more,
    int *ret_used, struct err *e)
{
	const char *value = strchr(word[0], '=');
	struct str name = str_of(word[0] + 2);
	const struct opt *o = NULL;
	int used = 1;
	int64_t v;

	name = str_cut(&name, '=');
	TRY(args_find(own, name, &o, e));
	if (value && o->type == OPT_FLAG)
		return err_set(e, ERR_INVALID, "--%s takes no value", o->name);
	if (value) {
		value++;
	} else if (o->type == OPT_FLAG) {
		value = "";
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
	a->given[a->n_given].opt = o;
	a->given[a->n_given++].value = value;
	*ret_used = used;
	return OK;
}

int
args_read(struct args *a, const struct opt *own, int argc, char *const *argv,
    struct err *e)
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
			    a, own, argv + i, i + 1 < argc, &used, e));
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

static void
put_list(struct buf *b, const char *name, struct str list)
{
	put_open(b, name, '[');
	while (list.n > 0)
		put_text(b, NULL, str_trim(str_cut(&list, ',')));
	put_close(b, ']');
}

void
args_body(const struct args *a, struct buf *b)
{
	for (size_t i = 0; i < a->n_given; i++) {
		const struct opt *o = a->given[i].opt;
		struct str value = str_of(a->given[i].value);

		/* Given twice, the last counts. */
		if (!o->member || args_text(a, o->name) != a->given[i].value ||
		    (o->type == OPT_LIST && value.n == 0))
			continue;
		if (o->type == OPT_FLAG)
			put_bool(b, o->member, true);
		else if (o->type == OPT_INT)
			put_raw(b, o->member, value);
		else if (o->type == OPT_LIST)
			put_list(b, o->member, value);
		else
			put_text(b, o->member, value);
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
