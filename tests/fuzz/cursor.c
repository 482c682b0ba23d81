/* A token that is taken is the one token of its place; every place has one. */
#include "event/cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = {(const char *)data, n};
	char token[CURSOR_LEN + 1];
	uint64_t bits = 0;
	int64_t seq = -1, back = -1;
	struct err e = {0};

	if (cursor_parse(s, &seq, &e) == OK) {
		cursor_format(seq, token);
		assert(seq >= 0 && str_eq(s, str_of(token)));
	} else {
		assert(seq == -1 && e.code == ERR_INVALID && e.text[0]);
	}
	if (n > 0)
		memcpy(&bits, data, n < sizeof(bits) ? n : sizeof(bits));
	cursor_format((int64_t)(bits >> 1), token);
	if (cursor_parse(str_of(token), &back, &e) < 0)
		abort();
	assert(back == (int64_t)(bits >> 1));
	return 0;
}
