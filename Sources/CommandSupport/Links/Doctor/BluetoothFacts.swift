package import BlueZ
package import DBus
import Foundation

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

    /// Collects the facts from system files, this process and bluetoothd.
    /// - Parameter root: a prefix of the paths of system files, for tests.
    package static func gather(root: String = "", bus: DBusConnection.Bus = .system) async -> BluetoothFacts {
        var facts = BluetoothFacts()
        facts.readFiles(root: root)
        facts.readProcess()
        facts.daemon = await BlueZInventory.query(bus: bus)
        return facts
    }

    mutating func readFiles(root: String) {
        func text(_ path: String) -> String? { try? String(contentsOfFile: root + path, encoding: .utf8) }
        func names(_ path: String) -> [String]? { try? FileManager.default.contentsOfDirectory(atPath: root + path) }
        func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + path) }
        release = text("/proc/sys/kernel/osrelease")?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        // A name such as `hci0:64` is a connection, not an adapter.
        kernel =
            names("/sys/class/bluetooth").map {
                .adapters($0.filter { $0.hasPrefix("hci") && !$0.contains(":") }.sorted())
            } ?? .noBluetooth
        rfkillSwitches = (names("/sys/class/rfkill") ?? []).sorted().compactMap { name in
            func value(_ key: String) -> String? {
                text("/sys/class/rfkill/\(name)/\(key)")?.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            guard value("type") == "bluetooth", value("soft") == "1" || value("hard") == "1" else { return nil }
            return RfkillSwitch(name: value("name") ?? name, isSoft: value("soft") == "1", isHard: value("hard") == "1")
        }
        daemonPath = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd"]
            .first(where: exists)
        channels = text("/etc/bluetooth/main.conf").flatMap { Self.channels(in: $0) }
        hasPolicy = exists("/etc/dbus-1/system.d/waterh.conf") || exists("/usr/share/dbus-1/system.d/waterh.conf")
    }

    mutating func readProcess() {
        isRoot = geteuid() == 0
        if let group = getgrnam("bluetooth") {
            var groups = [gid_t](repeating: 0, count: 1024)
            let count = getgroups(Int32(groups.count), &groups)
            isBluetoothMember =
                getegid() == group.pointee.gr_gid || groups.prefix(Int(max(0, count))).contains(group.pointee.gr_gid)
        }
        capabilities =
            (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)).flatMap { Self.capabilities(in: $0) }
            ?? 0
    }

    /// The value of the line `CapEff:` in `/proc/PID/status`.
    static func capabilities(in status: String) -> UInt64? {
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        return line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) }
    }

    /// Returns `Channels` of the section `[GATT]` in bluetoothd's main.conf. A commented line contains the default.
    static func channels(in configuration: String) -> (count: Int, isSet: Bool)? {
        var isInSection = false
        var byDefault: Int?
        for line in configuration.split(separator: "\n") {
            let line = line.filter { !$0.isWhitespace }
            if line.hasPrefix("[") { isInSection = line == "[GATT]" }
            guard isInSection else { continue }
            if line.hasPrefix("Channels="), let count = Int(line.dropFirst("Channels=".count)) { return (count, true) }
            if line.hasPrefix("#Channels=") { byDefault = Int(line.dropFirst("#Channels=".count)) ?? byDefault }
        }
        return byDefault.map { ($0, false) }
    }
}
