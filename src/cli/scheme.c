#include "cli/scheme.h"

#include "base/str.h"
#include "deliver/preset.h"

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
	rc = presets_load(&c->conf, &s->presets, e);
	if (rc < 0)
		return rc;
	s->preset =
	    presets_find(s->presets, name ? str_of(name) : STR("standard"));
	if (!s->preset)
		return err_set(e, ERR_INVALID,
		    "--scheme %.64s is not known; it is one of standard, repository, task, hub, cloudevents, cloudevents-binary",
		    name);
	return OK;
}

void
scheme_close(struct scheme *s)
{
	presets_free(s->presets);
}
