#!/usr/bin/env python3
"""A notification server on the D-Bus session bus (Desktop Notifications 1.2) that prints the summary of each Notify call.

usage: notification_desk.py    the bus is DBUS_SESSION_BUS_ADDRESS; `ready` is the first line

Needs dbus-fast (benchmark-requirements.txt). Called by broker_figures.py.
"""
import asyncio

from dbus_fast import BusType, NameFlag, RequestNameReply
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, method

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class NotificationServer(ServiceInterface):
    last = 0

    @method()
    def GetCapabilities(self) -> "as":
        return ["body", "actions"]

    @method()
    def Notify(self, name: "s", replaces: "u", icon: "s", summary: "s", body: "s", actions: "as", hints: "a{sv}", expires: "i") -> "u":
        NotificationServer.last += 1
        print(hints["x-waterh-id"].value if "x-waterh-id" in hints else summary, flush=True)
        return replaces or NotificationServer.last

    @method()
    def CloseNotification(self, number: "u"):
        pass

    @method()
    def GetServerInformation(self) -> "ssss":
        return ["desk", "bench", "1", "1.2"]


async def main():
    bus = await MessageBus(bus_type=BusType.SESSION).connect()
    bus.export(PATH, NotificationServer(NAME))
    if await bus.request_name(NAME, NameFlag.DO_NOT_QUEUE) != RequestNameReply.PRIMARY_OWNER:
        raise SystemExit(f"{NAME} is owned by another process")
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
