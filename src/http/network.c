#include "http/network.h"

#include "base/str.h"
#include "http/nets.h"

size_t
network_of(const char *peer, unsigned char ret[NETWORK_MAX])
{
	struct ip ip;
	size_t n;

	if (ip_read(str_of(peer), &ip)) {
		ip_unmap(&ip);
		n = ip.n == 4 ? 4 : 8;
		ret[0] = ip.n == 4 ? 4 : 6;
		memcpy(ret + 1, ip.b, n);
		return n + 1;
	}
	n = strnlen(peer, NETWORK_MAX - 1);
	ret[0] = 0;
	memcpy(ret + 1, peer, n);
	return n + 1;
}
