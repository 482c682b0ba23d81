#include "cli/help.h"

#include "base/str.h"

#define COLUMN 28

void
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
		    width < COLUMN ? COLUMN - width : 1, "", v->summary);
	}
	(void)fprintf(to,
	    "\n`hikyaku VERB --help` explains a verb, `hikyaku --version` says the version.\n"
	    "Exit status: 0 well, 1 it failed, 2 wrong usage.\n");
}

static void
options(const struct opt *o, FILE *to)
{
	for (; o && o->name; o++) {
		int width = fprintf(to, "  --%s %s", o->name, o->value);

		(void)fprintf(to, "%*s%s", width < COLUMN ? COLUMN - width : 1,
		    "", o->help);
		if (o->key)
			(void)fprintf(to, " (%s)", o->key);
		(void)fprintf(to, "\n");
	}
}

void
help_verb(const struct verb *v, FILE *to)
{
	(void)fprintf(to, "Usage: hikyaku %s [OPTION]...%s%s\n\n%s\nOptions:\n",
	    v->name, v->operands[0] ? " " : "", v->operands, v->text);
	options(v->own, to);
	options(OPTS_COMMON, to);
}
