/*
 * xml_write.h - XML that is written: text and attributes, escaped.
 *
 * Whoever writes a document writes its markup as it is, and all that strangers
 * had a hand in by these. Signs that XML forbids are left out. The text has to
 * be UTF-8.
 */
#pragma once

#include "base/base.h"

#define XML_WRITE_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

void xml_write_text(struct buf *b, struct str s);
/* Quotes stay as they are: not for attributes. */
void xml_write_inner(struct buf *b, struct str s);
/* With a blank before it. */
void xml_write_attr(struct buf *b, const char *name, struct str value);
/* <name>text</name> */
void xml_write_element(struct buf *b, const char *name, struct str text);
