#!/usr/bin/env python3
"""The link esphome:HOST with a Bluetooth proxy that has the messages and the encryption of aioesphomeapi and the rules of the
devices' firmware. The client of aioesphomeapi reads the bottle through it, so the proxy is verified, too.

usage: esphome_tests.py PRODUCTS [TEST…]      in a Python that has aioesphomeapi (hardware/python-suite)
"""
import asyncio
import base64
import concurrent.futures
import json
import queue
import sys
import threading
import unittest

from aioesphomeapi import APIClient, api_pb2 as api
from aioesphomeapi.core import MESSAGE_TYPE_TO_PROTO
from noise.connection import NoiseConnection

from programs import CAPTURE, LIMIT, Programs, greeting_server, retail, wait_for
from att_central import Central, Refused

ADDRESS = 0xA4C138010203
KEY = base64.b64encode(bytes(range(32))).decode()
NUMBERS = {message: number for number, message in MESSAGE_TYPE_TO_PROTO.items()}
# Features of a current device: scan, connect, remote caching, pair, clear cache, raw advertisements.
FLAGS = 0x3F


class Connection(Central):
    """A connection to our bottle that reports its notifications."""

    def __init__(self, path, notified, ended):
        super().__init__(path)
        self.socket.settimeout(None)
        self.answers, self.notified, self.ended = queue.Queue(), notified, ended
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                pdu = self.socket.recv(2048)
            except OSError:
                pdu = b""
            if not pdu:
                self.answers.put(None)
                return self.ended()
            if pdu[0] in (0x1B, 0x1D):
                if pdu[0] == 0x1D:
                    self.send([0x1E])
                self.notified(int.from_bytes(pdu[1:3], "little"), pdu[3:])
            else:
                self.answers.put(pdu)

    def receive(self):
        pdu = self.answers.get(timeout=10)
        if pdu is None:
            raise ConnectionError("the bottle disconnected")
        return pdu


def advertisement(name="WaterH-Boost-24oz"):
    text = name.encode()
    return bytes([2, 1, 6, 3, 3, 0xE5, 0xFF, len(text) + 1, 9]) + text


