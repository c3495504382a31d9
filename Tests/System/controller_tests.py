#!/usr/bin/env python3
"""The bottle and the gateway on controllers of others, HCI over TCP: Bumble's, which Android's emulator (netsim) speaks like. Bumble's own host reads our bottle, and
is the bottle that our gateway polls. No kernel's Bluetooth and no radio takes part.

usage: controller_tests.py PRODUCTS [TEST…]      in a Python that has bumble (hardware/controller-tests)
"""
import asyncio
import datetime
import json
import os
import pathlib
import socket
import sys
import tempfile
import unittest

from bumble.controller import Controller
from bumble.core import UUID, AdvertisingData
from bumble.device import Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport import open_transport
from bumble.transport.common import AsyncPipeSink
from bumble.transport.tcp_server import open_tcp_server_transport_with_socket

CAPTURES = pathlib.Path(__file__).resolve().parents[2] / "captures"
LIMIT = 60
#: Static random addresses: on Bumble's link nobody else is heard.
THEIR_BOTTLE, THEIR_HOST = "C4:C1:38:00:00:01", "F0:F1:F2:F3:F4:F5"
COMMAND, RESPONSE = UUID.from_16_bits(0xFFE9), UUID.from_16_bits(0xFFE4)


def listening():
    made = socket.socket()
    # What it accepted may not be over when the next one listens there.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made, made.getsockname()[1]


