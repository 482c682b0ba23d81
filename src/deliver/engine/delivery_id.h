/*
 * delivery_id.h - the name of a delivery, which is its primary key in disguise.
 *
 * Receivers see a UUID of version 4, as the specifications ask. A random one
 * would need a unique index over the attempt table, which cost four times the
 * insert; a plain (seq, subscription, rep) would show everybody how many
 * events there are. So the key is shuffled:
 *
 *   122 free bits = seq 48 | subscription 32 | rep 16 | check 26
 *
 * through a keyed permutation, a Feistel network of eight rounds over two
 * halves of 61 bits with SipHash-2-4 as round function. Whoever has the key
 * gets the numbers back, and the check bits tell a made-up id from one of
 * ours: one in 67 million guesses passes, and that one names a delivery that
 * is then looked for and, most likely, not there.
 *
 * Pure functions. The key is made once with the store and never changes: ids
 * that receivers have kept must go on being found.
 */
#pragma once

#include "base/base.h"

struct db;

#define DELIVERY_ID_KEY_LEN 16
#define DELIVERY_SEQ_MAX    ((INT64_C(1) << 48) - 1)

struct delivery_id_key {
	unsigned char b[DELIVERY_ID_KEY_LEN];
};

/* 0 <= seq <= DELIVERY_SEQ_MAX: at a million a second, nine years. */
struct uuid delivery_id_make(
    const struct delivery_id_key *key, int64_t seq, uint32_t sub, uint16_t rep);
/* False when it is none of ours; then nothing is set. */
bool delivery_id_open(const struct delivery_id_key *key, struct uuid id,
    int64_t *ret_seq, uint32_t *ret_sub, uint16_t *ret_rep);

/*
 * The cursor of a pull consumer's event: its delivery, and the attempts that
 * were made before the one the cursor stands for. 32 more check bits.
 */
#define DELIVERY_CURSOR_LEN 48
struct delivery_cursor {
	int64_t seq;
	uint32_t sub;
	uint16_t rep;
	uint32_t n;
};
void delivery_cursor_make(const struct delivery_id_key *key,
    const struct delivery_cursor *c, char ret[DELIVERY_CURSOR_LEN + 1]);
/* False when it is none of ours. */
bool delivery_cursor_open(const struct delivery_id_key *key, struct str text,
    struct delivery_cursor *ret);

/*
 * The key of this installation, made with the first start, kept in the store
 * (meta `delivery_id_key`), and never changed: receivers keep ids. By the one
 * writer, before there are threads.
 */
int delivery_id_key(
    struct db *db, struct delivery_id_key *ret, struct err *e) MUST_CHECK;
