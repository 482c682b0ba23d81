/*
 * peer.h - whose request it is, when proxies handed it on.
 *
 * The address of a connection is that of the last hop. When it is one of
 * `http.trusted.proxies`, the hop says in a header whom it took the request
 * from, and so on: the list is walked from its end, over those that are
 * trusted, and the first that is not is the caller. What stands before it was
 * written by the caller and is never looked at.
 *
 *   X-Forwarded-For: made-up, 203.0.113.7, 10.0.0.2     (10.0.0.0/8 is trusted)
 *                             ▲ the caller
 *
 * TWO HEADERS. A proxy writes Forwarded (RFC 7239) or X-Forwarded-For and lets
 * the other pass as it came, so whichever were preferred, a caller could bring
 * one of his own. So when both are there both are walked, and must come to the
 * same address: what the proxy wrote is true, hence so is what agrees with it.
 *
 * WHAT CAN'T BE READ. When they disagree, and at an entry that is no address
 * (`unknown`, `_hidden`, anything else), the walk ends with the last trusted
 * hop: the address that vouched for it. So what comes out is an address that
 * was parsed and written anew, never a text that somebody sent; and callers
 * who send nonsense share one address for limits and lock-outs.
 *
 * Host, X-Forwarded-Host and X-Forwarded-Proto are not looked at: base.url
 * says how others reach this server.
 *
 * LIFE. Pure.
 */
#pragma once

#include "http/nets.h"

/*
 * `hop` is the connection's address, trusted already. The headers hold all
 * their lines, joined by commas; .p NULL: there was none.
 */
struct ip peer_find(const struct nets *trusted, struct ip hop,
    struct str forwarded, struct str x_forwarded_for);
