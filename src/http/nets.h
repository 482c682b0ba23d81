/*
 * nets.h - addresses and the networks they lie in.
 *
 * An address is its bytes, 4 or 16 of them: how it was spelled counts for
 * nothing. A list of networks comes from a setting, as 10.0.0.0/8,fd00::/8; one
 * address is a network of its own.
 *
 * A mapped IPv4 (::ffff:192.0.2.1) is an address of sixteen bytes here; who
 * wants it to be the IPv4 it stands for says so by ip_unmap().
 *
 * LIFE. Values. A list is read at the start and then only looked at: any
 * thread.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/base.h"

#define IP_TEXT_MAX INET6_ADDRSTRLEN

struct ip {
	size_t n; /* 4 or 16 */
	uint8_t b[16];
};

struct net {
	struct ip at;
	unsigned bits;
};

struct nets {
	struct net *v;
	size_t n;
};

/* As 192.0.2.1 or 2001:db8::1, without port, zone and brackets. */
bool ip_read(struct str text, struct ip *ret);
bool ip_of(const struct sockaddr *sa, struct ip *ret); /* false: no IP */
void ip_unmap(struct ip *ip);
void ip_format(const struct ip *ip, char ret[IP_TEXT_MAX]);
/*
 * The network that a peer's address lies in, as one customer has it: of IPv4 the
 * address, of IPv6 its /64, from which one picks addresses at will. A mapped
 * IPv4 address counts as IPv4; what is no address ("unix") as itself. Returns
 * how many bytes it has, with a mark of their kind.
 */
#define IP_NETWORK_MAX 64
size_t ip_network(const char *peer, unsigned char ret[IP_NETWORK_MAX]);

bool net_has(const struct net *net, const struct ip *ip);
bool nets_has(const struct nets *l, const struct ip *ip);
/* Entries of the setting `key`, a list; ERR_INVALID past GUARD_RULES_MAX. */
int nets_count(
    const char *key, const char *text, size_t *ret, struct err *e) MUST_CHECK;
/* From the setting `key`. ERR_INVALID names it and the entry. */
int nets_read(const char *key, const char *text, struct nets *ret,
    struct err *e) MUST_CHECK;
void nets_done(struct nets *l);
