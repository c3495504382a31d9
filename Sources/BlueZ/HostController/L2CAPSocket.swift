package import Bluetooth
import CLinux
import Glibc
import Synchronization

/// The fixed L2CAP channel of ATT (CID 4) on an LE connection, as a SEQPACKET socket, for the `l2cap:` link.
enum L2CAPSocket {
    static let attChannel: UInt16 = 4

    static func open() throws(LinkError) -> Int32 { try HCISocket.open(SOCK_SEQPACKET, BTPROTO_L2CAP) }

    /// Calls `body` with an L2CAP socket address. The address `nil` means any adapter.
    static func withAddress<Result>(
        _ address: BluetoothAddress?, isRandom: Bool = false, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var socketAddress = sockaddr_l2()
        socketAddress.l2_family = sa_family_t(AF_BLUETOOTH)
        socketAddress.l2_cid = attChannel.littleEndian
        socketAddress.l2_bdaddr_type = UInt8(isRandom ? BDADDR_LE_RANDOM : BDADDR_LE_PUBLIC)
        withUnsafeMutableBytes(of: &socketAddress.l2_bdaddr.b) { buffer in
            for (index, byte) in (address?.littleEndian ?? []).enumerated() { buffer[index] = byte }
        }
        return withUnsafePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_l2>.size))
            }
        }
    }

    static func peer(of descriptor: Int32) -> BluetoothAddress? {
        var address = sockaddr_l2()
        var size = socklen_t(MemoryLayout<sockaddr_l2>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        guard result == 0 else { return nil }
        return withUnsafeBytes(of: address.l2_bdaddr.b) { BluetoothAddress(littleEndian: Array($0)) }
    }
}

/// The central's end: `l2cap:ADDRESS`, or `l2cap:ADDRESS/random` for a peer with a random address.
package struct L2CAPDialer: SocketDialer {
    package let address: BluetoothAddress
    package let isRandom: Bool

    /// - Parameter text: the text after `l2cap:`.
    package init(_ text: String) throws(LinkError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = parts.first.flatMap(BluetoothAddress.init), parts.count == 1 || parts[1] == "random" else {
            throw LinkError(
                .notFound,
                """
                'l2cap:\(text)' does not name a bottle: without bluetoothd there is no scan, so give its address, \
                as in l2cap:A4:C1:38:00:00:01
                """
            )
        }
        self.address = address
        isRandom = parts.count > 1
    }

    package var name: String { "l2cap:\(address)\(isRandom ? "/random" : "")" }
    /// Always `false`: this link connects to one address without a scan.
    package var hasRadio: Bool { false }

    package func peer() throws(LinkError) -> Advertisement {
        Advertisement(peer: PeerID(address.description), address: address)
    }

    package func dial(_ peer: PeerID) throws(LinkError) -> Int32? {
        // Without bluetoothd, the adapter might be switched off.
        let usable = try HostAdapter.all().filter { $0.address != address }
        if !usable.contains(where: \.isUp) { try usable.first?.switchOn() }
        let descriptor = try L2CAPSocket.open()
        // The local address also needs the channel and an address type, for any adapter.
        var error = L2CAPSocket.withAddress(nil) { bind(descriptor, $0, $1) == 0 ? 0 : errno }
        if error == 0 {
            error = L2CAPSocket.withAddress(address, isRandom: isRandom) {
                connect(descriptor, $0, $1) == 0 ? 0 : errno
            }
        }
        if error == 0 || error == EINPROGRESS { return descriptor }
        close(descriptor)
        if error == EAGAIN || error == EBUSY { return nil }
        throw explain(error)
    }

    package func explain(_ error: Int32) -> LinkError {
        switch error {
        case EHOSTUNREACH, ENODEV:
            HostErrors.error(.noAdapter, "No powered adapter can reach \(address)", error, isTransient: true)
        case EHOSTDOWN, ETIMEDOUT, ECONNREFUSED:
            HostErrors.error(.connectFailed, "\(address) did not answer", error, isTransient: true)
        case ECONNRESET, ENOTCONN, EPIPE:
            HostErrors.error(.disconnected, "The connection to \(address) has ended", error, isTransient: true)
        case ENETDOWN: HostErrors.error(.poweredOff, "The adapter is switched off", error, isTransient: true)
        default: HostErrors.error(.connectFailed, "Cannot connect to \(address)", error, isTransient: true)
        }
    }
}

/// The peripheral's end: `l2cap:hci1`, or the adapter's address. It advertises by HCI commands.
package final class L2CAPListener: SocketListener {
    private let adapter: HostAdapter
    private let advertised = Mutex<AdvertisingBytes?>(nil)

    /// - Parameter text: the text after `l2cap:`.
    package init(_ text: String) throws(LinkError) {
        adapter = try HostAdapter(text)
    }

    package var name: String { "l2cap:\(adapter.name)" }
    package var address: BluetoothAddress? { adapter.address }

    package func listen(_ application: GATTApplication) throws(LinkError) -> ListeningSocket {
        try adapter.switchOn()
        let descriptor = try L2CAPSocket.open()
        let error = L2CAPSocket.withAddress(adapter.address) {
            bind(descriptor, $0, $1) == 0 && Glibc.listen(descriptor, 4) == 0 ? 0 : errno
        }
        guard error == 0 else {
            close(descriptor)
            if error == EADDRINUSE {
                throw HostErrors.error(
                    .inProgress,
                    """
                    Another program serves ATT on \(adapter.name) (bluetoothd?): stop it or use the link \
                    bluez:\(adapter.name)
                    """,
                    error)
            }
            throw HostErrors.error(.system, "Cannot serve ATT on \(adapter.name)", error)
        }
        do throws(LinkError) {
            advertised.withLock { $0 = application.advertised }
            try setAdvertising(true)
        } catch {
            close(descriptor)
            throw error
        }
        return ListeningSocket(descriptor: descriptor) { self.advertise(false) }
    }

    package func central(_ descriptor: Int32, number: Int) -> CentralID {
        CentralID(L2CAPSocket.peer(of: descriptor)?.description ?? "\(number)")
    }

    /// The controller can reject this while a connection starts or ends; the next state change repeats the request.
    package func advertise(_ visible: Bool) { try? setAdvertising(visible) }

    /// Starts or stops advertising by HCI commands on a raw socket. Requires CAP_NET_RAW.
    private func setAdvertising(_ isVisible: Bool) throws(LinkError) {
        let descriptor = try HCISocket.open(
            adapter: adapter.index, channel: HCI_CHANNEL_RAW, .noAdapter, "Cannot open \(adapter.name)")
        defer { close(descriptor) }
        let bytes = isVisible ? advertised.withLock { $0 } : nil
        for (opcode, parameters) in bytes?.startCommands() ?? AdvertisingBytes.stopCommands {
            let packet = [0x01, UInt8(opcode & 0xFF), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters
            guard write(descriptor, packet, packet.count) == packet.count else {
                throw HostErrors.error(.permissionDenied, "\(adapter.name) rejected an advertising command", errno)
            }
        }
    }
}
