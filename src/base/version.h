/* version.h - what we are called in OpenAPI, --version and user agents. */
#pragma once

#define HIKYAKU_VERSION "0.1.0"
