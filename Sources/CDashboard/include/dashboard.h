// The files of `pages/` as data.
#ifndef WATERH_DASHBOARD_H
#define WATERH_DASHBOARD_H

struct waterh_page {
    // The file's name, as in the URL.
    const char *name;
    const unsigned char *bytes;
    unsigned long length;
};

extern const unsigned long waterh_page_count;

// - index: 0 to `waterh_page_count - 1`.
struct waterh_page waterh_pages(unsigned long index);

#endif
