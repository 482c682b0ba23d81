/*
 * A date from anybody: none, or one between the years 1 and 9999 that is read
 * back the same when it is written by RFC 3339.
 */

#include "feed/date.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TIME_LEN + 1];
	int64_t us = 42, again = 0;

	if (!feed_date((struct str){(const char *)data, size}, &us)) {
		assert(us == 42);
		return 0;
	}
	time_format(us, text);
	assert(strlen(text) == TIME_LEN);
	assert(feed_date(str_of(text), &again));
	assert(again / US_PER_MS * US_PER_MS <= us && us - again < US_PER_MS &&
	       again - us < US_PER_MS);
	return 0;
}
