#include "http/nets.h"

#include <arpa/inet.h>

#include "http/limits.h"

bool
ip_read(struct str text, struct ip *ret)
{
	struct ip ip = {.n = 4};
	char z[IP_TEXT_MAX];

	if (text.n == 0 || text.n >= sizeof(z) || memchr(text.p, '\0', text.n))
		return false;
	memcpy(z, text.p, text.n);
	z[text.n] = '\0';
	if (inet_pton(AF_INET, z, ip.b) != 1) {
		ip.n = 16;
		if (inet_pton(AF_INET6, z, ip.b) != 1)
			return false;
	}
	*ret = ip;
	return true;
}

bool
ip_of(const struct sockaddr *sa, struct ip *ret)
{
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)sa;

		ret->n = 4;
		memcpy(ret->b, &v4->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)sa;

		ret->n = 16;
		memcpy(ret->b, &v6->sin6_addr, 16);
	} else {
		return false;
	}
	return true;
}

void
ip_unmap(struct ip *ip)
{
	static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff};

	if (ip->n != 16 || memcmp(ip->b, MAPPED, sizeof(MAPPED)) != 0)
		return;
	memmove(ip->b, ip->b + 12, 4);
	ip->n = 4;
}

void
ip_format(const struct ip *ip, char ret[IP_TEXT_MAX])
{
	(void)inet_ntop(
	    ip->n == 4 ? AF_INET : AF_INET6, ip->b, ret, IP_TEXT_MAX);
}

size_t
ip_network(const char *peer, unsigned char ret[IP_NETWORK_MAX])
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
	n = strnlen(peer, IP_NETWORK_MAX - 1);
	ret[0] = 0;
	memcpy(ret + 1, peer, n);
	return n + 1;
}

bool
net_has(const struct net *net, const struct ip *ip)
{
	unsigned whole = net->bits / 8, rest = net->bits % 8;
	unsigned mask = 0xff00U >> rest & 0xff;

	if (ip->n != net->at.n || memcmp(ip->b, net->at.b, whole) != 0)
		return false;
	return rest == 0 || ((ip->b[whole] ^ net->at.b[whole]) & mask) == 0;
}

bool
nets_has(const struct nets *l, const struct ip *ip)
{
	for (size_t i = 0; i < l->n; i++)
		if (net_has(&l->v[i], ip))
			return true;
	return false;
}

/* "10.0.0.0/8" or one address. */
static bool
read_net(struct str item, struct net *ret)
{
	struct str bits = item;
	struct str at = str_cut(&bits, '/');
	int64_t n;

	if (!ip_read(at, &ret->at))
		return false;
	n = (int64_t)ret->at.n * 8;
	if (str_has(item, '/') &&
	    (!str_int(bits, &n) || n < 0 || n > (int64_t)ret->at.n * 8))
		return false;
	ret->bits = (unsigned)n;
	for (size_t i = ret->bits; i < ret->at.n * 8; i++)
		if (ret->at.b[i / 8] >> (7 - i % 8) & 1)
			return false;
	return true;
}

int
nets_count(const char *key, const char *text, size_t *ret, struct err *e)
{
	size_t n = text[0] != '\0';

	for (; *text; text++)
		n += *text == ',';
	if (n > GUARD_RULES_MAX)
		return err_set(e, ERR_INVALID, "%s has over %d entries", key,
		    GUARD_RULES_MAX);
	*ret = n;
	return OK;
}

int
nets_read(const char *key, const char *text, struct nets *ret, struct err *e)
{
	struct str rest = str_of(text);
	size_t most = 0;

	TRY(nets_count(key, text, &most, e));
	ret->n = 0;
	ret->v = mem_array(most + 1, sizeof(*ret->v));
	while (rest.n > 0) {
		struct str item = str_cut(&rest, ',');

		if (!read_net(item, &ret->v[ret->n]))
			return err_set(e, ERR_INVALID,
			    "%s: %.*s is no network such as 10.0.0.0/8 or fd00::/8 (nothing may be set behind the prefix)",
			    key, STR_ARG(item));
		ret->n++;
	}
	return OK;
}

void
nets_done(struct nets *l)
{
	free(l->v);
	*l = (struct nets){NULL, 0};
}
