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
 * initial value (without one it is as if absent), unknown ones are errors, and
 * so is one that must be there and is not. Texts are copied to the arena. The
 * parameters of a query are members too: each is a text, read by its kind.
 *
 * A row tells all that a description of the API needs to know of a member
 * (api/openapi.h).
 *
 * SECRETS (MEMBER_SECRET) are sealed in the stored form and masked in the
 * shown one. The mask, sent back, leaves the field as it is.
 */
#pragma once

#include "base/base.h"

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
	MEMBER_WORDS,   /* unsigned; bits by the index in `words`; at least */
	MEMBER_STRING,  /* struct str; least..most bytes, whatever they are */
	MEMBER_CHARS, /* struct str; least..most characters, none of them NUL */
	MEMBER_TIME,  /* int64_t, microseconds; RFC 3339 */
	MEMBER_UUID,  /* struct uuid */
	MEMBER_UUIDS, /* struct member_uuids; least..most of them */
	MEMBER_TENANT,  /* struct uuid, of a name (seal/tenant.h) */
	MEMBER_TENANTS, /* struct member_uuids, of names, which it keeps */
	MEMBER_OBJECT,  /* const struct json *, an object; most bytes, 0: any */
	MEMBER_JSON,    /* const struct json *, which the caller judges */
	MEMBER_VARS,    /* struct vars, read alone; `least` is its place */
	MEMBER_PART,    /* an object of members, whose table is `part` */
	MEMBER_OWN,     /* by functions of its own, if any */
};

struct member_io;

struct member {
	const char *name; /* NULL ends a table */
	enum member_kind kind;
	size_t offset;
	int64_t least, most;
	const char *const *words; /* NULL ends */
	bool must;                /* absent, or null: an error */
	int64_t absent;           /* INT of a query that was not given */
	const char *about;        /* for those who read what the API is */
	/* PART: its members, whose offsets begin at this one's. For those who
	 * read about it: what an OBJECT or OWN has, or with `rows` each of its
	 * elements; whose member of the same name a JSON is like. */
	const struct member *part;
	bool rows;
	/* Of OWN and JSON, to those who read about it: a name of
	 * api/schemas.txt, or JSON Schema. An OWN that has none is not
	 * described: it is stored, or shown by somebody else. */
	const char *schema;
	/* OWN: with the whole struct; null is read, too. NULL: nothing is. */
	int (*read)(const struct member_io *io, const struct json *j,
	    void *base, struct err *e);
	int (*write)(const struct member_io *io, const void *base,
	    struct buf *b, struct err *e);
};

struct member_uuids {
	const struct uuid *v; /* the arena's */
	size_t n;
	const struct str *names; /* TENANTS: as they were given; else NULL */
};

enum member_form {
	FORM_USER,   /* read: masks keep; written: secrets masked */
	FORM_QUERY,  /* read: texts of a query; lists have commas */
	FORM_STORED, /* secrets sealed */
	FORM_PLAIN,  /* secrets as they are: from hand to hand */
};

struct member_io {
	enum member_form form;
	struct arena *arena;
	const struct sub_seal *seal; /* FORM_STORED */
	const void *ctx;             /* for the functions of OWN members */
};

/*
 * `initial` is a struct with the values that null brings, or NULL. `at` is the
 * object's pointer.
 */
int member_read(const struct member_io *io, const struct member *table,
    const struct json *object, const char *at, const void *initial, void *base,
    struct err *e) MUST_CHECK;
/* One parameter of a query, by FORM_QUERY; errors are at its bare name. */
int member_query(const struct member_io *io, const struct member *m,
    struct str value, void *base, struct err *e) MUST_CHECK;
const struct member *member_find(const struct member *table, struct str name);
/* "name":value for each, commas between. */
int member_write(const struct member_io *io, const struct member *table,
    const void *base, struct buf *b, struct err *e) MUST_CHECK;

/* One secret by itself. *ret holds what was there before. */
int member_secret_read(const struct member_io *io, const struct json *j,
    const char *at, size_t most, struct str *ret, struct err *e) MUST_CHECK;
int member_secret_write(const struct member_io *io, const char *name,
    struct str secret, struct buf *b, struct err *e) MUST_CHECK;

/* UUIDS and TENANTS. */
int member_uuids(const struct json *j, const char *at, const struct member *m,
    struct arena *a, struct member_uuids *ret, struct err *e) MUST_CHECK;
/* A text that is not empty and has no control characters. */
int member_text(const struct json *j, const char *at, size_t most,
    struct arena *a, struct str *ret, struct err *e) MUST_CHECK;
int member_int(const struct json *j, const char *at, int64_t least,
    int64_t most, int64_t *ret, struct err *e) MUST_CHECK;
/* The member; NULL when it is absent, or null. */
const struct json *member_given(const struct json *o, const char *name);
/* Something is wrong with a member of the object at `at`. */
int member_wrong(struct err *e, const char *at, const char *name,
    const char *fmt, ...) PRINTF(4, 5);
int member_need(
    bool there, const char *at, const char *name, struct err *e) MUST_CHECK;
/* No control characters, which are no part of a header. */
int member_one_line(struct str s, const char *at, struct err *e) MUST_CHECK;
/* It has that type, or the error says which. */
int member_want(const struct json *j, enum json_type type, const char *at,
    struct err *e) MUST_CHECK;
/* The index of the word. */
int member_choice(const struct json *j, const char *at,
    const char *const *words, unsigned *ret, struct err *e) MUST_CHECK;
bool member_token_ok(struct str s); /* RFC 9110: a header's name */
/* "" or /segments; ~ only as ~0 and ~1. */
bool member_pointer_ok(struct str pointer);
/* at + "/" + name, or an index; cut where there is no room. */
void member_at(
    char ret[JSON_POINTER_MAX + 1], const char *at, const char *name);
void member_at_index(char ret[JSON_POINTER_MAX + 1], const char *at, size_t i);