class Controllers(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.link = LocalLink()
        self.folder = tempfile.TemporaryDirectory(prefix="waterh-hci-")
        self.environment = os.environ | {"XDG_RUNTIME_DIR": self.folder.name, "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_BOTTLE": "WaterH-Boost-24oz"}
        self.addCleanup(self.folder.cleanup)

    async def controller(self, name):
        """A controller behind a TCP server, as `bumble-controllers` makes it; its link's name."""
        made, port = listening()
        made.listen()
        transport = await open_tcp_server_transport_with_socket(made)
        self.addCleanup(transport.server.close)
        Controller(name, host_source=transport.source, host_sink=transport.sink, link=self.link)
        return f"hci:127.0.0.1:{port}"

    async def server(self, greeting):
        """Somebody else's server: greets, and says nothing more."""
        async def serve(reader, writer):
            writer.write(greeting)
            while await reader.read(4096):
                pass
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.addCleanup(server.close)
        return f"hci:127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def device(self, name, address):
        """Bumble's own host on a controller of its own."""
        controller = Controller(name, link=self.link)
        device = Device(name=name, address=Address(address), host=Host(controller, AsyncPipeSink(controller)))
        await asyncio.wait_for(device.power_on(), LIMIT)
        return device

    async def start(self, *command):
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=self.environment)

        async def end():
            if process.returncode is None:
                process.terminate()
                await asyncio.wait_for(process.wait(), LIMIT)

        self.addAsyncCleanup(end)
        return process

    async def line(self, process, word):
        seen = ""
        while word not in seen:
            line = await asyncio.wait_for(process.stdout.readline(), LIMIT)
            self.assertTrue(line, f"ended without '{word}': {seen}")
            seen += line.decode()
        return seen

    async def emulator(self, link, *more):
        """Our bottle on a controller, once it can be seen."""
        process = await self.start(
            f"{PRODUCTS}/waterh-emulator", "run", "--link", link, "--control", f"unix:{self.folder.name}/c.sock", "--capture", str(CAPTURES / "boost_two-days.btsnoop"), *more)
        await self.line(process, "ready")
        return process

    async def ended(self, process, code=0):
        process.terminate()
        self.assertEqual(await asyncio.wait_for(process.wait(), LIMIT), code)

    async def poll(self, link, code=0, *more):
        process = await asyncio.create_subprocess_exec(
            f"{PRODUCTS}/waterh-gateway", "poll", "--link", link, "--store", f"{self.folder.name}/t.sqlite", "--json", *more,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=self.environment)
        output, errors = await asyncio.wait_for(process.communicate(), LIMIT)
        self.assertEqual(process.returncode, code, (output + errors).decode())
        return json.loads(output) if code == 0 else (output + errors).decode()

    async def choose(self, host):
        """Bumble's controllers do not pass scan responses on, so the gateway chooses the bottle by its address."""
        process = await asyncio.create_subprocess_exec(
            f"{PRODUCTS}/waterh-gateway", "scan", "--link", host, "--seconds", "3", "--json",
            stdout=asyncio.subprocess.PIPE, env=self.environment | {"WATERH_BOTTLE": ""})
        output, _ = await asyncio.wait_for(process.communicate(), LIMIT)
        self.environment["WATERH_BOTTLE"] = json.loads(output.splitlines()[0])["address"]

    async def test_our_bottle_and_our_gateway(self):
        bottle = await self.controller("bottle")
        host = await self.controller("host")
        process = await self.emulator(bottle)
        await self.choose(host)
        first, again = await self.poll(host), await self.poll(host)
        self.assertEqual((first["new"], first["acknowledged"], again["new"]), (40, 40, 0))
        self.assertEqual(first["address"], again["address"])
        await self.ended(process)

    async def test_a_bottle_that_loses_what_it_says(self):
        """Faults of the link are the same here as on any other."""
        bottle = await self.controller("bottle")
        host = await self.controller("host")
        await self.emulator(bottle, "--faults", "lose=0.1,disconnect=0.01", "--seed", "7")
        await self.choose(host)
        total = 0
        for _ in range(40):
            total += (await self.poll(host))["new"]
            if total == 40:
                return
        self.fail(f"{total} of 40 drinks in 40 polls")

    async def test_a_host_of_others_reads_our_bottle(self):
        link = await self.controller("bottle")
        process = await self.emulator(link)
        device = await self.device("theirs", THEIR_HOST)
        found = asyncio.get_running_loop().create_future()

        # Bumble's controllers hand nobody's scan response on, where the bottle's name is: its service tells it.
        def seen(advertisement):
            if "FF00" in str(advertisement.data) and not found.done():
                found.set_result(advertisement.address)

        device.on("advertisement", seen)
        await device.start_scanning(active=True)
        address = await asyncio.wait_for(found, LIMIT)
        await device.stop_scanning()
        # Twice: after a connection the bottle is to be seen again.
        for turn in range(2):
            connection = await asyncio.wait_for(device.connect(address), LIMIT)
            peer = Peer(connection)
            self.assertEqual(await asyncio.wait_for(peer.request_mtu(185), LIMIT), 185)
            await asyncio.wait_for(peer.discover_services(), LIMIT)
            await asyncio.wait_for(peer.discover_characteristics(), LIMIT)
            command, response = (peer.get_characteristics_by_uuid(uuid)[0] for uuid in (COMMAND, RESPONSE))
            heard, whole = [], asyncio.Event()

            def notified(value):
                heard.append(bytes(value))
                if sum(map(len, heard)) > 40 * 13:
                    whole.set()

            await asyncio.wait_for(response.subscribe(notified), LIMIT)
            await command.write_value(bytes.fromhex("4754000106"), with_response=False)
            await asyncio.wait_for(whole.wait(), LIMIT)
            # 40 records of 13 bytes among what was said; nothing was acknowledged, so that the second time brings them again.
            self.assertEqual(sum((len(value) - 2) // 13 for value in heard if value[1:2] == b"\x06" and value[:2] != b"RP") + sum((len(value) - 6) // 13 for value in heard if value[:2] == b"PT"), 40, heard)
            await asyncio.wait_for(connection.disconnect(), LIMIT)
        await self.ended(process)

    async def test_our_gateway_polls_a_bottle_of_others(self):
        link = await self.controller("host")
        device = await self.device("WaterH-Boost-24oz", THEIR_BOTTLE)
        now = datetime.datetime.now()

        def clock(moment):
            return bytes([moment.year - 2000, moment.month, moment.day, moment.hour, moment.minute, moment.second])

        stored = [b"".join(clock(now - datetime.timedelta(hours=hours)) + bytes.fromhex("002D0000016100") for hours in (2, 1))]
        response = Characteristic(RESPONSE, Characteristic.Properties.NOTIFY, Characteristic.READABLE)

        async def asked(connection, value):
            async def say(text):
                await device.notify_subscriber(connection, response, bytes.fromhex(text))

            if value == bytes.fromhex("47540001ff"):
                await say("5250000e02025c0703" + clock(datetime.datetime.now()).hex() + "021700")
            elif value == bytes.fromhex("4754000106"):
                await say("52500003020601" if stored[0] else "52500003020600")
                if stored[0]:
                    entry = bytes([1 + len(stored[0]), 6]) + stored[0]
                    await say((b"PT" + len(entry).to_bytes(2, "big") + entry).hex())
            elif value[:6] == bytes.fromhex("525000040306"):
                stored[0] = stored[0][int.from_bytes(value[6:8], "big"):]

        command = Characteristic(COMMAND, Characteristic.Properties.WRITE_WITHOUT_RESPONSE, Characteristic.WRITEABLE, CharacteristicValue(write=asked))
        device.add_services([Service(UUID.from_16_bits(0xFFE5), [command]), Service(UUID.from_16_bits(0xFFE0), [response])])
        named = bytes(AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, b"WaterH-Boost-24oz")]))
        await device.start_advertising(auto_restart=True, advertising_data=named)
        polled = await self.poll(link)
        self.assertEqual(polled["new"], 2)
        self.assertEqual(stored[0], b"", "what was stored was acknowledged")

    async def test_nothing_listens(self):
        made, port = listening()
        made.close()
        words = await self.poll(f"hci:127.0.0.1:{port}", 5)
        self.assertIn("annot connect to", words)
        self.assertIn("Start a controller with HCI", words)

    async def test_a_controller_that_never_answers(self):
        self.assertIn("does not answer", await self.poll(await self.server(b""), 5))

    async def test_a_server_that_is_no_controller(self):
        self.assertIn("an HCI packet of the unknown type", await self.poll(await self.server(b"220 mail\r\n"), 5))

    async def test_a_controller_that_goes_away_and_comes_back(self):
        made, port = listening()
        made.listen()
        transport = await open_tcp_server_transport_with_socket(made)
        Controller("bottle", host_source=transport.source, host_sink=transport.sink, link=self.link)
        process = await self.emulator(f"hci:127.0.0.1:{port}")
        transport.server.close()
        transport.sink.transport.abort()
        await self.line(process, "not advertising")
        self.link = LocalLink()
        transport = await open_transport(f"tcp-server:127.0.0.1:{port}")
        self.addCleanup(transport.server.close)
        Controller("bottle", host_source=transport.source, host_sink=transport.sink, link=self.link)
        host = await self.controller("host")
        await self.choose(host)
        self.assertEqual((await self.poll(host))["new"], 40)
        await self.ended(process)


if __name__ == "__main__":
    PRODUCTS = sys.argv.pop(1)
    unittest.main(verbosity=2)
