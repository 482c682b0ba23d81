#include "event/type/fault.h"

#include "event/limits.h"

bool
faults_room(const struct faults *f)
{
	return f->n < FAULTS_MAX && !arena_over(f->arena);
}

/* A text may quote what was sent, and be cut in mid-character. */
static struct str
keep(struct arena *a, const char *text)
{
	struct str s = str_of(text);

	s.n = str_utf8_bad(s);
	return arena_dup(a, s);
}

void
faults_add(struct faults *f, const struct err *e, bool told)
{
	struct fault *x;

	if (!faults_room(f))
		return;
	x = arena_alloc(f->arena, sizeof(*x));
	*x = (struct fault){
	    .at = keep(f->arena, e->at),
	    .text = keep(f->arena, e->text),
	    .told = told,
	};
	if (f->last)
		f->last->next = x;
	else
		f->first = x;
	f->last = x;
	f->n++;
	f->refuse += !told;
}

int
faults_say(const struct faults *f, struct err *e)
{
	const struct fault *x = f->first;
	char at[sizeof(e->at)];

	while (x->told)
		x = x->next;
	(void)snprintf(at, sizeof(at), "%.*s", STR_ARG(x->at));
	return err_at(e, ERR_INVALID, at, "%.*s", STR_ARG(x->text));
}

void
faults_put(const struct faults *f, const char *name, struct buf *b)
{
	put_open(b, name, '[');
	for (const struct fault *x = f->first; x; x = x->next) {
		put_open(b, NULL, '{');
		put_text(b, "pointer", x->at);
		put_text(b, "message", x->text);
		put_close(b, '}');
	}
	put_close(b, ']');
}
