package import Bluetooth
import BlueZ

/// Derives findings with advice from the state of Bluetooth on this machine.
package struct BluetoothDiagnosis {
    private let facts: BluetoothFacts
    private let link: LinkName
    private let isBottle: (_ name: String?, _ address: String) -> Bool

    /// - Parameter isBottle: whether a device is one of the store's bottles.
    package init(
        _ facts: BluetoothFacts, link: LinkName, isBottle: @escaping (_ name: String?, _ address: String) -> Bool
    ) {
        self.facts = facts
        self.link = link
        self.isBottle = isBottle
    }

    package var findings: [Finding] { kernel + rfkillSwitches + daemon + adapters + permissions + eatt + knownBottles }

    private var needsDaemon: Bool { if case .bluez = link { true } else { false } }
    private var needsRaw: Bool { if case .l2cap = link { true } else { false } }
    private var needsRadio: Bool { needsDaemon || needsRaw }
    private var wanted: String? { if case .bluez(let adapter) = link { adapter } else { nil } }

    private static let otherLinks = """
        or use a link without hardware: unix:PATH, capture:FILE, or the test VM (waterh-bench-vm, or in a \
        checkout: hardware/bench vm).
        """

    /// A finding that is bad if the selected link needs the missing part, and otherwise a note.
    private func missing(
        _ check: String, _ found: String, isNeeded: Bool, isAbsence: Bool = true, advice: String, remedy: Remedy? = nil
    ) -> Finding {
        Finding(check, isNeeded ? .bad : .note, found, advice: advice, isAbsence: isAbsence, remedy: remedy)
    }

    private var kernel: [Finding] {
        let named = facts.release.isEmpty ? "this kernel" : "Linux \(facts.release)"
        guard case .adapters(let names) = facts.kernel else {
            return [
                missing(
                    "kernel", "\(named) has no Bluetooth module loaded", isNeeded: needsRadio,
                    advice: "Load it (modprobe bluetooth, for USB adapters btusb), \(Self.otherLinks)",
                    remedy: Remedy(["modprobe", "bluetooth"], needsRoot: true))
            ]
        }
        guard names.isEmpty else {
            return [Finding("kernel", .good, "\(named) with Bluetooth: \(names.joined(separator: ", "))")]
        }
        return [
            Finding("kernel", .good, "\(named) with Bluetooth"),
            missing("adapter", "none found", isNeeded: needsRadio, advice: "Plug one in, \(Self.otherLinks)"),
        ]
    }

    private var rfkillSwitches: [Finding] {
        facts.rfkillSwitches.map { rfkill in
            rfkill.isHard
                ? missing(
                    "rfkill \(rfkill.name)", "blocked by a switch or key of this machine", isNeeded: needsRadio,
                    advice: "Switch wireless on: turn the switch, or press the key for aeroplane mode.")
                : missing(
                    "rfkill \(rfkill.name)", "blocked by software", isNeeded: needsRadio,
                    advice: "rfkill unblock bluetooth",
                    remedy: Remedy(["rfkill", "unblock", "bluetooth"], needsRoot: false))
        }
    }

    private var daemon: [Finding] {
        let bus = Finding("system bus", .good, "available")
        switch facts.daemon {
        case .failure(.noBus(let reason)):
            return [
                missing(
                    "system bus", "not reachable: \(reason)", isNeeded: needsDaemon,
                    advice: "For the link bluez: start it (systemctl start dbus).")
            ]
        case .failure(.notRunning):
            guard let path = facts.daemonPath else {
                let advice = "For the link bluez: apt-get install bluez."
                return [bus, missing("bluetoothd", "not installed", isNeeded: needsDaemon, advice: advice)]
            }
            return [
                bus,
                missing(
                    "bluetoothd", "installed at \(path), and not running", isNeeded: needsDaemon,
                    advice: "systemctl enable --now bluetooth. See why it stopped: journalctl -u bluetooth",
                    remedy: Remedy(["systemctl", "enable", "--now", "bluetooth"], needsRoot: true)),
            ]
        case .failure(.denied):
            let advice =
                facts.hasPolicy
                ? """
                waterh.conf is installed and allows the user waterh: run as that user, or join the group \
                bluetooth (adduser USER bluetooth, then log in again).
                """
                : """
                Join the group bluetooth (adduser USER bluetooth, then log in again), or install a checkout's \
                hardware/units/waterh-bus-policy.conf as /etc/dbus-1/system.d/waterh.conf.
                """
            return [
                bus,
                missing(
                    "bus policy", "this user has no access to bluetoothd", isNeeded: needsDaemon, isAbsence: false,
                    advice: advice),
            ]
        case .failure(.noAnswer(let reason)):
            return [
                bus,
                missing(
                    "bluetoothd", "does not respond: \(reason)", isNeeded: needsDaemon, isAbsence: false,
                    advice: "systemctl restart bluetooth (this disconnects all devices)"),
            ]
        case .success(let inventory):
            let version =
                inventory.version.map { "BlueZ \($0)" } ?? "BlueZ, version unknown without an adapter (bluetoothd -v)"
            let reason =
                facts.isRoot
                ? "root"
                : facts.isBluetoothMember
                    ? "a member of the group bluetooth" : facts.hasPolicy ? "by policy" : "by the system's policy"
            return [
                bus, Finding("bluetoothd", .good, version),
                Finding("bus policy", .good, "this user has access to bluetoothd (\(reason))"),
            ]
        }
    }

    private var inventory: BlueZInventory? { try? facts.daemon.get() }

    private var adapters: [Finding] {
        guard let inventory else { return [] }
        let names = inventory.adapters.map(\.name)
        let hasPower = inventory.adapters.contains(where: \.isPowered)
        let known = inventory.adapters.map { adapter in
            finding(about: adapter, isSelected: needsDaemon && (wanted.map { $0 == adapter.name } ?? !hasPower))
        }
        guard let wanted, !names.contains(wanted) else { return known }
        return [
            Finding(
                "adapter \(wanted)", .bad,
                "unknown to bluetoothd; available: \(names.isEmpty ? "none" : names.joined(separator: ", "))",
                advice: "Plug it in, or name another with --link bluez:NAME.", isAbsence: true)
        ] + known
    }

    private func finding(about adapter: BlueZInventory.Adapter, isSelected: Bool) -> Finding {
        let check = "adapter \(adapter.name)"
        guard adapter.isPowered else {
            let power = [
                "busctl", "--system", "set-property", "org.bluez", "/org/bluez/\(adapter.name)", "org.bluez.Adapter1",
                "Powered", "b", "true",
            ]
            return missing(
                check, "\(adapter.address), switched off", isNeeded: isSelected,
                advice: facts.rfkillSwitches.isEmpty
                    ? "bluetoothctl select \(adapter.address), then: bluetoothctl power on"
                    : "Remove the rfkill block above first, then: bluetoothctl power on",
                remedy: Remedy(power, needsRoot: false))
        }
        // bluetoothd reports no roles before version 5.52.
        func supports(_ role: String) -> Bool { adapter.roles.isEmpty || adapter.roles.contains(role) }
        guard supports("central") else {
            return missing(
                check, "\(adapter.address) does not support the central role", isNeeded: isSelected, isAbsence: false,
                advice: "Use another adapter for the gateway.")
        }
        var use = "can be a gateway, not a bottle"
        if supports("peripheral"), adapter.supportsGATTServer, let advertisements = adapter.advertisements {
            use = "can be a bottle (advertisements: \(advertisements.active) active, \(advertisements.free) free)"
        }
        return Finding(check, .good, "\(adapter.address), on, \(adapter.isDiscovering ? "scanning, " : "")\(use)")
    }

    private var permissions: [Finding] {
        guard case .adapters = facts.kernel else { return [] }
        let lacking = [facts.mayUseRaw ? nil : "CAP_NET_RAW", facts.mayAdminister ? nil : "CAP_NET_ADMIN"]
            .compactMap(\.self).joined(separator: " and ")
        guard !lacking.isEmpty else {
            return [Finding("permissions", .good, "raw sockets: the link l2cap and waterh-replay record work")]
        }
        return [
            missing(
                "permissions", "without \(lacking): the link l2cap and waterh-replay record do not work",
                isNeeded: needsRaw, isAbsence: false,
                advice: """
                    Run these commands as root, or: setcap cap_net_raw,cap_net_admin+ep PROGRAM. The link bluez needs \
                    neither.
                    """)
        ]
    }

    private var eatt: [Finding] {
        guard facts.daemonPath != nil, let channels = facts.channels else { return [] }
        let origin = channels.isSet ? "/etc/bluetooth/main.conf" : "by default"
        guard channels.count > 1 else {
            return [Finding("EATT", .good, "off (Channels = 1, \(origin)): notifications keep their order")]
        }
        return [
            Finding(
                "EATT", .note,
                """
                on (Channels = \(channels.count), \(origin)): between two BlueZ hosts, log entries can arrive out \
                of order, which slows polls down; a real bottle has one channel
                """,
                advice: """
                    For emulator and gateway on one machine: Channels = 1 under [GATT] in /etc/bluetooth/main.conf, \
                    then systemctl restart bluetooth.
                    """)
        ]
    }

    private var knownBottles: [Finding] {
        (inventory?.devices ?? []).filter { isBottle($0.name, $0.address) }.flatMap { device -> [Finding] in
            let (address, check) = (device.address, "bottle \(device.address)")
            let name = device.name.map { "\(TerminalText.safe($0)) (\(address))" } ?? address
            return [
                !device.isBlocked
                    ? nil
                    : missing(
                        check, "bluetoothd blocks \(name)", isNeeded: needsDaemon, isAbsence: false,
                        advice: "bluetoothctl unblock \(address)",
                        remedy: Remedy(["bluetoothctl", "unblock", address], needsRoot: false)),
                !device.isPaired
                    ? nil
                    : Finding(
                        check, .note,
                        "\(name) is paired, which a bottle does not need; a stale pairing prevents connections",
                        advice: "bluetoothctl remove \(address)"),
                !device.isConnected
                    ? nil
                    : Finding(
                        check, .note,
                        """
                        \(device.adapter) has a connection to \(name): the bottle does not advertise while it is open
                        """,
                        advice: """
                            If no program uses it, a stopped program left it open: bluetoothctl disconnect \
                            \(address). If that fails: bluetoothctl remove \(address)
                            """),
            ].compactMap(\.self)
        }
    }
}
