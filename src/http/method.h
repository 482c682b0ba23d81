/*
 * method.h - the methods that routes have and that we call others with.
 */
#pragma once

#include "base/base.h"

enum method { GET, POST, PUT, PATCH, DELETE };
#define METHODS 5

/* -1 for a method no route can have. HEAD is GET. */
int method_parse(struct str name);
const char *method_name(enum method m);
