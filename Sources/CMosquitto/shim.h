#ifndef WATERH_CMOSQUITTO_H
#define WATERH_CMOSQUITTO_H

#include <dlfcn.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stddef.h>

// libmosquitto's functions that we use, by the part of their name behind "mosquitto_". The library is opened when it is first needed: who
// speaks to no broker need not have it. Their types come from its header.
#define WATERH_MOSQUITTO_FUNCTIONS(use)                                                                                             \
    use(lib_init) use(lib_version) use(strerror) use(connack_string) use(new) use(destroy) use(username_pw_set) use(will_set)       \
    use(tls_set) use(int_option) use(threaded_set) use(connect_with_flags_callback_set) use(disconnect_callback_set)                \
    use(publish_v5_callback_set) use(subscribe_callback_set) use(message_callback_set) use(log_callback_set) use(connect_async)     \
    use(disconnect) use(socket) use(connect_bind_v5) use(property_add_int32) use(property_free_all) use(reason_string)              \
    use(want_write) use(loop_read) use(loop_write) use(loop_misc) use(publish) use(subscribe) use(subscribe_v5)

struct waterh_mosquitto {
#define WATERH_FIELD(name) __typeof__(&mosquitto_##name) name;
    WATERH_MOSQUITTO_FUNCTIONS(WATERH_FIELD)
#undef WATERH_FIELD
};

// Fills the table from an open library. Returns the name of a function that it lacks, or NULL.
static inline const char *waterh_mosquitto_load(void *library, struct waterh_mosquitto *table) {
    void *found;
#define WATERH_LOAD(name)                                                                                                           \
    if ((found = dlsym(library, "mosquitto_" #name)) == NULL) return "mosquitto_" #name;                                           \
    table->name = (__typeof__(&mosquitto_##name))found;
    WATERH_MOSQUITTO_FUNCTIONS(WATERH_LOAD)
#undef WATERH_LOAD
    return NULL;
}

#endif
