package import Bluetooth
import CLinux
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
        guard
            let descriptor = try? HCISocket.open(
                channel: HCI_CHANNEL_CONTROL, .system, "Cannot open the management channel")
        else { return }
        defer { close(descriptor) }
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
