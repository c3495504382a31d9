#ifndef WATERH_CARCHIVE_H
#define WATERH_CARCHIVE_H

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <lzma.h>
#include <stddef.h>
#include <zlib.h>

// libarchive's functions that we use, by the part of their name behind "archive_". The library is opened when it is first needed: who reads no
// archive need not have it. Their types come from its headers.
#define WATERH_ARCHIVE_FUNCTIONS(use)                                                                                                \
    use(read_new) use(read_free) use(read_support_filter_gzip) use(read_support_filter_bzip2) use(read_support_filter_xz)            \
    use(read_support_filter_zstd) use(read_support_filter_lz4) use(read_support_filter_compress) use(read_support_format_zip)        \
    use(read_support_format_tar) use(read_support_format_raw) use(read_support_format_empty) use(read_open_fd) use(read_open) use(read_next_header)          \
    use(read_data) use(filter_count) use(error_string) use(entry_pathname_utf8) use(entry_pathname) use(entry_filetype)              \
    use(entry_is_data_encrypted)

struct waterh_archive {
#define WATERH_FIELD(name) __typeof__(&archive_##name) name;
    WATERH_ARCHIVE_FUNCTIONS(WATERH_FIELD)
#undef WATERH_FIELD
};

// Fills the table from an open library. Returns the name of a function that it lacks, or NULL.
static inline const char *waterh_archive_load(void *library, struct waterh_archive *table) {
    void *found;
#define WATERH_LOAD(name)                                                                                                           \
    if ((found = dlsym(library, "archive_" #name)) == NULL) return "archive_" #name;                                               \
    table->name = (__typeof__(&archive_##name))found;
    WATERH_ARCHIVE_FUNCTIONS(WATERH_LOAD)
#undef WATERH_LOAD
    return NULL;
}

// gzip and xz are unpacked by their own libraries, which libarchive brings along: it throws away what it had of a cut file's last piece, and does
// not look at gzip's checksum.
struct waterh_zlib {
    __typeof__(&inflateInit2_) begin;
    __typeof__(&inflate) run;
    __typeof__(&inflateReset) reset;
    __typeof__(&inflateEnd) end;
};

static inline int waterh_zlib_load(void *library, struct waterh_zlib *table) {
    table->begin = (__typeof__(table->begin))dlsym(library, "inflateInit2_");
    table->run = (__typeof__(table->run))dlsym(library, "inflate");
    table->reset = (__typeof__(table->reset))dlsym(library, "inflateReset");
    table->end = (__typeof__(table->end))dlsym(library, "inflateEnd");
    return table->begin && table->run && table->reset && table->end;
}

struct waterh_lzma {
    __typeof__(&lzma_stream_decoder) begin;
    __typeof__(&lzma_code) run;
    __typeof__(&lzma_end) end;
};

static inline int waterh_lzma_load(void *library, struct waterh_lzma *table) {
    table->begin = (__typeof__(table->begin))dlsym(library, "lzma_stream_decoder");
    table->run = (__typeof__(table->run))dlsym(library, "lzma_code");
    table->end = (__typeof__(table->end))dlsym(library, "lzma_end");
    return table->begin && table->run && table->end;
}

#endif
