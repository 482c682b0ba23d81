/*
 * bloom.h - a set of hashes that may say "there" of one that is not, but never
 * "absent" of one that is.
 *
 * A Bloom filter in blocks of one cache line: each hash sets BITS bits of the
 * block it belongs to, so that a question costs one look at memory. The hashes
 * are taken as random: they are parts of a SHA-256. Their lowest 21 bits don't
 * count, so that pairs of ids.h will do.
 *
 * At 10 bits of the filter for each hash one answer in eighty is wrong, at 6.7
 * one in twenty, at half of that one in four. Nothing can be taken out: who
 * wants that makes a new one.
 */
#pragma once

#include "base/base.h"

struct bloom;

/* bytes is a power of two, from 64 on. */
struct bloom *bloom_new(size_t bytes);
void bloom_free(struct bloom *b);

void bloom_add(struct bloom *b, int64_t h);
void bloom_hint(const struct bloom *b, int64_t h); /* a bloom_has() follows */
bool bloom_has(const struct bloom *b, int64_t h);

size_t bloom_bytes(const struct bloom *b);
size_t bloom_count(const struct bloom *b); /* how often something was added */
