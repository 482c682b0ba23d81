/*
 * member.h - members of a JSON object and fields of a struct, by one table.
 *
 * A subscription has some sixty members, a preset forty. Each is named once,
 * in a table, with its kind, its place in the struct and what is allowed; the
 * same table reads what a user sends, reads what was stored, and writes what
 * is stored or shown. So a member can't be stored and forgotten when shown, and
 * a secret can't be shown because somebody forgot that it is one.
 *
 * READING. Members that are absent leave their field as it is, null brings the
 * initial value, unknown ones are errors. Texts are copied to the arena.
 *
 * SECRETS (MEMBER_SECRET) are sealed in the stored form and masked in the
 * shown one. The mask, sent back, leaves the field as it is.
 */
#ifndef CONTRACT_MEMBER_H
#define CONTRACT_MEMBER_H

#include "base/base.h"
#include "base/json.h"

struct arena;
struct buf;
struct sub_seal;

enum member_kind {
	MEMBER_TEXT,    /* struct str; least..most bytes, no controls */
	MEMBER_LONG,    /* struct str that may have several lines */
	MEMBER_SECRET,  /* struct str */
	MEMBER_POINTER, /* struct str, a JSON pointer */
	MEMBER_VALUE,   /* struct sub_value */
	MEMBER_BOOL,    /* bool */
	MEMBER_INT,     /* int64_t; least..most */
	MEMBER_CHOICE,  /* an enum; the index in `words` */
	MEMBER_EITHER,  /* bool; the first word is false, the second true */
	MEMBER_OWN,     /* the caller reads and writes it */
};

struct member {
	const char *name; /* NULL ends a table */
	enum member_kind kind;
	size_t offset;
	int64_t least, most;
	const char *const *words; /* NULL ends */
};

enum member_form {
	FORM_USER,   /* read: masks keep; written: secrets masked */
	FORM_STORED, /* secrets sealed */
	FORM_PLAIN,  /* secrets as they are: from hand to hand */
};

struct member_io {
	enum member_form form;
	struct arena *arena;
	const struct sub_seal *seal; /* FORM_STORED */
};

/*
 * `initial` is a struct with the values that null brings. `at` is the object's
 * pointer. Members of kind OWN are known but not read.
 */
int member_read(const struct member_io *io, const struct member *table,
    const struct json *object, const char *at, const void *initial, void *base,
    struct err *e) MUST_CHECK;
/* "name":value for each, commas between; OWN ones are left out. */
int member_write(const struct member_io *io, const struct member *table,
    const void *base, struct buf *b, struct err *e) MUST_CHECK;

/* One secret by itself. *ret holds what was there before. */
int member_secret_read(const struct member_io *io, const struct json *j,
    const char *at, size_t most, struct str *ret, struct err *e) MUST_CHECK;
int member_secret_write(const struct member_io *io, struct str secret,
    struct buf *b, struct err *e) MUST_CHECK;

/* A text that is not empty and has no control characters. */
int member_text(const struct json *j, const char *at, size_t most,
    struct arena *a, struct str *ret, struct err *e) MUST_CHECK;
int member_int(const struct json *j, const char *at, int64_t least,
    int64_t most, int64_t *ret, struct err *e) MUST_CHECK;
/* What of that type; NULL and e set when it is not. */
int member_want(const struct json *j, enum json_type type, const char *at,
    struct err *e) MUST_CHECK;
/* The index of the word. */
int member_choice(const struct json *j, const char *at,
    const char *const *words, unsigned *ret, struct err *e) MUST_CHECK;
bool member_token_ok(struct str s); /* RFC 9110: a header's name */
/* "" or /segments; ~ only as ~0 and ~1. */
bool member_pointer_ok(struct str pointer);
/* at + "/" + name, cut where there is no room. */
void member_at(
    char ret[JSON_POINTER_MAX + 1], const char *at, const char *name);

#endif
