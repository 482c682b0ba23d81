#include "api/people/person.h"

#include "base/buf.h"
#include "base/str.h"
#include "http/server/reply.h"

static const struct word {
	const char *code;
	int status;
	const char *category, *action;
} WORDS[] = {
#define PERSON(code, status, category, action) {code, status, category, action},
#include "api/people/person.tbl"
#undef PERSON
};

static const struct word *
word_find(const char *code)
{
	for (size_t i = 0; i < COUNT_OF(WORDS); i++)
		if (strcmp(WORDS[i].code, code) == 0)
			return &WORDS[i];
	return NULL;
}

static void
add_member(struct buf *b, const char *name, const char *text)
{
	struct str s = str_of(text);

	s.n = str_utf8_bad(s); /* it may be cut in mid-character */
	buf_fmt(b, "\"%s\":", name);
	buf_json(b, s);
}

/* "/fetch_interval_minutes" is the field of that name. */
static void
add_fields(struct buf *b, const struct err *e)
{
	buf_addz(b, ",\"fields\":[{");
	add_member(b, "field", e->at[0] == '/' ? e->at + 1 : e->at);
	buf_addc(b, ',');
	add_member(b, "message", e->text);
	buf_addz(b, "}]");
}

int
person_error(struct buf *b, const struct http_error *x)
{
	const char *code = x->e.word ? x->e.word : x->name;
	const struct word *w = word_find(code);
	int status = w ? w->status : x->status;

	buf_addc(b, '{');
	add_member(b, "code", code);
	buf_addc(b, ',');
	add_member(b, "message",
	    x->hidden ? "Something went wrong on our side." : x->e.text);
	buf_addc(b, ',');
	add_member(b, "category",
	    w               ? w->category
	    : status >= 500 ? "system"
			    : "validation");
	buf_addc(b, ',');
	add_member(b, "action", w ? w->action : "Correct the request.");
	if (!x->hidden && x->e.at[0] != '\0')
		add_fields(b, &x->e);
	buf_addc(b, '}');
	return status;
}
