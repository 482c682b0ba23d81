#include "event/mask.h"

#include "event/envelope.h"
#include "event/limits.h"

static const struct str STARS = STR("\"***\"");
static const struct str PAYLOAD = STR("/payload/");

struct rule {
	struct rule *next;
	struct str type;    /* exact, or the beginning with its dot */
	bool prefix;        /* "" with prefix: all types */
	struct str pointer; /* below /payload; a segment "*" is every one */
};

struct mask {
	struct rule *rules;
};

static bool
blank(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next entry off *text; empty at the end. */
static struct str
next_entry(struct str *text)
{
	struct str entry;

	while (text->n > 0 && blank(text->p[0]))
		*text = str_from(*text, 1);
	entry = *text;
	while (text->n > 0 && !blank(text->p[0]))
		*text = str_from(*text, 1);
	entry.n -= text->n;
	return entry;
}

static int
wrong(struct err *e, struct str entry, const char *why)
{
	size_t n = entry.n < 100 ? entry.n : 100;

	n = str_utf8_bad((struct str){entry.p, n});
	return err_set(e, ERR_INVALID, "\"%.*s\": %s", (int)n, entry.p, why);
}

static int
read_type(struct rule *r, struct str entry, struct str type, struct err *e)
{
	r->type = type;
	if (str_eq(type, STR("*"))) {
		r->type = STR_EMPTY;
		r->prefix = true;
		return OK;
	}
	if (str_ends(type, STR(".*"))) {
		r->type.n--; /* the dot stays */
		r->prefix = true;
		type.n -= 2;
	}
	if (envelope_type_wrong(type))
		return wrong(e, entry, "the event type is not one");
	return OK;
}

/* Of the rule, what is below /payload: it keeps its slash. */
static int
read_pointer(
    struct rule *r, struct str entry, struct str pointer, struct err *e)
{
	size_t n = 0;

	if (!str_starts(pointer, PAYLOAD))
		return wrong(e, entry, "the pointer must begin with /payload/");
	r->pointer = str_from(pointer, PAYLOAD.n - 1);
	for (size_t i = 0; i < r->pointer.n; i++)
		n += r->pointer.p[i] == '/';
	if (n > JSON_DEPTH_MAX)
		return wrong(e, entry, "the pointer is too deep");
	while (str_pass(&pointer, STR("~")))
		if (!str_starts(pointer, STR("0")) &&
		    !str_starts(pointer, STR("1")))
			return wrong(e, entry, "~ must be written as ~0");
	return OK;
}

static int
read_rule(struct arena *a, struct str entry, struct rule *r, struct err *e)
{
	struct str rest = arena_dup(a, entry), type;

	if (str_utf8_bad(entry) < entry.n)
		return wrong(e, entry, "no valid UTF-8");
	if (!str_has(entry, ':'))
		return wrong(e, entry, "a mask is Type:/payload/pointer");
	type = str_cut(&rest, ':');
	TRY(read_type(r, entry, type, e));
	return read_pointer(r, entry, rest, e);
}

int
mask_parse(struct arena *a, struct str text, struct mask **ret, struct err *e)
{
	struct mask *m = arena_alloc(a, sizeof(*m));
	struct rule **tail = &m->rules;
	struct str entry;
	int count = 0;

	while ((entry = next_entry(&text)).n > 0) {
		struct rule *r = arena_alloc(a, sizeof(*r));

		if (++count > MASK_RULES_MAX)
			return err_set(
			    e, ERR_LIMIT, "more than %d masks", MASK_RULES_MAX);
		TRY(read_rule(a, entry, r, e));
		*tail = r;
		tail = &r->next;
	}
	*ret = m;
	return OK;
}

static bool
wants(const struct rule *r, struct str type)
{
	return r->prefix ? str_starts(type, r->type) : str_eq(type, r->type);
}

/* How many were marked anew. No deeper than JSON_DEPTH_MAX. */
static size_t
mark(struct json *j, struct str pointer)
{
	struct str one = pointer;
	const char *slash;
	size_t count = 0;

	if (j->marked)
		return 0;
	if (pointer.n == 0) {
		j->marked = true;
		return 1;
	}
	slash = memchr(pointer.p + 1, '/', pointer.n - 1);
	if (slash)
		one.n = (size_t)(slash - pointer.p);
	pointer = str_from(pointer, one.n);
	if (!str_eq(one, STR("/*"))) {
		j = json_at(j, one);
		return j ? mark(j, pointer) : 0;
	}
	for (struct json *c = j->child; c; c = c->next)
		count += mark(c, pointer);
	return count;
}

struct splice {
	char *out;
	const char *from; /* not copied yet */
};

static void
copy_upto(struct splice *s, const char *end)
{
	size_t n = (size_t)(end - s->from);

	memcpy(s->out, s->from, n);
	s->out += n;
	s->from = end;
}

/* In document order; what lies inside a marked value goes with it. */
static void
splice(struct splice *s, const struct json *j)
{
	if (!j->marked) {
		for (const struct json *c = j->child; c; c = c->next)
			splice(s, c);
		return;
	}
	copy_upto(s, j->raw.p);
	memcpy(s->out, STARS.p, STARS.n);
	s->out += STARS.n;
	s->from = j->raw.p + j->raw.n;
}

int
mask_apply(struct arena *a, const struct mask *m, struct str type,
    struct json *event, struct str *ret, struct err *e)
{
	struct json *payload = json_get(event, "payload");
	struct splice s = {.from = event->raw.p};
	size_t count = 0;
	char *out;

	for (const struct rule *r = m->rules; r && payload; r = r->next)
		if (wants(r, type))
			count += mark(payload, r->pointer);
	if (count == 0) {
		*ret = event->raw;
		return OK;
	}
	out = arena_try(a, event->raw.n + count * STARS.n);
	if (!out)
		return err_set(e, ERR_LIMIT, "no room to mask the event");
	s.out = out;
	splice(&s, payload);
	copy_upto(&s, event->raw.p + event->raw.n);
	*ret = (struct str){out, (size_t)(s.out - out)};
	return OK;
}
