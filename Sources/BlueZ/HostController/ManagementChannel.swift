import Bluetooth
import CBluetooth  // Its SOCK_RAW and SOCK_CLOEXEC are the only ones in a single-module build.
import Glibc

/// The kernel's management channel (BlueZ doc/mgmt-api.txt), used to end a connection immediately.
///
/// `Device1.Disconnect` waits 2 s before it ends a connection (BlueZ 5.66 src/device.c, DISCONNECT_TIMER). During that
/// time no other central can connect to the bottle.
package enum ManagementChannel {
    /// Asks the kernel to end the LE connection with `address` immediately. Requires CAP_NET_ADMIN. Never blocks, and
    /// ignores errors: bluetoothd then disconnects after 2 s.
    /// - Parameter adapter: the index, 1 for hci1.
    package static func disconnect(_ address: BluetoothAddress, isRandom: Bool, adapter: UInt16) {
        // BTPROTO_HCI of the kernel's include/net/bluetooth/bluetooth.h.
        let protocolNumber: Int32 = 1
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_BLUETOOTH, type, protocolNumber)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // sockaddr_hci: family, device (0xFFFF: none), channel (3: control), 16 bits each in host byte order.
        let control: [UInt16] = [UInt16(AF_BLUETOOTH), 0xFFFF, 3]
        var place = sockaddr()
        withUnsafeMutableBytes(of: &place) { place in control.withUnsafeBytes { place.copyMemory(from: $0) } }
        let bound = bind(descriptor, &place, socklen_t(control.count * 2))
        guard bound == 0 else { return }
        let request = disconnectRequest(address, isRandom: isRandom, adapter: adapter)
        _ = write(descriptor, request, request.count)
    }

    /// Opcode 0x0014, adapter and length, 16 bits each, little-endian; address; type (1 public, 2 random).
    static func disconnectRequest(_ address: BluetoothAddress, isRandom: Bool, adapter: UInt16) -> [UInt8] {
        [0x14, 0x00, UInt8(truncatingIfNeeded: adapter), UInt8(adapter >> 8), 0x07, 0x00] + address.littleEndian + [
            isRandom ? 2 : 1
        ]
    }
}
