#!/usr/bin/env python3
"""The link hci:HOST:PORT on Bumble's virtual controllers. Bumble's own host reads our bottle, and is a bottle that our gateway polls.

usage: controller_tests.py PRODUCTS [TEST…]      in a Python that has bumble (hardware/python-suite)
"""
import asyncio
import json
import socket
import sys
import time
import unittest

from bumble.controller import Controller
from bumble.core import UUID, AdvertisingData
from bumble.device import Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport.common import AsyncPipeSink
from bumble.transport.tcp_server import open_tcp_server_transport_with_socket

from programs import CAPTURE, LIMIT, Programs, free_port, greeting_server, retail, wait_for

# Static random addresses: Bumble's link delivers no others.
THEIR_BOTTLE, THEIR_HOST = "C4:C1:38:00:00:01", "F0:F1:F2:F3:F4:F5"
COMMAND, RESPONSE = UUID.from_16_bits(0xFFE9), UUID.from_16_bits(0xFFE4)


class Controllers(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.link = LocalLink()
        self.programs = Programs(PRODUCTS, WATERH_BOTTLE="WaterH-Boost-24oz")
        self.addCleanup(self.programs.close)

    async def controller(self, name, port=0):
        """Starts a controller with a TCP server, as `bumble-controllers` does; returns its link and its transport."""
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        transport = await open_tcp_server_transport_with_socket(server)
        self.addCleanup(transport.server.close)
        Controller(name, host_source=transport.source, host_sink=transport.sink, link=self.link)
        return f"hci:127.0.0.1:{server.getsockname()[1]}", transport

    async def device(self, name, address):
        """Bumble's own host on a controller of its own."""
        controller = Controller(name, link=self.link)
        device = Device(name=name, address=Address(address), host=Host(controller, AsyncPipeSink(controller)))
        await asyncio.wait_for(device.power_on(), LIMIT)
        return device

    async def emulator(self, link):
        self.programs.link = link
        await asyncio.to_thread(self.programs.emulator, "--capture", CAPTURE)

    async def run_gateway(self, *words, code=0):
        return await asyncio.to_thread(self.programs.run, "waterh-gateway", *words, "--json", code=code)

    async def poll(self, link):
        return json.loads(await self.run_gateway("poll", "--link", link))

    async def choose(self, host):
        """Bumble's controllers do not forward scan responses, so the gateway finds the bottle by its services."""
        del self.programs.environment["WATERH_BOTTLE"]
        found = await self.run_gateway("scan", "--link", host, "--seconds", "3")
        self.programs.environment["WATERH_BOTTLE"] = json.loads(found.splitlines()[0])["address"]

    async def test_the_gateway_polls_the_emulator_over_hci(self):
        (bottle, _), (host, _) = await self.controller("bottle"), await self.controller("host")
        await self.emulator(bottle)
        await self.choose(host)
        first, again = await self.poll(host), await self.poll(host)
        self.assertEqual((first["new"], first["acknowledged"], again["new"]), (40, 40, 0))
        self.assertEqual(first["address"], again["address"])
        self.assertEqual(await asyncio.to_thread(self.programs.stop, "waterh-emulator"), 0)

    async def test_a_bumble_host_reads_the_emulator(self):
        link, _ = await self.controller("bottle")
        await self.emulator(link)
        device = await self.device("theirs", THEIR_HOST)
        found = asyncio.get_running_loop().create_future()

        def seen(advertisement):
            if "FF00" in str(advertisement.data) and not found.done():
                found.set_result(advertisement.address)

        device.on("advertisement", seen)
        await device.start_scanning(active=True)
        address = await asyncio.wait_for(found, LIMIT)
        await device.stop_scanning()
        # Twice: after a connection the bottle advertises again.
        for turn in range(2):
            connection = await asyncio.wait_for(device.connect(address), LIMIT)
            peer = Peer(connection)
            self.assertEqual(await asyncio.wait_for(peer.request_mtu(185), LIMIT), 185)
            await asyncio.wait_for(peer.discover_services(), LIMIT)
            await asyncio.wait_for(peer.discover_characteristics(), LIMIT)
            command, response = (peer.get_characteristics_by_uuid(uuid)[0] for uuid in (COMMAND, RESPONSE))
            values, whole = bytearray(), asyncio.Event()

            def notified(value):
                values.extend(value)
                if retail.records(bytes(values)):
                    whole.set()

            await asyncio.wait_for(response.subscribe(notified), LIMIT)
            await command.write_value(retail.ASK_LOG, with_response=False)
            await asyncio.wait_for(whole.wait(), LIMIT)
            # Nothing was acknowledged, so the second connection gets them again.
            self.assertEqual(len(retail.records(bytes(values))), 40, values)
            await asyncio.wait_for(connection.disconnect(), LIMIT)

    async def test_the_gateway_polls_a_bumble_peripheral(self):
        link, _ = await self.controller("host")
        device = await self.device("WaterH-Boost-24oz", THEIR_BOTTLE)
        stored = [retail.record(time.localtime(time.time() - seconds), 45) for seconds in (7200, 3600)]
        response = Characteristic(RESPONSE, Characteristic.Properties.NOTIFY, Characteristic.READABLE)

        async def asked(connection, value):
            for each in retail.answers(value, stored):
                await device.notify_subscriber(connection, response, each)

        command = Characteristic(COMMAND, Characteristic.Properties.WRITE_WITHOUT_RESPONSE, Characteristic.WRITEABLE, CharacteristicValue(write=asked))
        device.add_services([Service(UUID.from_16_bits(0xFFE5), [command]), Service(UUID.from_16_bits(0xFFE0), [response])])
        named = bytes(AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, b"WaterH-Boost-24oz")]))
        await device.start_advertising(auto_restart=True, advertising_data=named)
        polled = await self.poll(link)
        self.assertEqual(polled["new"], 2)
        self.assertEqual(stored, [], "what was stored was acknowledged")

    async def test_a_link_without_a_controller_is_reported(self):
        for link, advice in ((f"hci:127.0.0.1:{free_port()}", "Start a controller with HCI"), ("hci:" + await greeting_server(self, b""), "does not answer"),
                             ("hci:" + await greeting_server(self, b"220 mail\r\n"), "an HCI packet of the unknown type")):
            with self.subTest(advice):
                self.assertIn(advice, await self.run_gateway("poll", "--link", link, code=5))

    async def test_the_emulator_reconnects_to_a_restarted_controller(self):
        bottle, transport = await self.controller("bottle")
        await self.emulator(bottle)
        transport.server.close()
        transport.sink.transport.abort()
        await asyncio.to_thread(wait_for, lambda: "not advertising" in self.programs.log("waterh-emulator"), "the lost controller")
        self.link = LocalLink()
        await self.controller("bottle", int(bottle.rpartition(":")[2]))
        host, _ = await self.controller("host")
        await self.choose(host)
        self.assertEqual((await self.poll(host))["new"], 40)


if __name__ == "__main__":
    PRODUCTS = sys.argv.pop(1)
    unittest.main(verbosity=2)
