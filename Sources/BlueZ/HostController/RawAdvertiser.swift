import Bluetooth
import CBluetooth
import Glibc

/// Legacy advertising by HCI commands on a raw socket (Core 5.4, Vol 4 Part E, 7.8.5–7.8.9). Requires CAP_NET_RAW.
struct RawAdvertiser: Sendable {
    let adapter: UInt16
    let name: String
    let services: [BluetoothUUID]
    var given: AdvertisingBytes?

    private static let opcodes = (
        parameters: UInt16(0x2006), data: UInt16(0x2008), response: UInt16(0x2009), enable: UInt16(0x200A)
    )

    func set(_ isVisible: Bool) throws(LinkError) {
        let descriptor = try open()
        defer { close(descriptor) }
        if isVisible {
            // Interval 100–150 ms, connectable and scannable, public address, all channels.
            try send(descriptor, Self.opcodes.parameters, [0xA0, 0x00, 0xF0, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x07, 0])
            try send(descriptor, Self.opcodes.data, Self.padded(advertisingData))
            try send(descriptor, Self.opcodes.response, Self.padded(scanResponse))
        }
        try send(descriptor, Self.opcodes.enable, [isVisible ? 1 : 0])
    }

    var advertisingData: [UInt8] { Self.fitting(shown.data) }
    var scanResponse: [UInt8] { Self.fitting(shown.scanResponse) }
    private var shown: AdvertisingBytes { given ?? AdvertisingBytes(name: name, services: services) }

    /// The AD structures that fit into 31 bytes, in order.
    private static func fitting(_ data: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var at = 0
        while at < data.count, at + 1 + Int(data[at]) <= data.count {
            let end = at + 1 + Int(data[at])
            if kept.count + end - at <= 31 { kept += data[at..<end] }
            at = end
        }
        return kept
    }

    private static func padded(_ data: [UInt8]) -> [UInt8] {
        [UInt8(data.count)] + data + Array(repeating: 0, count: 31 - data.count)
    }

    private func open() throws(LinkError) -> Int32 {
        let descriptor = socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), BTPROTO_HCI)
        guard descriptor >= 0 else { throw HostErrors.error(.noAdapter, "This kernel has no Bluetooth", errno) }
        var address = sockaddr_hci()
        address.hci_family = sa_family_t(AF_BLUETOOTH)
        address.hci_dev = adapter
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_hci>.size))
            }
        }
        guard bound == 0 else {
            let number = errno
            close(descriptor)
            throw HostErrors.error(.noAdapter, "Cannot open hci\(adapter)", number)
        }
        return descriptor
    }

    private func send(_ descriptor: Int32, _ opcode: UInt16, _ parameters: [UInt8]) throws(LinkError) {
        let packet: [UInt8] =
            [0x01, UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters
        guard write(descriptor, packet, packet.count) == packet.count else {
            throw HostErrors.error(.permissionDenied, "hci\(adapter) rejected an advertising command", errno)
        }
    }
}
