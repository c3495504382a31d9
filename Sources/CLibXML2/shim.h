#include <libxml/xmlversion.h>
/* Debian's libxml2 shows ICU's types in one structure that nobody here touches; Foundation brings another ICU of its own. */
#undef LIBXML_ICU_ENABLED
#include <libxml/SAX2.h>
#include <libxml/parser.h>
