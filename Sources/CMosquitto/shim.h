#ifndef WATERH_CMOSQUITTO_H
#define WATERH_CMOSQUITTO_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

#endif
