/* version.h - what we are called in OpenAPI, --version and user agents. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define HIKYAKU_VERSION "0.1.0"

#endif
