/*
 * test.h - cmocka, with the headers that it wants before it, in its order.
 *
 * For *_test.c only.
 */
#pragma once

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "base/str.h"

/* A run of bytes against a literal. */
#define assert_str(s, literal)                                                 \
	do {                                                                   \
		struct str got_ = (s);                                         \
		assert_int_equal(got_.n, sizeof(literal) - 1);                 \
		assert_memory_equal(got_.p, literal, sizeof(literal) - 1);     \
	} while (0)
