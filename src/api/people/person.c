#include "api/people/person.h"

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

/* It may be cut in mid-character. */
static void
put_whole(struct buf *b, const char *name, const char *text)
{
	struct str s = str_of(text);

	s.n = str_utf8_bad(s);
	put_text(b, name, s);
}

int
person_error(struct buf *b, const struct http_error *x)
{
	const char *code = x->e.word ? x->e.word : x->name, *at = x->e.at;
	const struct word *w = word_find(code);
	int status = w ? w->status : x->status;

	put_open(b, NULL, '{');
	put_whole(b, "code", code);
	put_whole(b, "message",
	    x->hidden ? "Something went wrong on our side." : x->e.text);
	put_z(b, "category",
	    w               ? w->category
	    : status >= 500 ? "system"
			    : "validation");
	put_z(b, "action", w ? w->action : "Correct the request.");
	if (!x->hidden && at[0] != '\0') {
		put_open(b, "fields", '[');
		put_open(b, NULL, '{');
		/* "/fetch_interval_minutes" is the field of that name. */
		put_whole(b, "field", at[0] == '/' ? at + 1 : at);
		put_whole(b, "message", x->e.text);
		put_close(b, '}');
		put_close(b, ']');
	}
	if (x->feed)
		put_uuid(b, "feed_id", *x->feed);
	put_close(b, '}');
	return status;
}
