import BlueZ

/// What a machine has of Bluetooth, as far as it lets us see: facts only, judged by `BluetoothDiagnosis`.
package struct BluetoothFacts: Sendable {
    /// What the kernel has.
    package enum Kernel: Hashable, Sendable {
        case noBluetooth
        /// Adapters as the kernel numbers them: `hci0`.
        case adapters([String])
    }

    /// A switch that may keep an adapter's power off.
    package struct Blockade: Hashable, Sendable {
        /// What the kernel calls the switch.
        package var name: String
        /// By software: `rfkill unblock bluetooth` ends it.
        package var isSoft: Bool
        /// By a switch or key of the machine.
        package var isHard: Bool
        package init(name: String, isSoft: Bool, isHard: Bool) {
            self.name = name
            self.isSoft = isSoft
            self.isHard = isHard
        }
    }

    /// What came back when bluetoothd was asked for its objects.
    package enum Daemon: Hashable, Sendable {
        case noBus(reason: String)
        case notRunning
        /// The bus does not let us ask.
        case denied
        case noAnswer(reason: String)
        case running(BlueZCensus)
    }

    /// Of the running kernel: `6.1.0-18-amd64`.
    package var release = ""
    /// What the kernel knows of Bluetooth.
    package var kernel = Kernel.noBluetooth
    /// Switches that may keep an adapter's power off.
    package var blockades: [Blockade] = []
    /// How bluetoothd is.
    package var daemon = Daemon.notRunning
    /// Where bluetoothd's program lies; `nil`: not installed.
    package var daemonPath: String?
    /// `[GATT] Channels`, set or, where it is only a comment, as the file says that it is by default.
    package var channels: (count: Int, isSet: Bool)?
    /// Our bus policy is installed.
    package var hasPolicy = false
    /// Whether this program may do everything.
    package var isRoot = false
    /// In the group `bluetooth`.
    package var isMember = false
    /// Effective capabilities, bit by bit as in `/proc/self/status`.
    package var capabilities: UInt64 = 0

    /// Of a machine without Bluetooth.
    package init() {}

    /// CAP_NET_RAW: recording, and raw HCI.
    package var mayUseRaw: Bool { capabilities >> 13 & 1 == 1 }
    /// CAP_NET_ADMIN: switching adapters on without bluetoothd.
    package var mayAdminister: Bool { capabilities >> 12 & 1 == 1 }
}
