#include "store/pgparam.h"

#include <endian.h>

/* From pg_type.dat; they are part of the protocol and never change. */
enum {
	OID_BYTEA = 17,
	OID_INT8 = 20,
	OID_TEXT = 25,
	OID_BYTEA_ARRAY = 1001,
	OID_TEXT_ARRAY = 1009,
	OID_INT8_ARRAY = 1016,
};

static const struct {
	Oid self, element;
} TYPES[] = {
    [VAL_NULL] = {0, 0},
    [VAL_INT] = {OID_INT8, 0},
    [VAL_TEXT] = {OID_TEXT, 0},
    [VAL_BYTES] = {OID_BYTEA, 0},
    [VAL_INTS] = {OID_INT8_ARRAY, OID_INT8},
    [VAL_TEXTS] = {OID_TEXT_ARRAY, OID_TEXT},
    [VAL_BYTESS] = {OID_BYTEA_ARRAY, OID_BYTEA},
};

Oid
pgparam_type(enum val_type type)
{
	return TYPES[type].self;
}

static void
add32(struct buf *b, uint32_t v)
{
	v = htobe32(v);
	buf_add(b, (struct str){(const char *)&v, sizeof(v)});
}

static void
add_int(struct buf *b, int64_t v)
{
	uint64_t n = htobe64((uint64_t)v);

	add32(b, sizeof(n));
	buf_add(b, (struct str){(const char *)&n, sizeof(n)});
}

static void
add_str(struct buf *b, struct str s)
{
	add32(b, s.p ? (uint32_t)s.n : UINT32_MAX);
	if (s.p)
		buf_add(b, s);
}

/* One dimension from 1; an array of nothing has none. Returns its length. */
static int
put_array(struct buf *b, const struct val *v)
{
	bool ints = v->type == VAL_INTS, nulls = false;
	size_t from = b->n;

	for (size_t i = 0; i < v->n && !ints; i++)
		nulls = nulls || !v->sv[i].p;
	add32(b, v->n > 0);
	add32(b, nulls);
	add32(b, TYPES[v->type].element);
	if (v->n > 0) {
		add32(b, (uint32_t)v->n);
		add32(b, 1);
	}
	for (size_t i = 0; i < v->n && !b->failed; i++)
		if (ints)
			add_int(b, v->iv[i]);
		else
			add_str(b, v->sv[i]);
	return (int)(b->n - from);
}

static void
set_one(struct pgparam *p, size_t i, const struct val *v)
{
	switch (v->type) {
	case VAL_NULL:
		p->values[i] = NULL;
		return;
	case VAL_INT:
		p->ints[i] = htobe64((uint64_t)v->i);
		p->values[i] = (const char *)&p->ints[i];
		p->lengths[i] = sizeof(p->ints[i]);
		return;
	case VAL_TEXT:
	case VAL_BYTES:
		p->arrays.failed = p->arrays.failed || v->s.n > INT32_MAX / 2;
		p->values[i] = v->s.p;
		p->lengths[i] = (int)v->s.n;
		return;
	case VAL_INTS:
	case VAL_TEXTS:
	case VAL_BYTESS:
		p->lengths[i] = put_array(&p->arrays, v);
		return;
	}
}

int
pgparam_set(
    struct pgparam *p, const struct val *args, size_t n_args, struct err *e)
{
	size_t at = 0;

	assert(n_args <= STORE_ARGS_MAX);
	p->arrays.limit = STORE_ARRAYS_MAX;
	buf_clear(&p->arrays);
	for (size_t i = 0; i < n_args; i++) {
		p->formats[i] = 1;
		set_one(p, i, &args[i]);
	}
	if (p->arrays.failed)
		return err_set(
		    e, ERR_LIMIT, "too many bytes for one statement");
	/* Only now does the buffer stay where it is. */
	for (size_t i = 0; i < n_args; i++) {
		if (TYPES[args[i].type].element == 0)
			continue;
		p->values[i] = p->arrays.p + at;
		at += (size_t)p->lengths[i];
	}
	return OK;
}

void
pgparam_sent(struct pgparam *p)
{
	if (p->arrays.cap > STORE_ARRAYS_KEEP)
		buf_done(&p->arrays);
}

void
pgparam_done(struct pgparam *p)
{
	buf_done(&p->arrays);
}
