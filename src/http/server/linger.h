/*
 * linger.h - sockets that were answered before all was read (door.h, LINGER).
 *
 * A duplicate of each is kept for a moment, and what still comes is read and
 * dropped. The door's, under its lock.
 */
#pragma once

#include "http/server/limits.h"

struct linger_list {
	struct {
		int fd;
		int64_t until_ms;
	} v[HTTP_LINGER_MAX];
	size_t n;
};

/* Makes the duplicate; a full list ends the oldest. */
void linger_add(struct linger_list *l, int fd, int64_t now_ms);
/* Reads what came; closes those whose time is over, or all. */
void linger_look(struct linger_list *l, int64_t now_ms, bool end_all);
