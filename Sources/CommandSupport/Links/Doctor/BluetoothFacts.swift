package import BlueZ

/// The state of Bluetooth on this machine, for `BluetoothDiagnosis`.
package struct BluetoothFacts: Sendable {
    package enum Kernel: Hashable, Sendable {
        case noBluetooth
        case adapters([String])
    }

    /// An rfkill switch that blocks Bluetooth.
    package struct RfkillSwitch: Hashable, Sendable {
        package var name: String
        /// Whether software blocks the adapter, so that `rfkill unblock bluetooth` removes the block.
        package var isSoft: Bool
        package var isHard: Bool
        package init(name: String, isSoft: Bool, isHard: Bool) {
            self.name = name
            self.isSoft = isSoft
            self.isHard = isHard
        }
    }

    /// The kernel release: `6.1.0-18-amd64`.
    package var release = ""
    package var kernel = Kernel.noBluetooth
    package var rfkillSwitches: [RfkillSwitch] = []
    package var daemon = Result<BlueZInventory, BlueZInventory.Failure>.failure(.notRunning)
    /// The path of bluetoothd; `nil` if it is not installed.
    package var daemonPath: String?
    /// The value of `[GATT] Channels` in main.conf, or the default in a commented line.
    package var channels: (count: Int, isSet: Bool)?
    package var hasPolicy = false
    package var isRoot = false
    package var isBluetoothMember = false
    /// The effective capabilities, a bit field as in `/proc/self/status`.
    package var capabilities: UInt64 = 0

    package init() {}

    /// CAP_NET_RAW (bit 13), required for recordings and raw HCI.
    package var mayUseRaw: Bool { capabilities >> 13 & 1 == 1 }
    /// CAP_NET_ADMIN (bit 12), required to switch adapters on without bluetoothd.
    package var mayAdminister: Bool { capabilities >> 12 & 1 == 1 }
}
