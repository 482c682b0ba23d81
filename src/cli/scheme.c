#include "cli/scheme.h"

#include "contract/preset.h"

static const struct {
	const char *name, *text;
} PROVIDERS[] = {
#define PRESET(name, text) {name, text},
#include "contract/providers.tbl"
#undef PRESET
};

int
scheme_open(struct cli *c, struct scheme *s, struct err *e)
{
	const char *name = args_text(&c->args, "scheme");
	const char *secret = args_text(&c->args, "secret");
	int rc;

	*s = (struct scheme){.secret = STR_EMPTY};
	if (!secret)
		secret = getenv("HIKYAKU_SECRET");
	s->secret = str_of(secret);
	s->presets = presets_load(&c->conf);
	if (!name)
		name = "standard";
	s->preset = presets_find(s->presets, str_of(name));
	for (size_t i = 0; !s->preset && i < COUNT_OF(PROVIDERS); i++) {
		if (!str_eq(str_of(name), str_of(PROVIDERS[i].name)))
			continue;
		rc = preset_parse(str_of(name), str_of(PROVIDERS[i].text),
		    &c->conf, &s->provider, e);
		if (rc < 0)
			return rc;
		s->preset = s->provider;
	}
	if (!s->preset)
		return err_set(e, ERR_INVALID,
		    "--scheme %.64s is not known; it is one of standard, repository, task, hub, cloudevents, cloudevents-binary, github, stripe",
		    name);
	return OK;
}

void
scheme_close(struct scheme *s)
{
	preset_unref(s->provider);
	presets_free(s->presets);
}

int
scheme_verify(const struct scheme *s, struct arena *a, const struct received *r,
    int64_t now_us, int64_t tolerance_s, enum receive_result *ret,
    struct err *e)
{
	struct received known = *r;

	if (s->provider && str_eq(s->provider->name, STR("stripe")))
		known = receive_stripe(a, r);
	return receive_verify(s->preset, &s->secret, 1, &known,
	    (struct receive_time){now_us, tolerance_s}, ret, e);
}
