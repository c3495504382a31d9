#ifndef WATERH_CARCHIVE_H
#define WATERH_CARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#endif