class Client:
    """A client of the proxy's API: its frames, plain or encrypted."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.reader, self.writer, self.noise, self.minor = proxy, reader, writer, None, 0

    async def frame(self):
        if await self.reader.readexactly(1) != b"\x01":
            # A device answers plain frames so.
            self.send_frame(b"\x01Bad indicator byte")
            raise ConnectionError
        return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(2), "big"))

    def send_frame(self, body):
        self.writer.write(b"\x01" + len(body).to_bytes(2, "big") + body)

    async def agree(self):
        await self.frame()
        body = await self.frame()
        self.send_frame(b"\x01kitchen\0a4c138ffffff\0")
        noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
        noise.set_as_responder()
        noise.set_psks(base64.b64decode(KEY))
        noise.set_prologue(b"NoiseAPIInit\0\0")
        noise.start_handshake()
        try:
            noise.read_message(body[1:])
        except Exception:
            self.send_frame(b"\x01Handshake MAC failure")
            raise ConnectionError from None
        self.send_frame(b"\0" + bytes(noise.write_message()))
        self.noise = noise

    async def varint(self):
        value, shift = 0, 0
        while True:
            byte = (await self.reader.readexactly(1))[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    async def message(self):
        if self.noise:
            plain = bytes(self.noise.decrypt(await self.frame()))
            return int.from_bytes(plain[:2], "big"), plain[4:]
        if (await self.reader.readexactly(1))[0] != 0:
            raise ConnectionError("the client encrypts")
        length = await self.varint()
        return await self.varint(), await self.reader.readexactly(length)

    def send(self, message):
        number, body = NUMBERS[type(message)], message.SerializeToString()
        if self.writer.is_closing():
            return
        if self.noise:
            self.send_frame(bytes(self.noise.encrypt(number.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body)))
        else:
            self.writer.write(b"\0" + encoded(len(body)) + encoded(number) + body)

    async def run(self):
        try:
            if self.proxy.is_encrypted:
                await self.agree()
            while True:
                number, body = await self.message()
                kind = MESSAGE_TYPE_TO_PROTO.get(number)
                if kind:
                    await self.proxy.receive(self, kind.FromString(body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.proxy.leave(self)
            self.writer.close()


def encoded(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


class Proxy:
    """The rules of ESPHome's bluetooth_proxy: results of connections and advertisements go to the subscriber; services are sent once."""

    def __init__(self, bottle, flags=FLAGS, is_encrypted=False, free=3, cut_after=None):
        self.bottle, self.flags, self.is_encrypted, self.free, self.cut_after = bottle, flags, is_encrypted, free, cut_after
        self.subscriber, self.air, self.services, self.subscriptions, self.tasks, self.clients = None, None, None, set(), set(), set()
        self.worker = concurrent.futures.ThreadPoolExecutor(1)
        self.values, self.connects = 0, 0

    async def open(self, port=0):
        self.loop = asyncio.get_running_loop()

        async def serve(reader, writer):
            client = Client(self, reader, writer)
            self.clients.add(client)
            await client.run()

        self.server = await asyncio.start_server(serve, "127.0.0.1", port)
        self.port = self.server.sockets[0].getsockname()[1]
        return f"esphome:127.0.0.1:{self.port}"

    def close(self):
        self.server.close()
        for client in list(self.clients):
            client.writer.transport.abort()
        self.disconnect()

    def leave(self, client):
        self.clients.discard(client)
        self.unsubscribe(client)

    def unsubscribe(self, client):
        if self.subscriber is client:
            self.subscriber = None
            self.disconnect()

    def disconnect(self):
        if self.air:
            self.air.socket.shutdown(2)
        self.air = None

    def to_subscriber(self, message):
        if self.subscriber:
            self.subscriber.send(message)

    async def advertise(self, client):
        while self.subscriber is client:
            if self.air is None:
                client.send(api.BluetoothLERawAdvertisementsResponse(advertisements=[
                    api.BluetoothLERawAdvertisement(address=0xC0FFEE000001, rssi=-90, address_type=1, data=advertisement("Lamp")),
                    api.BluetoothLERawAdvertisement(address=ADDRESS, rssi=-48, address_type=0, data=advertisement())]))
            await asyncio.sleep(0.05)

    def notified(self, handle, value):
        def send():
            if handle in self.subscriptions:
                self.values += 1
                if self.values == self.cut_after:
                    for client in list(self.clients):
                        client.writer.transport.abort()
                    return
                self.to_subscriber(api.BluetoothGATTNotifyDataResponse(address=ADDRESS, handle=handle, data=value))
        self.loop.call_soon_threadsafe(send)

    def ended(self, air):
        def send():
            if self.air is air:
                self.air = None
                self.to_subscriber(api.BluetoothDeviceConnectionResponse(address=ADDRESS, connected=False, error=0x13))
        self.loop.call_soon_threadsafe(send)

    async def work(self, body, *arguments):
        return await self.loop.run_in_executor(self.worker, body, *arguments)

    async def device(self, request):
        if request.request_type == 1:
            self.disconnect()
            return self.to_subscriber(api.BluetoothDeviceConnectionResponse(address=request.address, connected=False))
        assert request.request_type == 5 and request.has_address_type, request
        if self.free == 0 or request.address != ADDRESS:
            return self.to_subscriber(api.BluetoothDeviceConnectionResponse(address=request.address, connected=False, error=0 if self.free == 0 else 0x3E))
        self.connects += 1
        self.subscriptions, self.services = set(), "unsent"
        air = await self.work(lambda: Connection(self.bottle, self.notified, lambda: self.ended(air)))
        await self.work(air.exchange_mtu)
        self.air = air
        self.to_subscriber(api.BluetoothDeviceConnectionResponse(address=ADDRESS, connected=True, mtu=air.mtu))

    def uuid(self, client, text):
        number = int(text, 16)
        if len(text) == 4 and client.minor >= 12:
            return {"short_uuid": number}
        if len(text) == 4:
            return {"uuid": [number << 32 | 0x1000, 0x800000805F9B34FB]}
        return {"uuid": [number >> 64, number & (1 << 64) - 1]}

    async def send_services(self, client):
        if self.services == "unsent":
            self.services = None
            for service in await self.work(self.air.discover):
                characteristics = [
                    api.BluetoothGATTCharacteristic(
                        **self.uuid(client, one["uuid"]), handle=one["handle"], properties=one["properties"],
                        descriptors=[api.BluetoothGATTDescriptor(**self.uuid(client, name), handle=handle) for name, handle in one["descriptors"].items()])
                    for one in service["characteristics"]]
                client.send(api.BluetoothGATTGetServicesResponse(
                    address=ADDRESS, services=[api.BluetoothGATTService(**self.uuid(client, service["uuid"]), handle=service["start"], characteristics=characteristics)]))
        client.send(api.BluetoothGATTGetServicesDoneResponse(address=ADDRESS))

    async def receive(self, client, message):
        match message:
            case api.HelloRequest():
                client.minor = message.api_version_minor
                client.send(api.HelloResponse(api_version_major=1, api_version_minor=14, server_info="kitchen (esphome)", name="kitchen"))
            case api.DeviceInfoRequest():
                client.send(api.DeviceInfoResponse(name="kitchen", mac_address="A4:C1:38:FF:FF:FF", bluetooth_proxy_feature_flags=self.flags, esphome_version="2026.10.0"))
            case api.PingRequest():
                client.send(api.PingResponse())
            case api.DisconnectRequest():
                client.send(api.DisconnectResponse())
                await client.writer.drain()
                raise ConnectionError
            case api.SubscribeBluetoothConnectionsFreeRequest():
                client.send(api.BluetoothConnectionsFreeResponse(free=self.free, limit=3))
            case api.SubscribeBluetoothLEAdvertisementsRequest():
                if self.subscriber is None:
                    self.subscriber = client
                    self.tasks.add(asyncio.create_task(self.advertise(client)))
            case api.UnsubscribeBluetoothLEAdvertisementsRequest():
                self.unsubscribe(client)
            case api.BluetoothDeviceRequest():
                await self.device(message)
            case _ if type(message).__name__.startswith("BluetoothGATT"):
                await self.gatt(client, message)

    async def gatt(self, client, message):
        if self.air is None:
            return client.send(api.BluetoothGATTErrorResponse(address=message.address, handle=getattr(message, "handle", 0), error=-1))
        try:
            match message:
                case api.BluetoothGATTGetServicesRequest():
                    await self.send_services(client)
                case api.BluetoothGATTReadRequest():
                    client.send(api.BluetoothGATTReadResponse(address=ADDRESS, handle=message.handle, data=await self.work(self.air.read, message.handle)))
                case api.BluetoothGATTWriteRequest() | api.BluetoothGATTWriteDescriptorRequest():
                    # The write of a descriptor always has a response.
                    write = self.air.write if getattr(message, "response", True) else self.air.command
                    await self.work(write, message.handle, message.data)
                    client.send(api.BluetoothGATTWriteResponse(address=ADDRESS, handle=message.handle))
                case api.BluetoothGATTNotifyRequest():
                    (self.subscriptions.add if message.enable else self.subscriptions.discard)(message.handle)
                    client.send(api.BluetoothGATTNotifyResponse(address=ADDRESS, handle=message.handle))
        except Refused as refused:
            client.send(api.BluetoothGATTErrorResponse(address=ADDRESS, handle=message.handle, error=refused.code))
        except ConnectionError:
            pass


