/*
 * network.h - the network that an address lies in, as one customer has it: of
 * IPv4 the address, of IPv6 its /64, from which one picks addresses at will. A
 * mapped IPv4 address counts as IPv4; what is no address ("unix") as itself.
 */
#ifndef HTTP_NETWORK_H
#define HTTP_NETWORK_H

#include "base/base.h"

#define NETWORK_MAX 64

/* Its bytes, with a mark of their kind; returns how many. */
size_t network_of(const char *peer, unsigned char ret[NETWORK_MAX]);

#endif
