import Foundation
import Support
import Synchronization

/// A minimal broker that rejects MQTT 5, accepts MQTT 3.1.1, and sends a large message.
final class OldBroker: Sendable {
    let port: Int
    private let seen = Mutex<[UInt8]>([])
    private let listener: Int32

    /// The protocol version of each client.
    var versions: [UInt8] { seen.withLock { $0 } }

    init(saysSo: Bool) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        port = try Broker.freePort()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(listener, 4) == 0
            }
        }
        guard isBound else { throw Broker.Missing(description: "no port") }
        Thread { [self] in
            for _ in 0..<2 { serve(saysSo) }
        }.start()
    }

    deinit { close(listener) }

    private func serve(_ saysSo: Bool) {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        defer { close(client) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        // CONNECT: type, length, 0 4 M Q T T, version.
        guard recv(client, &bytes, bytes.count, 0) > 8 else { return }
        let version = bytes[8]
        seen.withLock { $0.append(version) }
        guard version == 4 else {
            if saysSo { _ = send(client, [0x20, 2, 0, 1] as [UInt8], 4, Int32(MSG_NOSIGNAL)) }
            return
        }
        _ = send(client, [0x20, 2, 0, 0] as [UInt8], 4, Int32(MSG_NOSIGNAL))
        // PUBLISH at "c", QoS 0, 300,000 bytes of payload.
        let (payload, length) = (300_000, 300_003)
        var message: [UInt8] = [
            0x30, UInt8(length & 0x7f | 0x80), UInt8(length >> 7 & 0x7f | 0x80), UInt8(length >> 14), 0, 1,
            UInt8(ascii: "c"),
        ]
        message += [UInt8](repeating: 7, count: payload)
        var rest = message[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
        while recv(client, &bytes, bytes.count, 0) > 0 {}
    }
}
