#ifndef WATERH_CCURL_H
#define WATERH_CCURL_H

#ifndef CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_TYPECHECK
#endif
#include <curl/curl.h>
#include <stddef.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, and Swift cannot call those.
typedef size_t (*waterh_receive)(char *bytes, size_t size, size_t count, void *owner);

static inline CURLcode waterh_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// libcurl copies texts; other pointers (a list of headers, a body, an owner) must live as long as the handle.
static inline CURLcode waterh_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode waterh_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode waterh_curl_set_receiver(CURL *handle, CURLoption option, waterh_receive value) {
    return curl_easy_setopt(handle, option, value);
}

// Returns 1 to end the transfer. libcurl calls it at each step, and once a second while nothing happens.
typedef int (*waterh_progress)(void *owner, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

static inline CURLcode waterh_curl_set_progress(CURL *handle, waterh_progress value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode waterh_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline long waterh_curl_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

// By number: newer headers deprecate the first of them, and older libraries know neither what replaces it nor the second.
#define WATERH_CURL_PROTOCOLS ((CURLoption)181)
#define WATERH_CURL_QUICK_EXIT ((CURLoption)322)
static inline CURLoption waterh_curl_option_protocols(void) { return WATERH_CURL_PROTOCOLS; }
static inline CURLoption waterh_curl_option_quick_exit(void) { return WATERH_CURL_QUICK_EXIT; }
// http and https.
static inline long waterh_curl_web(void) { return (1 << 0) | (1 << 1); }

#endif
