/*
 * fake.h - a server for tests that answers what it was told to.
 *
 * One thread, one connection after the other, kept open as HTTP/1.1 says. It
 * hands out its answers in turn, the last one again and again; an empty one
 * closes the connection instead. What it was asked is read after fake_stop().
 */
#pragma once

#include "base/base.h"
#include "hikyaku.h"

#define FAKE_ASKED_MAX 64

struct fake_asked {
	char line[256]; /* "POST /v1/events" */
	char key[128];  /* the Authorization header, or "" */
	char *body;
	int64_t at_ms;
};

struct fake {
	const char *const *answers; /* "200 {…}", "503 after=1 {…}", "" */
	size_t n_answers;
	struct fake_asked asked[FAKE_ASKED_MAX];
	size_t n;
	unsigned port;
	int fd, stop[2];
	unsigned long thread;
	char url[64];
};

void fake_start(struct fake *f, const char *const *answers, size_t n);
void fake_stop(struct fake *f); /* then read what was asked */
void fake_done(struct fake *f);
/* One of this server's, with short waits. stop may be NULL. */
struct hk_client *fake_client(
    const struct fake *f, unsigned tries, int (*stop)(void *ctx), void *ctx);
