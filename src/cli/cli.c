#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/near.h"
#include "base/version.h"
#include "cli/limits.h"
#include "cli/out/term.h"
#include "store/store.h"

#define HELP_COLUMN 28

static int
usage(FILE *err, const char *verb, const struct err *e)
{
	(void)fprintf(err, "hikyaku: %s (hikyaku %s%s--help)\n", e->text, verb,
	    verb[0] ? " " : "");
	return EXIT_USAGE;
}

int
cli_usage(struct cli *c, struct err *e, const char *what)
{
	c->status = EXIT_USAGE;
	return err_set(
	    e, ERR_INVALID, "%s: see hikyaku %s --help", what, c->verb->name);
}

void
cli_log(const struct cli *c, enum log_level least, int fd)
{
	bool text = str_eq(str_of(c->conf.log_form), STR("text"));

	log_setup(least, text ? LOG_TEXT : LOG_JSON, fd);
}

int
cli_input(const char *path, struct buf *b, struct err *e)
{
	bool standard = !path || str_eq(str_of(path), STR("-"));
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int rc = OK;

	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	if (!buf_read(b, fd))
		rc = b->failed
			 ? err_set(e, ERR_LIMIT, "the input is over %zu MiB",
			       b->limit / MIB)
			 : err_set(e, ERR_IO, "reading failed: %s",
			       strerror(errno));
	if (!standard)
		(void)close(fd);
	return rc;
}

void
cli_signals(sigset_t *ret)
{
	(void)sigemptyset(ret);
	(void)sigaddset(ret, SIGINT);
	(void)sigaddset(ret, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, ret, NULL);
}

struct store_opts
cli_store(const struct cli *c)
{
	return (struct store_opts){.dir = c->conf.data,
	    .url = c->conf.database_url,
	    .sqlite_sync = c->conf.sqlite_synchronous};
}

/* Help ---------------------------------------------------------------------- */

static void
help_all(const struct verbs *verbs, const char *group, FILE *to)
{
	(void)fprintf(to,
	    "Usage: hikyaku %s%sVERB [OPTION]... [OPERAND]...\n"
	    "Carries change to whoever needs to know.\n\n",
	    group, group[0] ? " " : "");
	for (size_t i = 0; i < verbs->n; i++) {
		const struct verb *v = &verbs->v[i];
		struct str name = str_of(v->name);
		int width;

		if (group[0] && !str_eq(str_cut(&name, ' '), str_of(group)))
			continue;
		width = fprintf(to, "  %s %s", v->name, v->operands);
		(void)fprintf(to, "%*s%s\n",
		    width < HELP_COLUMN ? HELP_COLUMN - width : 1, "",
		    v->summary);
	}
	(void)fprintf(to,
	    "\n`hikyaku help VERB` explains a verb, `hikyaku version` says the version.\n"
	    "Exit status: 0 well, 1 it failed, 2 wrong usage.\n");
}

