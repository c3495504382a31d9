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

    private static let otherLinks =
        """
        or use a link without hardware: unix:PATH, capture:FILE, or the test VM (waterh-bench-vm, or in a \
        checkout: hardware/bench vm).
        """

    private var kernel: [Finding] {
        let named = facts.release.isEmpty ? "this kernel" : "Linux \(facts.release)"
        switch facts.kernel {
        case .noBluetooth:
            return [
                Finding(
                    "kernel", needsRadio ? .bad : .note, "\(named) has no Bluetooth module loaded",
                    advice: "Load it (modprobe bluetooth, for USB adapters btusb), \(Self.otherLinks)", isAbsence: true,
                    remedy: Remedy(["modprobe", "bluetooth"], needsRoot: true))
            ]
        case .adapters([]):
            return [
                Finding("kernel", .good, "\(named) with Bluetooth"),
                Finding(
                    "adapter", needsRadio ? .bad : .note, "none found", advice: "Plug one in, \(Self.otherLinks)",
                    isAbsence: true),
            ]
        case .adapters(let names):
            return [Finding("kernel", .good, "\(named) with Bluetooth: \(names.joined(separator: ", "))")]
        }
    }

    private var rfkillSwitches: [Finding] {
        facts.rfkillSwitches.map { blockade in
            blockade.isHard
                ? Finding(
                    "rfkill \(blockade.name)", needsRadio ? .bad : .note, "blocked by a switch or key of this machine",
                    advice: "Switch wireless on: turn the switch, or press the key for aeroplane mode.", isAbsence: true
                )
                : Finding(
                    "rfkill \(blockade.name)", needsRadio ? .bad : .note, "blocked by software",
                    advice: "rfkill unblock bluetooth", isAbsence: true,
                    remedy: Remedy(["rfkill", "unblock", "bluetooth"], needsRoot: false))
        }
    }

    private var daemon: [Finding] {
        let severity: Finding.Status = needsDaemon ? .bad : .note
        let bus = Finding("system bus", .good, "available")
        switch facts.daemon {
        case .failure(.noBus(let reason)):
            return [
                Finding(
                    "system bus", severity, "not reachable: \(reason)",
                    advice: "For the link bluez: start it (systemctl start dbus).", isAbsence: true)
            ]
        case .failure(.notRunning) where facts.daemonPath == nil:
            return [
                bus,
                Finding(
                    "bluetoothd", severity, "not installed", advice: "For the link bluez: apt-get install bluez.",
                    isAbsence: true),
            ]
        case .failure(.notRunning):
            return [
                bus,
                Finding(
                    "bluetoothd", severity, "installed at \(facts.daemonPath ?? "?"), and not running",
                    advice: "systemctl enable --now bluetooth. See why it stopped: journalctl -u bluetooth",
                    isAbsence: true,
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
            return [bus, Finding("bus policy", severity, "this user has no access to bluetoothd", advice: advice)]
        case .failure(.noAnswer(let reason)):
            return [
                bus,
                Finding(
                    "bluetoothd", severity, "does not respond: \(reason)",
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
        var findings: [Finding] = []
        if let wanted, !inventory.adapters.contains(where: { $0.name == wanted }) {
            let available = inventory.adapters.isEmpty ? "none" : inventory.adapters.map(\.name).joined(separator: ", ")
            findings.append(
                Finding(
                    "adapter \(wanted)", .bad, "unknown to bluetoothd; available: \(available)",
                    advice: "Plug it in, or name another with --link bluez:NAME.", isAbsence: true))
        }
        let hasPower = inventory.adapters.contains(where: \.isPowered)
        for adapter in inventory.adapters {
            let isSelected = needsDaemon && (wanted.map { $0 == adapter.name } ?? !hasPower)
            findings.append(contentsOf: self.findings(about: adapter, isSelected: isSelected))
        }
        return findings
    }

    private func findings(about adapter: BlueZInventory.Adapter, isSelected: Bool) -> [Finding] {
        let check = "adapter \(adapter.name)"
        guard adapter.isPowered else {
            let advice =
                facts.rfkillSwitches.isEmpty
                ? "bluetoothctl select \(adapter.address), then: bluetoothctl power on"
                : "Remove the rfkill block above first, then: bluetoothctl power on"
            return [
                Finding(
                    check, isSelected ? .bad : .note, "\(adapter.address), switched off", advice: advice,
                    isAbsence: true,
                    remedy: power(adapter.name))
            ]
        }
        // bluetoothd reports no roles before version 5.52.
        let isCentral = adapter.roles.isEmpty || adapter.roles.contains("central")
        guard isCentral else {
            return [
                Finding(
                    check, isSelected ? .bad : .note, "\(adapter.address) does not support the central role",
                    advice: "Use another adapter for the gateway.")
            ]
        }
        var details = [adapter.address, "on"]
        if adapter.isDiscovering { details.append("scanning") }
        let isPeripheral = adapter.roles.isEmpty || adapter.roles.contains("peripheral")
        if isPeripheral, adapter.supportsGATTServer, let advertisements = adapter.advertisements {
            details.append(
                "can be a bottle (advertisements: \(advertisements.active) active, \(advertisements.free) free)")
            return [Finding(check, .good, details.joined(separator: ", "))]
        }
        details.append("can be a gateway, not a bottle")
        return [Finding(check, .good, details.joined(separator: ", "))]
    }

    private func power(_ adapter: String) -> Remedy {
        Remedy(
            [
                "busctl", "--system", "set-property", "org.bluez", "/org/bluez/\(adapter)", "org.bluez.Adapter1",
                "Powered", "b", "true",
            ], needsRoot: false)
    }

    private var permissions: [Finding] {
        guard case .adapters = facts.kernel else { return [] }
        let lacking = [facts.mayUseRaw ? nil : "CAP_NET_RAW", facts.mayAdminister ? nil : "CAP_NET_ADMIN"].compactMap {
            $0
        }
        guard !lacking.isEmpty else {
            return [Finding("permissions", .good, "raw sockets: the link l2cap and waterh-replay record work")]
        }
        return [
            Finding(
                "permissions", needsRaw ? .bad : .note,
                "without \(lacking.joined(separator: " and ")): the link l2cap and waterh-replay record do not work",
                advice:
                    """
                    Run these commands as root, or: setcap cap_net_raw,cap_net_admin+ep PROGRAM. The link bluez needs \
                    neither.
                    """
            )
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
                advice:
                    """
                    For emulator and gateway on one machine: Channels = 1 under [GATT] in /etc/bluetooth/main.conf, \
                    then systemctl restart bluetooth.
                    """
            )
        ]
    }

    private var knownBottles: [Finding] {
        guard let inventory else { return [] }
        return inventory.devices.filter { isBottle($0.name, $0.address) }.flatMap { device -> [Finding] in
            let name = device.name.map { "\(TerminalText.safe($0)) (\(device.address))" } ?? device.address
            let check = "bottle \(device.address)"
            var findings: [Finding] = []
            if device.isBlocked {
                findings.append(
                    Finding(
                        check, needsDaemon ? .bad : .note, "bluetoothd blocks \(name)",
                        advice: "bluetoothctl unblock \(device.address)",
                        remedy: Remedy(["bluetoothctl", "unblock", device.address], needsRoot: false)))
            }
            if device.isPaired {
                findings.append(
                    Finding(
                        check, .note,
                        """
                        \(name) is paired, which a bottle does not need; a stale pairing prevents connections
                        """,
                        advice: "bluetoothctl remove \(device.address)"))
            }
            if device.isConnected {
                findings.append(
                    Finding(
                        check, .note,
                        """
                        \(device.adapter) has a connection to \(name): the bottle does not advertise while it is \
                        open
                        """,
                        advice:
                            """
                            If no program uses it, a stopped program left it open: bluetoothctl disconnect \
                            \(device.address). If that fails: bluetoothctl remove \(device.address)
                            """
                    ))
            }
            return findings
        }
    }
}
