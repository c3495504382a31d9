#ifndef WATERH_CLIBPQ_H
#define WATERH_CLIBPQ_H

#include <libpq-fe.h>

#endif
