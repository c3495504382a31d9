#ifndef WATERH_CCRYPTO_H
#define WATERH_CCRYPTO_H

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>

// libcrypto's functions that we use, all of OpenSSL 3.0 and none that it calls deprecated. The library is opened when it is first needed: who
// encrypts nothing need not have it. Their types come from its headers.
#define WATERH_CRYPTO_FUNCTIONS(use)                                                                                                 \
    use(OPENSSL_init_crypto) use(ERR_get_error) use(ERR_clear_error) use(ERR_reason_error_string)                                    \
    use(EVP_aes_128_gcm) use(EVP_aes_256_gcm) use(EVP_chacha20_poly1305)                                                             \
    use(EVP_CIPHER_CTX_new) use(EVP_CIPHER_CTX_free) use(EVP_CIPHER_CTX_ctrl) use(EVP_CipherInit_ex2) use(EVP_CipherUpdate)          \
    use(EVP_CipherFinal_ex)                                                                                                          \
    use(EVP_PKEY_free) use(EVP_PKEY_new_raw_private_key_ex) use(EVP_PKEY_new_raw_public_key_ex) use(EVP_PKEY_get_raw_public_key)     \
    use(EVP_PKEY_get_octet_string_param) use(d2i_PrivateKey) use(d2i_PUBKEY)                                                         \
    use(EVP_PKEY_CTX_new) use(EVP_PKEY_CTX_free) use(EVP_PKEY_derive_init) use(EVP_PKEY_derive_set_peer) use(EVP_PKEY_derive)        \
    use(EVP_MD_CTX_new) use(EVP_MD_CTX_free) use(EVP_DigestSignInit_ex) use(EVP_DigestSign) use(EVP_DigestVerifyInit_ex)             \
    use(EVP_DigestVerify)

struct waterh_crypto {
#define WATERH_FIELD(name) __typeof__(&name) name;
    WATERH_CRYPTO_FUNCTIONS(WATERH_FIELD)
#undef WATERH_FIELD
};

// Fills the table from an open library. Returns the name of a function that it lacks, or NULL.
static inline const char *waterh_crypto_load(void *library, struct waterh_crypto *table) {
    void *found;
#define WATERH_LOAD(name)                                                                                                           \
    if ((found = dlsym(library, #name)) == NULL) return #name;                                                                      \
    table->name = (__typeof__(&name))found;
    WATERH_CRYPTO_FUNCTIONS(WATERH_LOAD)
#undef WATERH_LOAD
    return NULL;
}

#endif
