import Bluetooth
import CLinux
import Glibc

/// A raw HCI socket of the kernel. Requires CAP_NET_RAW, for some channels CAP_NET_ADMIN.
enum HCISocket {
    /// Opens a Bluetooth socket without an adapter. It never blocks.
    static func open(
        _ type: __socket_type = SOCK_RAW, _ protocolNumber: Int32 = BTPROTO_HCI
    ) throws(LinkError) -> Int32 {
        let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_BLUETOOTH, Int32(type.rawValue) | flags, protocolNumber)
        guard descriptor >= 0 else { throw HostErrors.error(.noAdapter, "This kernel has no Bluetooth", errno) }
        return descriptor
    }

    /// Opens a socket that is bound to an adapter and channel. `failure` and `action` describe a failed bind.
    static func open(
        adapter: UInt16 = UInt16(HCI_DEV_NONE), channel: Int32, _ failure: LinkError.Code, _ action: String
    ) throws(LinkError) -> Int32 {
        let descriptor = try open()
        var address = sockaddr_hci()
        address.hci_family = sa_family_t(AF_BLUETOOTH)
        address.hci_dev = adapter
        address.hci_channel = UInt16(channel)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_hci>.size))
            }
        }
        guard bound == 0 else {
            let number = errno
            close(descriptor)
            throw HostErrors.error(failure, action, number)
        }
        return descriptor
    }
}
