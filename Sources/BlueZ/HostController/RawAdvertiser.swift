import Bluetooth
import CBluetooth
import Glibc

/// Legacy advertising by HCI commands on a raw socket (Core 5.4, Vol 4 Part E, 7.8.5–7.8.9). Requires CAP_NET_RAW.
struct RawAdvertiser: Sendable {
    let adapter: UInt16
    let name: String
    let services: [BluetoothUUID]
    var configured: AdvertisingBytes?

    private static let opcodes = (
        parameters: UInt16(0x2006), data: UInt16(0x2008), response: UInt16(0x2009), enable: UInt16(0x200A)
    )

    func set(_ isVisible: Bool) throws(LinkError) {
        let descriptor = try HCISocket.open(
            adapter: adapter, channel: HCI_CHANNEL_RAW, .noAdapter, "Cannot open hci\(adapter)")
        defer { close(descriptor) }
        if isVisible {
            // Interval 100–150 ms, connectable and scannable, public address, all channels.
            try send(descriptor, Self.opcodes.parameters, [0xA0, 0x00, 0xF0, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x07, 0])
            try send(descriptor, Self.opcodes.data, AdvertisingBytes.padded(advertisingData))
            try send(descriptor, Self.opcodes.response, AdvertisingBytes.padded(scanResponse))
        }
        try send(descriptor, Self.opcodes.enable, [isVisible ? 1 : 0])
    }

    var advertisingData: [UInt8] { AdvertisingBytes.fitting(advertised.data) }
    var scanResponse: [UInt8] { AdvertisingBytes.fitting(advertised.scanResponse) }
    private var advertised: AdvertisingBytes { configured ?? AdvertisingBytes(name: name, services: services) }

    private func send(_ descriptor: Int32, _ opcode: UInt16, _ parameters: [UInt8]) throws(LinkError) {
        let packet: [UInt8] =
            [0x01, UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters
        guard write(descriptor, packet, packet.count) == packet.count else {
            throw HostErrors.error(.permissionDenied, "hci\(adapter) rejected an advertising command", errno)
        }
    }
}
