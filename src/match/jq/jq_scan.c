#include "match/jq/jq_scan.h"

#include "match/limits.h"

/* Variables are written with their dollar. */
static const char *const REFUSED[] = {
    "$ENV",
    "$__prog_args",
    "debug",
    "env",
    "get_search_list",
    "halt",
    "halt_error",
    "import",
    "include",
    "input",
    "input_filename",
    "input_line_number",
    "inputs",
    "modulemeta",
    "stderr",
};

#define WORD      'w' /* the last token was a name or a number */
#define IN_STRING 's' /* a parenthesis that ends in a string */

struct scan {
	struct str all;
	size_t at;
	char last;   /* the token before, or its first character */
	size_t deep; /* brackets open */
	char open[JQ_NEST_MAX];
};

static int
wrong(const struct scan *s, size_t at, struct err *e, const char *what,
    struct str name)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < at; i++) {
		column++;
		if (s->all.p[i] == '\n') {
			line++;
			column = 1;
		}
	}
	return err_set(e, ERR_INVALID, "line %zu, column %zu: %.*s%s", line,
	    column, STR_ARG(name), what);
}

bool
jq_scan_begins(char c)
{
	return str_is_letter(c) || c == '_';
}

static char
peek(const struct scan *s, size_t more)
{
	return s->at + more < s->all.n ? s->all.p[s->at + more] : '\0';
}

static struct str
word(struct scan *s)
{
	struct str w = {s->all.p + s->at, 0};

	while (jq_scan_begins(peek(s, 0)) || str_is_digit(peek(s, 0))) {
		s->at++;
		w.n++;
	}
	return w;
}

static int
push(struct scan *s, char c, struct err *e)
{
	if (s->deep == JQ_NEST_MAX)
		return wrong(
		    s, s->at, e, "more brackets than allowed", STR_EMPTY);
	s->open[s->deep++] = c;
	return OK;
}

/* From behind the opening quote, or behind an interpolation. */
static int
string(struct scan *s, struct err *e)
{
	s->last = '"';
	while (s->at < s->all.n) {
		char c = s->all.p[s->at++];

		if (c == '"')
			return OK;
		if (c != '\\')
			continue;
		if (peek(s, 0) == '(') {
			s->at++;
			s->last = '(';
			return push(s, IN_STRING, e);
		}
		s->at++;
	}
	return OK; /* jq says that it is not closed */
}

static int
name(struct scan *s, struct err *e)
{
	size_t at = s->at;
	bool variable = s->last == '$';
	bool key = s->deep > 0 && s->open[s->deep - 1] == '{' &&
		   (s->last == '{' || s->last == ',');
	struct str w = word(s);

	s->last = WORD;
	for (size_t i = 0; i < COUNT_OF(REFUSED) && !key; i++) {
		struct str no = str_of(REFUSED[i]);

		if (variable != (no.p[0] == '$'))
			continue;
		if (str_eq(w, variable ? str_from(no, 1) : no))
			return wrong(s, at, e, " is not available", no);
	}
	return OK;
}

static int
token(struct scan *s, struct err *e)
{
	char c = peek(s, 0);

	if (jq_scan_begins(c))
		return name(s, e);
	s->at++;
	if (str_is_blank(c))
		return OK;
	if (c == '#') {
		while (s->at < s->all.n && s->all.p[s->at] != '\n')
			s->at++;
		return OK;
	}
	if (c == '"')
		return string(s, e);
	s->last = c;
	if ((c == '.' || c == '@') && jq_scan_begins(peek(s, 0))) {
		(void)word(s);
		s->last = WORD;
	}
	if (c == '(' || c == '[' || c == '{')
		return push(s, c, e);
	if ((c == ')' || c == ']' || c == '}') && s->deep > 0 &&
	    s->open[--s->deep] == IN_STRING)
		return string(s, e);
	return OK;
}

int
jq_scan(struct str program, struct err *e)
{
	struct scan s = {.all = program};
	size_t bad = str_utf8_bad(program);

	if (program.n > JQ_PROGRAM_MAX)
		return err_set(e, ERR_LIMIT,
		    "a program is at most %zu bytes, not %zu", JQ_PROGRAM_MAX,
		    program.n);
	if (bad < program.n)
		return wrong(&s, bad, e, "this is no UTF-8", STR_EMPTY);
	if (str_has(program, '\0'))
		return err_set(e, ERR_INVALID, "a program has no NUL byte");
	while (s.at < program.n)
		TRY(token(&s, e));
	return OK;
}
