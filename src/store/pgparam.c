#include "store/pgparam.h"

#include <assert.h>
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

static char *
put32(char *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static char *
put_ints(char *at, const struct val *v)
{
	for (size_t i = 0; i < v->n; i++) {
		uint64_t n = htobe64((uint64_t)v->iv[i]);

		at = put32(at, sizeof(n));
		memcpy(at, &n, sizeof(n));
		at += sizeof(n);
	}
	return at;
}

static char *
put_strs(char *at, const struct val *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct str s = v->sv[i];

		at = put32(at, s.p ? (uint32_t)s.n : UINT32_MAX);
		if (s.p && s.n > 0)
			memcpy(at, s.p, s.n);
		at += s.p ? s.n : 0;
	}
	return at;
}

/* Bytes of the array, cut off above any limit of ours; nulls in *ret. */
static size_t
measure(const struct val *v, bool *ret_nulls)
{
	size_t n = 20;

	*ret_nulls = false;
	if (v->n > STORE_ARRAYS_MAX)
		return SIZE_MAX;
	if (v->type == VAL_INTS)
		return n + v->n * 12;
	for (size_t i = 0; i < v->n; i++) {
		if (v->sv[i].p && v->sv[i].n > STORE_ARRAYS_MAX)
			return SIZE_MAX;
		*ret_nulls = *ret_nulls || !v->sv[i].p;
		n += 4 + (v->sv[i].p ? v->sv[i].n : 0);
		if (n > STORE_ARRAYS_MAX)
			return SIZE_MAX;
	}
	return n;
}

/* One dimension from 1; an array of nothing has none. Returns its length. */
static int
put_array(struct buf *b, const struct val *v)
{
	bool nulls;
	char *from = buf_room(b, measure(v, &nulls)), *at = from;

	if (!from)
		return 0;
	at = put32(at, v->n > 0);
	at = put32(at, nulls);
	at = put32(at, TYPES[v->type].element);
	if (v->n > 0) {
		at = put32(at, (uint32_t)v->n);
		at = put32(at, 1);
		at = v->type == VAL_INTS ? put_ints(at, v) : put_strs(at, v);
	}
	b->n += (size_t)(at - from);
	return (int)(at - from);
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
