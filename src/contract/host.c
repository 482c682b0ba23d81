#include "contract/host.h"

bool
host_of(struct str url, struct str *ret)
{
	size_t n = 0;

	if (!str_starts(url, STR("https://")) &&
	    !str_starts(url, STR("http://")))
		return false;
	(void)str_pass(&url, STR("://"));
	while (n < url.n && !str_has(STR("/?#"), url.p[n]))
		n++;
	*ret = (struct str){url.p, n};
	return true;
}

bool
host_label_ok(struct str s)
{
	bool ok = s.n >= 1 && s.n <= 63 && s.p[0] != '-' && s.p[s.n - 1] != '-';

	for (size_t i = 0; ok && i < s.n; i++) {
		char c = s.p[i];

		ok = str_is_letter(c) || str_is_digit(c) || c == '-';
	}
	return ok;
}
