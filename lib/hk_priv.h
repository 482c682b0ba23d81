/*
 * hk_priv.h - between the files of libhikyaku.
 *
 * What it shares with the server (base/, seal/, contract/receive.h) is compiled
 * into it with hidden visibility: a program that has functions of the same
 * names is not disturbed, and tests of the one are tests of the other.
 */
#pragma once

#include "base/base.h"
#include "hikyaku.h"

struct arena;
struct json;

/* A page of events fits, of which the server shows 4 MiB at once. */
#define LIB_ANSWER_MAX  ((size_t)32 << 20)
#define LIB_ANSWER_KEEP ((size_t)256 << 10) /* memory kept for the next */
/* One event: the server takes 1 MiB unless it is told otherwise. */
#define LIB_EVENT_MAX   ((size_t)16 << 20)
/* What reading one may make: twelve nodes a value are the worst case. */
#define LIB_ARENA_MAX   ((size_t)96 << 20)

struct lib_call {
	const char *method, *path; /* the path begins with / and is encoded */
	struct str body;           /* empty: none */
	long extra_ms;             /* a long poll's, beside total_ms */
};

/*
 * One try. HK_OK for an answer of 2xx, which lib_answer() then borrows until
 * the next call; else *e says what and whether a repeat may help.
 */
int lib_call_once(struct hk_client *c, const struct lib_call *k,
    struct hk_error *e) MUST_CHECK;
/* With repeats and waits as the options say. ret_tries may be NULL. */
int lib_call(struct hk_client *c, const struct lib_call *k, unsigned *ret_tries,
    struct hk_error *e) MUST_CHECK;
struct str lib_answer(const struct hk_client *c);
bool lib_transient(int code);
/* How long to wait after the n-th failure, from 1; what e says counts too. */
int64_t lib_backoff_ms(
    const struct hk_client *c, unsigned failures, const struct hk_error *e);
/* HK_STOPPED as soon as stop() says so. */
int lib_wait(struct hk_client *c, int64_t ms, struct hk_error *e) MUST_CHECK;
unsigned lib_tries(const struct hk_client *c);

/* {"code","message","pointer"} of the server into *e. */
void lib_server_error(const struct json *j, int status, struct hk_error *e);
int lib_status_code(int status);
int lib_from(const struct err *from, struct hk_error *e);
void lib_text(char *ret, size_t room, struct str s); /* cut, with NUL */
int lib_nomem(struct hk_error *e);

/* clang-tidy can't look into error.c: for it, a failure is seen to be one. */
#ifdef __clang_analyzer__
#define hk_fail(e, code, ...) ((hk_fail)(e, code, __VA_ARGS__), (int)(code))
#define lib_nomem(e)          ((lib_nomem)(e), (int)HK_NOMEM)
#define lib_from(from, e)     ((lib_from)(from, e), (int)HK_INVALID)
#endif

/* *e of a caller who wants none goes here. */
#define LIB_ERROR(e)                                                           \
	struct hk_error lib_unseen_;                                           \
	if (!(e))                                                              \
		(e) = &lib_unseen_;                                            \
	memset((e), 0, sizeof(*(e)))

/* Reads an envelope's members; `j` and its text live in the arena. */
int lib_event_read(struct arena *a, const struct json *j, struct hk_event *ret,
    struct hk_error *e) MUST_CHECK;

/* For hk_consume(), what became of an event. */
struct hk_client *lib_consumer_client(struct hk_consumer *c);
struct hk_consumer_counts *lib_consumer_counts(struct hk_consumer *c);
/* Is there an event that needs no request? */
bool lib_consumer_ready(const struct hk_consumer *c);
