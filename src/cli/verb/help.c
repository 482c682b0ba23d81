#include "base/version.h"
#include "cli/verbs.h"

/* help, version, and completion: what the program says of itself. */

int
verb_help(struct cli *c, struct err *e)
{
	return cli_help(c, c->args.n_operands, c->args.operands, e);
}

int
verb_version(struct cli *c, struct err *)
{
	(void)fprintf(c->out, "hikyaku %s\n", HIKYAKU_VERSION);
	return OK;
}

/*
 * Completion. The shells ask `hikyaku completion words -- WORD...`, whose last
 * word is the one to be completed, and get one candidate a line; so what is
 * completed is always what this program knows. Without a candidate they offer
 * files.
 */

static const struct {
	const char *shell, *script;
} SCRIPTS[] = {
    {"bash", "_hikyaku() {\n"
	     "\tlocal IFS=$'\\n'\n"
	     "\tCOMPREPLY=($(\"${COMP_WORDS[0]}\" completion words -- "
	     "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
	     "}\n"
	     "complete -o default -F _hikyaku hikyaku\n"},
    {"zsh", "#compdef hikyaku\n"
	    "_hikyaku() {\n"
	    "\tlocal -a found\n"
	    "\tfound=(${(f)\"$(\"${words[1]}\" completion words -- "
	    "\"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
	    "\tif (( $#found )); then compadd -- $found; else _files; fi\n"
	    "}\n"
	    "if [ \"$funcstack[1]\" = _hikyaku ]; then _hikyaku \"$@\"; "
	    "else compdef _hikyaku hikyaku; fi\n"},
    {"fish", "function __hikyaku_words\n"
	     "\tset -l words (commandline -opc) (commandline -ct)\n"
	     "\t$words[1] completion words -- $words[2..-1] 2>/dev/null\n"
	     "end\n"
	     "complete -c hikyaku -a '(__hikyaku_words)'\n"},
};

/* The next word of the verbs that begin with the words so far; true: there are
 * such verbs. */
static bool
offer_verbs(struct cli *c, struct str before, struct str word)
{
	struct str last = STR_EMPTY;
	bool any = false;

	for (size_t i = 0; i < c->verbs->n; i++) {
		struct str name = str_of(c->verbs->v[i].name), next;

		if (before.n > 0 &&
		    (!str_starts(name, before) || name.n <= before.n ||
			name.p[before.n] != ' '))
			continue;
		name = str_from(name, before.n > 0 ? before.n + 1 : 0);
		next = str_cut(&name, ' ');
		any = true;
		if (str_starts(next, word) && !str_eq(next, last))
			(void)fprintf(c->out, "%.*s\n", STR_ARG(next));
		last = next;
	}
	return any;
}

static void
offer_options(struct cli *c, const struct verb *v, struct str word)
{
	const struct opt *tables[ARGS_TABLES];

	cli_options(v, tables);
	for (size_t i = 0; i < ARGS_TABLES; i++)
		for (const struct opt *o = tables[i]; o && o->name; o++) {
			struct str s = arena_fmt(c->arena, "--%s", o->name);

			if (str_starts(s, word))
				(void)fprintf(c->out, "%.*s\n", STR_ARG(s));
		}
}

static const struct verb *
verb_named(const struct cli *c, struct str name)
{
	for (size_t i = 0; i < c->verbs->n; i++)
		if (str_eq(str_of(c->verbs->v[i].name), name))
			return &c->verbs->v[i];
	return NULL;
}

/* Words behind `completion words --`. */
static void
offer(struct cli *c, size_t n, const char *const *words)
{
	struct str word = n > 0 ? str_of(words[n - 1]) : STR_EMPTY;
	struct str first = n > 1 ? str_of(words[0]) : STR_EMPTY, both;
	const struct verb *v;

	if (n <= 2 && offer_verbs(c, first, word) && n <= 1)
		return;
	both = n > 2 ? arena_fmt(c->arena, "%s %s", words[0], words[1]) : first;
	v = verb_named(c, both);
	if (!v)
		v = verb_named(c, first);
	if (v && str_starts(word, STR("-")))
		offer_options(c, v, word);
}

int
verb_completion(struct cli *c, struct err *e)
{
	const char *what = c->args.operands[0];

	if (strcmp(what, "words") == 0) {
		offer(c, c->args.n_operands - 1, c->args.operands + 1);
		return OK;
	}
	for (size_t i = 0; i < COUNT_OF(SCRIPTS); i++)
		if (strcmp(what, SCRIPTS[i].shell) == 0) {
			(void)fputs(SCRIPTS[i].script, c->out);
			return OK;
		}
	return cli_usage(c, e, "completion is for bash, zsh or fish");
}
