#include "http/method.h"

static const char *const NAMES[METHODS] = {
    [GET] = "GET",
    [POST] = "POST",
    [PUT] = "PUT",
    [PATCH] = "PATCH",
    [DELETE] = "DELETE",
};

int
method_parse(struct str name)
{
	for (int m = 0; m < METHODS; m++)
		if (str_eq(name, str_of(NAMES[m])))
			return m;
	return str_eq(name, STR("HEAD")) ? GET : -1;
}

const char *
method_name(enum method m)
{
	return NAMES[m];
}
