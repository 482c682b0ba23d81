#include "http/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

size_t
network_of(const char *peer, unsigned char ret[NETWORK_MAX])
{
	struct in_addr v4;
	struct in6_addr v6;
	size_t n;

	if (inet_pton(AF_INET, peer, &v4) == 1) {
		ret[0] = 4;
		memcpy(ret + 1, &v4, 4);
		return 5;
	}
	if (inet_pton(AF_INET6, peer, &v6) == 1) {
		bool mapped = IN6_IS_ADDR_V4MAPPED(&v6);

		ret[0] = mapped ? 4 : 6;
		memcpy(ret + 1, v6.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 8);
		return mapped ? 5 : 9;
	}
	n = strnlen(peer, NETWORK_MAX - 1);
	ret[0] = 0;
	memcpy(ret + 1, peer, n);
	return n + 1;
}
