package import Bluetooth
import CLinux
import Glibc

/// An adapter of this machine as the kernel reports it, for links and recordings without bluetoothd.
package struct HostAdapter: Sendable, Hashable {
    /// The index: 1 for `hci1`.
    package var index: UInt16
    package var address: BluetoothAddress
    package var isUp: Bool

    package var name: String { "hci\(index)" }

    /// Finds an adapter by name (`hci1`) or address.
    /// - Throws: `LinkError` that lists the existing adapters, or reports that the kernel has no Bluetooth.
    package init(_ text: String) throws(LinkError) {
        let all = try Self.all()
        guard let found = all.first(where: { $0.name == text || $0.address.description == text.uppercased() }) else {
            let existing =
                all.isEmpty
                ? "this machine has no adapter"
                : "this machine has " + all.map { "\($0.name) (\($0.address))" }.joined(separator: ", ")
            throw LinkError(.noAdapter, "unknown adapter \(text): \(existing)")
        }
        self = found
    }

    init(index: UInt16, address: BluetoothAddress, isUp: Bool) {
        self.index = index
        self.address = address
        self.isUp = isUp
    }

    /// The adapters by index, at most 16.
    package static func all() throws(LinkError) -> [HostAdapter] {
        // libbluetooth only finds a device by number; this socket shows whether the kernel has Bluetooth.
        close(try HCISocket.open())
        return (UInt16(0)..<16).compactMap { (index) -> HostAdapter? in
            var information = hci_dev_info()
            guard hci_devinfo(Int32(index), &information) == 0 else { return nil }
            let address = withUnsafeBytes(of: information.bdaddr.b) { BluetoothAddress(littleEndian: Array($0)) }
            return address.map {
                HostAdapter(index: index, address: $0, isUp: information.flags & UInt32(1 << HCI_UP) != 0)
            }
        }
    }

    /// Switches the adapter on, like `hciconfig hci1 up`. bluetoothd does this for its adapters.
    package func switchOn() throws(LinkError) {
        guard !isUp else { return }
        let descriptor = try HCISocket.open()
        defer { close(descriptor) }
        guard waterh_hci_switch_on(descriptor, Int32(index)) == 0 || errno == EALREADY else {
            throw HostErrors.error(.poweredOff, "Cannot switch on \(name)", errno)
        }
    }
}

/// Link errors with the text of an errno value.
enum HostErrors {
    static func error(_ code: LinkError.Code, _ sentence: String, _ number: Int32, isTransient: Bool = false)
        -> LinkError
    {
        let cause = String(cString: strerror(number))
        if number == EPERM || number == EACCES {
            return LinkError(
                .permissionDenied, "\(sentence): requires root, or CAP_NET_ADMIN and CAP_NET_RAW",
                cause: cause)
        }
        return LinkError(code, sentence, cause: cause, isTransient: isTransient)
    }
}