static void
options(const struct opt *o, FILE *to)
{
	for (; o && o->name; o++) {
		int width = fprintf(to, "  --%s%s %s",
		    o->type == OPT_BOOL ? "[no-]" : "", o->name, o->value);

		(void)fprintf(to, "%*s%s",
		    width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", o->help);
		if (o->key)
			(void)fprintf(to, " (%s)", o->key);
		(void)fprintf(to, "\n");
	}
}

void
cli_options(const struct verb *v, const struct opt *ret[ARGS_TABLES])
{
	ret[0] = v->own;
	ret[1] = v->kind;
	ret[2] = v->reach;
	ret[3] = OPTS_COMMON;
}

static void
help_verb(const struct verb *v, FILE *to)
{
	const struct opt *tables[ARGS_TABLES];

	(void)fprintf(to, "Usage: hikyaku %s [OPTION]...%s%s\n\n%s\nOptions:\n",
	    v->name, v->operands[0] ? " " : "", v->operands, v->text);
	cli_options(v, tables);
	for (size_t i = 0; i < ARGS_TABLES; i++)
		options(tables[i], to);
}

/* The frame ----------------------------------------------------------------- */

/* How many words the name is when argv begins with it, else 0. */
static int
begins(const char *name, int argc, char *const *argv)
{
	struct str rest = str_of(name);
	int words = 0;

	for (; rest.n > 0; words++)
		if (words == argc ||
		    !str_eq(str_cut(&rest, ' '), str_of(argv[words])))
			return 0;
	return words;
}

static const struct verb *
cli_find(const struct verbs *verbs, int argc, char *const *argv, int *ret_words)
{
	for (size_t i = 0; i < verbs->n; i++) {
		*ret_words = begins(verbs->v[i].name, argc, argv);
		if (*ret_words > 0)
			return &verbs->v[i];
	}
	return NULL;
}

static bool
is_group(const struct verbs *verbs, const char *word)
{
	for (size_t i = 0; i < verbs->n; i++) {
		struct str name = str_of(verbs->v[i].name);

		if (str_eq(str_cut(&name, ' '), str_of(word)) && name.n > 0)
			return true;
	}
	return false;
}

static int
unknown(const struct verbs *verbs, const char *first, const char *second,
    struct err *e)
{
	char typed[NEAR_WORD_MAX];
	struct near one = near_to(str_of(first)), two;

	(void)snprintf(typed, sizeof(typed), "%s %s", first, second);
	two = near_to(str_of(typed));
	for (size_t i = 0; i < verbs->n; i++) {
		near_try(&one, verbs->v[i].name);
		near_try(&two, verbs->v[i].name);
	}
	if (!two.best)
		two.best = one.best;
	if (two.best)
		return err_set(e, ERR_INVALID,
		    "unknown verb %.64s; did you mean %s?",
		    is_group(verbs, first) ? typed : first, two.best);
	return err_set(e, ERR_INVALID, "unknown verb %.64s",
	    is_group(verbs, first) ? typed : first);
}

static bool
is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int
cli_help(struct cli *c, size_t n, const char *const *words, struct err *e)
{
	char *argv[3] = {NULL};
	const struct verb *v;
	int taken = 0;

	for (size_t i = 0; i < n && i < 2; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	v = cli_find(c->verbs, (int)n, argv, &taken);
	if (v && taken == (int)n)
		help_verb(v, c->out);
	else if (n == 0 || (n == 1 && is_group(c->verbs, words[0])))
		help_all(c->verbs, n ? words[0] : "", c->out);
	else {
		c->status = EXIT_USAGE;
		return unknown(c->verbs, words[0], n > 1 ? words[1] : "", e);
	}
	return OK;
}

/* No verb was found: --help, --version, a group of verbs, or a mistake. */
static int
without_verb(const struct verbs *verbs, int argc, char *const *argv, FILE *out,
    FILE *err)
{
	const char *first = argc > 0 ? argv[0] : "";
	const char *second = argc > 1 ? argv[1] : "";
	struct err e;

	if (is_help(first)) {
		help_all(verbs, "", out);
		return EXIT_OK;
	}
	if (strcmp(first, "--version") == 0) {
		(void)fprintf(out, "hikyaku %s\n", HIKYAKU_VERSION);
		return EXIT_OK;
	}
	if (is_group(verbs, first) && is_help(second)) {
		help_all(verbs, first, out);
		return EXIT_OK;
	}
	if (is_group(verbs, first) && second[0] == '\0') {
		(void)err_set(&e, ERR_INVALID, "%s needs a second word", first);
		return usage(err, first, &e);
	}
	if (first[0] == '\0' || first[0] == '-')
		(void)err_set(&e, ERR_INVALID, "a verb must come first%s%.64s",
		    first[0] ? ", not " : "", first);
	else
		(void)unknown(verbs, first, second, &e);
	return usage(err, "", &e);
}

static int
load(struct cli *c, char *const *environment, struct err *e)
{
	TRY(conf_load(&c->conf, args_text(&c->args, "config"), environment, e));
	for (size_t i = 0; i < c->args.n_given; i++) {
		const struct opt *o = c->args.given[i].opt;

		if (o->type == OPT_CONF)
			TRY(conf_set(&c->conf, str_of(o->key),
			    str_of(c->args.given[i].value), CONF_FLAG, e));
	}
	return OK;
}

static int
check_operands(const struct verb *v, size_t n, struct err *e)
{
	if (n >= v->least && n <= v->most)
		return OK;
	if (v->most == 0)
		return err_set(e, ERR_INVALID, "%s takes no operands", v->name);
	return err_set(e, ERR_INVALID, "%s: expected %s", v->name, v->operands);
}

static int
print_config(struct cli *c)
{
	struct buf b CLEANUP(buf_done) = BUF(MIB);

	conf_print(&c->conf, &b);
	(void)fwrite(b.p, 1, b.n, c->out);
	return OK;
}

static int
cli_run_it(struct cli *c, char *const *environment)
{
	struct err e = {0};
	int rc = load(c, environment, &e);

	c->arena = arena_new(CLI_ARENA_MAX);
	if (rc == OK) {
		cli_log(c, LOG_WARN, STDERR_FILENO);
		rc = term_begin(c, &e);
		if (rc == OK)
			rc = args_flag(&c->args, "print-config")
				 ? print_config(c)
				 : c->verb->run(c, &e);
	}
	if (rc < 0) {
		(void)fprintf(c->err, "hikyaku: %s\n", e.text);
		if (c->status == EXIT_OK)
			c->status = EXIT_FAILED;
	}
	reach_close(&c->reach);
	arena_free(c->arena);
	conf_done(&c->conf);
	return c->status;
}

/* The options and operands, the answer to --help, then the verb. */
static int
with_verb(struct cli *c, int argc, char *const *argv, char *const *environment)
{
	const struct opt *tables[ARGS_TABLES];
	struct err e;
	int rc;

	cli_options(c->verb, tables);
	rc = args_read(&c->args, tables, argc, argv, &e);
	if (rc == OK && args_flag(&c->args, "help")) {
		help_verb(c->verb, c->out);
		return EXIT_OK;
	}
	if (rc == OK)
		rc = check_operands(c->verb, c->args.n_operands, &e);
	if (rc < 0)
		return usage(c->err, c->verb->name, &e);
	return cli_run_it(c, environment);
}

int
cli_run(const struct verbs *verbs, int argc, char *const *argv,
    char *const *environment, FILE *out, FILE *err)
{
	struct cli c = {
	    .verbs = verbs, .out = out, .err = err, .reach = {.lock = -1}};
	int status, words = 0;

	argc -= argc > 0;
	argv++;
	c.verb = cli_find(verbs, argc, argv, &words);
	if (c.verb)
		status = with_verb(&c, argc - words, argv + words, environment);
	else
		status = without_verb(verbs, argc, argv, out, err);
	if ((fflush(out) != 0 || ferror(out)) && status == EXIT_OK) {
		(void)fprintf(err, "hikyaku: can't write the output\n");
		status = EXIT_FAILED;
	}
	return status;
}
