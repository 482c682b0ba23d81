/*
 * detail.h - what is kept of an attempt or a dead letter beside its numbers.
 *
 * core_attempt.detail and core_dead.detail point at one; NULL: nothing is kept.
 * `own`: the event is one of ours (ops.*), which counts for nothing, so that no
 * alert feeds itself.
 */
#pragma once

#include "base/base.h"

struct core_result;

struct flush_detail {
	bool own;
	bool audit; /* of a dead letter: no attempt told the audit of it */
	size_t n;   /* 0: nothing to keep */
	char text[];
};

/* All are freed with free(). */
struct flush_detail *detail_new(struct str text, bool own);
/* For a dead letter without an attempt: in words, made UTF-8. */
struct flush_detail *detail_dead(const char *error, bool own);
/* What was made in a buf; NULL when that failed. */
struct flush_detail *detail_of(const struct buf *b);
/* A failed attempt that had neither request nor answer. */
struct flush_detail *detail_error(struct str error);
/* What went wrong, in words, of an attempt's detail, in `to`; .p NULL: it does
 * not say. */
struct str detail_said(const struct flush_detail *d, char *to, size_t room);
/* It was an event of our own. */
void detail_own(struct core_result *r);
