#include "seal/worst.h"

#include "seal/limits.h"
#include "seal/password.h"

#define UNIT_MAX 4 /* of what is repeated */

static const char *const WORDS[] = {
#define WORST(...) __VA_ARGS__,
#include "seal/worst.tbl"
#undef WORST
};

/* As keys lie, and as one counts; each is read in both directions. */
static const char *const RUNS[] = {"01234567890", "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/", "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0"};

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool
word_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* The letter that is meant by a digit or mark. */
static char
meant(char c)
{
	static const char FROM[] = "0134578@$!", TO[] = "oleastbasi";
	const char *at = c ? strchr(FROM, c) : NULL;

	return at ? TO[at - FROM] : c;
}

/* Without the digits and marks before and behind. */
static struct str
core(struct str s)
{
	while (s.n > 0 && !word_letter(s.p[0]))
		s = str_from(s, 1);
	while (s.n > 0 && !word_letter(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool
among(struct str s)
{
	for (size_t i = 0; i < COUNT_OF(WORDS); i++)
		if (str_eq(s, str_of(WORDS[i])))
			return true;
	return false;
}

static bool
repeats(struct str s)
{
	for (size_t unit = 1; unit <= UNIT_MAX; unit++) {
		size_t i = unit;

		while (i < s.n && s.p[i] == s.p[i - unit])
			i++;
		if (i == s.n)
			return true;
	}
	return false;
}

/* All of it lies in one of RUNS, forwards or backwards. */
static bool
runs(struct str s)
{
	char back[64];

	if (s.n > sizeof(back))
		return false;
	for (size_t i = 0; i < s.n; i++)
		back[i] = s.p[s.n - 1 - i];
	for (size_t i = 0; i < COUNT_OF(RUNS); i++)
		if (memmem(RUNS[i], strlen(RUNS[i]), s.p, s.n) ||
		    memmem(RUNS[i], strlen(RUNS[i]), back, s.n))
			return true;
	return false;
}

/* The host of the URL, or its first label. */
static bool
is_host(struct str s, struct str core_of_s, struct str url)
{
	struct str host = url, label;
	size_t at = 0;

	while (at + 2 < url.n && memcmp(url.p + at, "://", 3) != 0)
		at++;
	host = at + 2 < url.n ? str_from(url, at + 3) : url;
	host = str_cut(&host, '/');
	host = str_cut(&host, ':');
	label = host;
	label = str_cut(&label, '.');
	return host.n > 0 && (str_eq_nocase(s, host) ||
				 str_eq_nocase(core_of_s, core(label)));
}

const char *
worst_why(struct str password, const struct password_of *of)
{
	char low[PASSWORD_MAX], plain[PASSWORD_MAX];
	struct str s = {low, password.n}, inner, word;

	if (password.n > sizeof(low))
		return NULL;
	for (size_t i = 0; i < password.n; i++)
		low[i] = lower(password.p[i]);
	inner = core(s);
	for (size_t i = 0; i < inner.n; i++)
		plain[i] = meant(inner.p[i]);
	word = (struct str){plain, inner.n};
	if (repeats(s))
		return "a few characters over and over";
	if (runs(s))
		return "a run of neighbouring keys";
	if (of && (str_eq_nocase(s, of->name) ||
		      (inner.n > 0 && str_eq_nocase(inner, core(of->name)))))
		return "the name of the account";
	if (of && of->url.n > 0 && inner.n > 0 && is_host(s, inner, of->url))
		return "the name of this server";
	if (among(s) || (inner.n > 0 && (among(inner) || among(word))))
		return "one of the most common ones";
	return NULL;
}
