/*
 * listen.h - sockets to listen on.
 *
 * "HOST:PORT" with a name or an address, "[::1]:PORT", or ":PORT" for every
 * interface, both IP versions. A name with several addresses (localhost) gives
 * several sockets with the same port. All are non-blocking and close on exec.
 */
#pragma once

#include "base/base.h"

#define LISTEN_MAX 8

struct listening {
	int fds[LISTEN_MAX];
	size_t n;
	int port;
};

/* ERR_INVALID for an address that is none, ERR_IO. Returns in *ret_n ≥ 1. */
int listen_tcp(const char *address, int ret_fds[LISTEN_MAX], size_t *ret_n,
    int *ret_port, struct err *e) MUST_CHECK;
/*
 * Mode 0600 from the first moment. A socket file nobody listens on is
 * replaced; ERR_CONFLICT when somebody does.
 */
int listen_unix(const char *path, int *ret_fd, struct err *e) MUST_CHECK;
/*
 * Of a connection that was accepted: false when it may not come in. Answers go
 * out at once, and who does not read his fills little of the kernel's memory;
 * what is on its way is not bounded by that.
 */
bool listen_admit(int fd, bool local) MUST_CHECK;
