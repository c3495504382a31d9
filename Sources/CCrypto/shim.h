#ifndef WATERH_CCRYPTO_H
#define WATERH_CCRYPTO_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#endif
