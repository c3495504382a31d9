#ifndef WATERH_CCURL_H
#define WATERH_CCURL_H

#ifndef CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_TYPECHECK
#endif
#include <curl/curl.h>
#include <dlfcn.h>
#include <stddef.h>

// libcurl's functions that we use, by the part of their name behind "curl_". The library is opened when it is first needed: who sends nothing
// need not have it. Their types come from its header.
#define WATERH_CURL_FUNCTIONS(use)                                                                                                   \
    use(global_init) use(easy_init) use(easy_cleanup) use(easy_strerror) use(slist_append) use(slist_free_all) use(multi_init)       \
    use(multi_cleanup) use(multi_add_handle) use(multi_remove_handle) use(multi_perform) use(multi_poll) use(multi_wakeup)           \
    use(multi_info_read)

struct waterh_curl {
#define WATERH_FIELD(name) __typeof__(&curl_##name) name;
    WATERH_CURL_FUNCTIONS(WATERH_FIELD)
#undef WATERH_FIELD
    // These two take any kind of argument, which Swift cannot call: the functions below can.
    void *easy_setopt;
    void *easy_getinfo;
};

// Fills the table from an open library. Returns the name of a function that it lacks, or NULL.
static inline const char *waterh_curl_load(void *library, struct waterh_curl *table) {
    void *found;
#define WATERH_LOAD(name)                                                                                                           \
    if ((found = dlsym(library, "curl_" #name)) == NULL) return "curl_" #name;                                                     \
    table->name = (__typeof__(&curl_##name))found;
    WATERH_CURL_FUNCTIONS(WATERH_LOAD)
#undef WATERH_LOAD
    if ((table->easy_setopt = dlsym(library, "curl_easy_setopt")) == NULL) return "curl_easy_setopt";
    if ((table->easy_getinfo = dlsym(library, "curl_easy_getinfo")) == NULL) return "curl_easy_getinfo";
    return NULL;
}

typedef CURLcode (*waterh_setopt)(CURL *, CURLoption, ...);
typedef CURLcode (*waterh_getinfo)(CURL *, CURLINFO, ...);
typedef size_t (*waterh_receive)(char *bytes, size_t size, size_t count, void *owner);

static inline CURLcode waterh_curl_set_number(const struct waterh_curl *table, CURL *handle, CURLoption option, long value) {
    return ((waterh_setopt)table->easy_setopt)(handle, option, value);
}

// Texts are copied by the library; other pointers (a list of headers, a body, an owner) must live as long as the handle.
static inline CURLcode waterh_curl_set_text(const struct waterh_curl *table, CURL *handle, CURLoption option, const char *value) {
    return ((waterh_setopt)table->easy_setopt)(handle, option, value);
}

static inline CURLcode waterh_curl_set_pointer(const struct waterh_curl *table, CURL *handle, CURLoption option, void *value) {
    return ((waterh_setopt)table->easy_setopt)(handle, option, value);
}

static inline CURLcode waterh_curl_set_receiver(const struct waterh_curl *table, CURL *handle, CURLoption option, waterh_receive value) {
    return ((waterh_setopt)table->easy_setopt)(handle, option, value);
}

static inline CURLcode waterh_curl_set_size(const struct waterh_curl *table, CURL *handle, CURLoption option, curl_off_t value) {
    return ((waterh_setopt)table->easy_setopt)(handle, option, value);
}

static inline long waterh_curl_status(const struct waterh_curl *table, CURL *handle) {
    long status = 0;
    ((waterh_getinfo)table->easy_getinfo)(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

// By number: newer headers call the first of them old, older libraries do not know what is new, nor the second.
#define WATERH_CURL_PROTOCOLS ((CURLoption)181)
#define WATERH_CURL_QUICK_EXIT ((CURLoption)322)
static inline CURLoption waterh_curl_option_protocols(void) { return WATERH_CURL_PROTOCOLS; }
static inline CURLoption waterh_curl_option_quick_exit(void) { return WATERH_CURL_QUICK_EXIT; }
// http and https.
static inline long waterh_curl_web(void) { return (1 << 0) | (1 << 1); }

#endif