class Proxies(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.programs = Programs(PRODUCTS, WATERH_BOTTLE="WaterH-Boost-24oz")
        self.addCleanup(self.programs.close)
        await asyncio.to_thread(self.programs.emulator, "--capture", CAPTURE)

    async def proxy(self, **rules):
        made = Proxy(self.programs.link.removeprefix("unix:"), **rules)
        link = await made.open()
        self.addCleanup(made.close)
        return made, link

    async def gateway(self, subcommand, link, *words, code=0, key=""):
        self.programs.environment["WATERH_ESPHOME_KEY"] = key
        return await asyncio.to_thread(self.programs.run, "waterh-gateway", subcommand, "--link", link, *words, code=code)

    async def poll(self, link, key="", store="t"):
        return json.loads(await self.gateway("poll", link, "--store", self.programs.folder / store, "--json", key=key))

    async def fails(self, link, words, key=""):
        said = await self.gateway("poll", link, code=5, key=key)
        self.assertIn(words.lower(), said.lower())
        return said

    async def refill(self):
        """Replaces the bottle by one with a full log."""
        self.programs.stop("waterh-emulator")
        await asyncio.to_thread(self.programs.emulator, "--capture", CAPTURE)

    async def test_the_second_poll_through_a_proxy_has_no_new_records(self):
        for name, rules, key in (("plain", {}, ""), ("encrypted", {"is_encrypted": True}, KEY)):
            with self.subTest(name):
                proxy, link = await self.proxy(**rules)
                scanned = (await self.gateway("scan", link, "--seconds", "1", "--json", key=key)).splitlines()
                self.assertEqual([json.loads(line)["address"] for line in scanned], ["A4:C1:38:01:02:03"])
                first, again = await self.poll(link, key, name), await self.poll(link, key, name)
                self.assertEqual((first["new"], first["address"], again["new"]), (40, "A4:C1:38:01:02:03", 0))
                self.assertEqual((proxy.connects, proxy.air, proxy.subscriber), (2, None, None))
                await self.refill()

    async def test_a_proxy_that_disconnects_during_a_poll(self):
        """Wherever it disconnects, the poll starts again, and each drink is there once."""
        for cut in (1, 3, 8):
            with self.subTest(cut=cut):
                proxy, link = await self.proxy(cut_after=cut)
                polled, again = await self.poll(link, store=f"cut-{cut}"), await self.poll(link, store=f"cut-{cut}")
                self.assertTrue(polled["recovery"], polled)
                self.assertGreaterEqual(proxy.connects, 2)
                self.assertEqual(polled["new"] + again["new"], 40)
                await self.refill()

    async def test_each_failure_of_a_proxy_has_a_message(self):
        (_, encrypted), (_, plain), (_, busy) = [await self.proxy(**rules) for rules in ({"is_encrypted": True}, {}, {"free": 0})]
        other = base64.b64encode(bytes(32)).decode()
        for link, key, words, advice in (
                (encrypted, "", "requires an encryption key", "WATERH_ESPHOME_KEY"), (encrypted, other, "wrong encryption key", "WATERH_ESPHOME_KEY"),
                (plain, KEY, "it might not use encryption", "WATERH_ESPHOME_KEY"), (encrypted, "short", "32 bytes in Base64", "WATERH_ESPHOME_KEY"),
                (busy, "", "all 3 connections", "connection_slots"), ((await self.proxy(flags=0))[1], "", "no Bluetooth proxy", ""),
                ((await self.proxy(flags=1))[1], "", "does not connect", ""), ((await self.proxy(flags=3))[1], "", "older than ESPHome 2023.6", ""),
                ("esphome:" + await greeting_server(self, b"220 mail\r\n"), "", "does not speak the ESPHome API", ""),
                ("esphome:" + await greeting_server(self, b""), "", "did not complete the handshake in time", ""), ("esphome:127.0.0.1:1", "", "cannot connect to", "")):
            with self.subTest(words):
                self.assertIn(advice, await self.fails(link, words, key))

    async def test_a_proxy_in_use_by_another_client_is_reported(self):
        proxy, link = await self.proxy()
        other = APIClient("127.0.0.1", proxy.port, None)
        await other.connect(login=True)
        other.subscribe_bluetooth_le_raw_advertisements(lambda _: None)
        await asyncio.to_thread(wait_for, lambda: proxy.subscriber, "the other client's subscription")
        await self.fails(link, "one program at a time")
        await other.disconnect()
        await asyncio.to_thread(wait_for, lambda: not proxy.subscriber, "the other client's end")
        self.assertEqual((await self.poll(link))["new"], 40)

    async def test_aioesphomeapi_reads_the_emulator(self):
        """Home Assistant's client accepts the proxy of this file, so the proxy itself is verified."""
        for encrypted in (False, True):
            with self.subTest(encrypted=encrypted):
                proxy, _ = await self.proxy(is_encrypted=encrypted)
                client = APIClient("127.0.0.1", proxy.port, None, noise_psk=KEY if encrypted else None)
                await client.connect(login=True)
                info = await client.device_info()
                seen = asyncio.get_running_loop().create_future()

                def advertised(batch):
                    for one in batch.advertisements:
                        if one.address == ADDRESS and not seen.done():
                            seen.set_result(one)

                client.subscribe_bluetooth_le_raw_advertisements(advertised)
                await asyncio.wait_for(seen, LIMIT)
                states = []
                await client.bluetooth_device_connect(
                    ADDRESS, lambda *state: states.append(state), feature_flags=info.bluetooth_proxy_feature_flags_compat(client.api_version), address_type=0, timeout=10)
                services = await client.bluetooth_gatt_get_services(ADDRESS)
                found = {one.uuid[4:8]: one for service in services.services for one in service.characteristics}
                command, response = found["ffe9"], found["ffe4"]
                answered = asyncio.get_running_loop().create_future()
                await client.bluetooth_gatt_start_notify(ADDRESS, response.handle, lambda _, value: answered.done() or answered.set_result(bytes(value)))
                descriptor = next(one for one in response.descriptors if one.uuid[4:8] == "2902")
                await client.bluetooth_gatt_write_descriptor(ADDRESS, descriptor.handle, b"\1\0")
                await client.bluetooth_gatt_write(ADDRESS, command.handle, retail.ASK_STATUS, False)
                self.assertEqual((await asyncio.wait_for(answered, LIMIT))[:2], b"RP")
                self.assertEqual(states[0][0], True)
                await client.bluetooth_device_disconnect(ADDRESS)
                await client.disconnect()


if __name__ == "__main__":
    PRODUCTS = sys.argv.pop(1)
    unittest.main(verbosity=2)
