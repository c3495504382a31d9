// zlib's functions that pack and unpack gzip. The library is opened when it is first needed; its types come from its header.
#ifndef WATERH_ZLIB_SHIM_H
#define WATERH_ZLIB_SHIM_H

#include <dlfcn.h>
#include <zlib.h>

struct waterh_gzip {
    __typeof__(&inflateInit2_) begin_unpacking;
    __typeof__(&inflate) unpack;
    __typeof__(&inflateEnd) end_unpacking;
    __typeof__(&deflateInit2_) begin_packing;
    __typeof__(&deflateBound) bound;
    __typeof__(&deflate) pack;
    __typeof__(&deflateEnd) end_packing;
};

static inline int waterh_gzip_load(void *library, struct waterh_gzip *table) {
    table->begin_unpacking = (__typeof__(table->begin_unpacking))dlsym(library, "inflateInit2_");
    table->unpack = (__typeof__(table->unpack))dlsym(library, "inflate");
    table->end_unpacking = (__typeof__(table->end_unpacking))dlsym(library, "inflateEnd");
    table->begin_packing = (__typeof__(table->begin_packing))dlsym(library, "deflateInit2_");
    table->bound = (__typeof__(table->bound))dlsym(library, "deflateBound");
    table->pack = (__typeof__(table->pack))dlsym(library, "deflate");
    table->end_packing = (__typeof__(table->end_packing))dlsym(library, "deflateEnd");
    return table->begin_unpacking && table->unpack && table->end_unpacking && table->begin_packing && table->bound && table->pack && table->end_packing;
}

#endif
