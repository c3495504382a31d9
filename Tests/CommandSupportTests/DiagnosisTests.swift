import Bluetooth
import DBus
import Foundation
import Support
import Testing

@testable import BlueZ
@testable import CommandSupport

@Suite struct DiagnosisTests {
    /// Debian with two adapters on and no fault.
    static let healthy: BluetoothFacts = {
        var facts = BluetoothFacts()
        facts.release = "6.1.0-40-amd64"
        facts.kernel = .adapters(["hci0", "hci1"])
        facts.daemonPath = "/usr/libexec/bluetooth/bluetoothd"
        facts.daemon = .success(inventory())
        facts.channels = (1, true)
        facts.capabilities = 0x1FF_FFFF_FFFF
        return facts
    }()

    static func inventory(_ change: (inout BlueZInventory) -> Void = { _ in }) -> BlueZInventory {
        var inventory = BlueZInventory(
            version: "5.66",
            adapters: (0...1).map {
                BlueZInventory.Adapter(
                    name: "hci\($0)", address: "00:AA:01:0\($0):00:0\($0)", isPowered: true, isDiscovering: false,
                    roles: ["central", "peripheral"], advertisements: .init(active: 0, free: 5),
                    supportsGATTServer: true)
            }, devices: [])
        change(&inventory)
        return inventory
    }

    private static func findings(_ facts: BluetoothFacts, _ link: String = "bluez:hci0") throws -> [Finding] {
        BluetoothDiagnosis(facts, link: try LinkName(link)) { name, address in
            name?.hasPrefix("WaterH") == true || address == "A4:C1:38:01:02:03"
        }.findings
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription, check, found, advice: String
        /// Status for the links bluez:hci0, l2cap:… and unix:….
        let statuses: [Finding.Status]
        let isAbsence: Bool
        let change: @Sendable (inout BluetoothFacts) -> Void

        init(
            _ testDescription: String, _ check: String, _ found: String, advice: String, _ statuses: [Finding.Status],
            isAbsence: Bool = true, _ change: @escaping @Sendable (inout BluetoothFacts) -> Void
        ) {
            (self.testDescription, self.check, self.found, self.advice) = (testDescription, check, found, advice)
            (self.statuses, self.isAbsence, self.change) = (statuses, isAbsence, change)
        }
    }

    private static func device(_ change: @escaping @Sendable (inout BlueZInventory.Device) -> Void)
        -> @Sendable (inout BluetoothFacts) -> Void
    {
        { facts in
            facts.daemon = .success(
                inventory {
                    var device = BlueZInventory.Device(
                        adapter: "hci0", address: "A4:C1:38:01:02:03", name: "WaterH-Boost")
                    change(&device)
                    $0.devices = [
                        device,
                        .init(
                            adapter: "hci0", address: "11:22:33:44:55:66", name: "Headphones", isConnected: true,
                            isPaired: true, isBlocked: true),
                    ]
                })
        }
    }

    /// The statuses of faults without which no radio link, or not the link bluez, works.
    private static let (radio, daemon): ([Finding.Status], [Finding.Status]) = (
        [.bad, .bad, .note], [.bad, .note, .note]
    )
    private static let bottle = "bottle A4:C1:38:01:02:03"

    static let faults = [
        Fault("a kernel without Bluetooth", "kernel", "no Bluetooth", advice: "modprobe bluetooth", radio) {
            $0.kernel = .noBluetooth
        },
        Fault("no adapter", "adapter", "none", advice: "unix:PATH", radio) { $0.kernel = .adapters([]) },
        Fault("rfkill by software", "rfkill hci0", "software", advice: "rfkill unblock bluetooth", radio) {
            $0.rfkillSwitches = [.init(name: "hci0", isSoft: true, isHard: false)]
        },
        Fault("rfkill by a switch", "rfkill laptop", "switch", advice: "aeroplane", radio) {
            $0.rfkillSwitches = [.init(name: "laptop", isSoft: true, isHard: true)]
        },
        Fault("no bus", "system bus", "no such file", advice: "systemctl start dbus", daemon) {
            $0.daemon = .failure(.noBus(reason: "no such file"))
        },
        Fault("no BlueZ", "bluetoothd", "not installed", advice: "apt-get install bluez", daemon) {
            $0.daemon = .failure(.notRunning)
            $0.daemonPath = nil
        },
        Fault("no bluetoothd", "bluetoothd", "not running", advice: "systemctl enable --now bluetooth", daemon) {
            $0.daemon = .failure(.notRunning)
        },
        Fault("no access", "bus policy", "no access", advice: "waterh-bus-policy.conf", daemon, isAbsence: false) {
            $0.daemon = .failure(.denied)
        },
        Fault("no access by our policy", "bus policy", "no access", advice: "user waterh", daemon, isAbsence: false) {
            $0.daemon = .failure(.denied)
            $0.hasPolicy = true
        },
        Fault(
            "bluetoothd hangs", "bluetoothd", "does not respond", advice: "systemctl restart bluetooth", daemon,
            isAbsence: false
        ) { $0.daemon = .failure(.noAnswer(reason: "NoReply")) },
        Fault("another adapter", "adapter hci0", "available: hci1", advice: "--link bluez:NAME", [.bad]) {
            $0.daemon = .success(inventory { $0.adapters.removeFirst() })
        },
        Fault("no power", "adapter hci0", "switched off", advice: "power on", daemon) {
            $0.daemon = .success(inventory { $0.adapters[0].isPowered = false })
        },
        Fault("no power on the other", "adapter hci1", "switched off", advice: "power on", [.note, .note, .note]) {
            $0.daemon = .success(inventory { $0.adapters[1].isPowered = false })
        },
        Fault(
            "no central", "adapter hci0", "does not support the central role", advice: "another adapter", daemon,
            isAbsence: false
        ) { $0.daemon = .success(inventory { $0.adapters[0].roles = ["peripheral"] }) },
        Fault(
            "no raw sockets", "permissions", "CAP_NET_RAW and CAP_NET_ADMIN", advice: "setcap", [.note, .bad, .note],
            isAbsence: false
        ) { $0.capabilities = 0 },
        Fault(
            "EATT, set", "EATT", "Channels = 3, /etc/bluetooth/main.conf", advice: "Channels = 1",
            [.note, .note, .note]
        ) { $0.channels = (3, true) },
        Fault("EATT by default", "EATT", "by default", advice: "systemctl restart bluetooth", [.note]) {
            $0.channels = (3, false)
        },
        Fault(
            "an open connection", bottle, "hci0 has a connection",
            advice: "bluetoothctl disconnect A4:C1:38:01:02:03", [.note], device { $0.isConnected = true }),
        Fault(
            "a paired bottle", bottle, "is paired", advice: "bluetoothctl remove", [.note],
            device { $0.isPaired = true }),
        Fault(
            "a blocked bottle", bottle, "blocks", advice: "bluetoothctl unblock", [.bad], isAbsence: false,
            device { $0.isBlocked = true }),
    ]

    @Test(arguments: faults) func `each fault is reported with an action`(_ fault: Fault) throws {
        var facts = Self.healthy
        fault.change(&facts)
        for (link, status) in zip(["bluez:hci0", "l2cap:A4:C1:38:01:02:03", "unix:/tmp/b.sock"], fault.statuses) {
            let findings = try Self.findings(facts, link)
            let finding = try #require(
                findings.first { $0.check == fault.check && $0.found.contains(fault.found) }, "\(link): \(findings)")
            #expect(finding.status == status && finding.advice?.contains(fault.advice) == true, "\(link): \(finding)")
            if status == .bad { #expect(finding.isAbsence == fault.isAbsence, "\(link)") }
        }
    }

    @Test(arguments: ["bluez", "bluez:hci1", "l2cap:A4:C1:38:01:02:03", "unix:/tmp/b.sock", "capture:a.btsnoop"])
    func `a healthy machine has no findings`(_ link: String) throws {
        let findings = try Self.findings(Self.healthy, link)
        #expect(findings.allSatisfy { $0.status == .good && $0.advice == nil }, "\(findings)")
        #expect(findings.contains { $0.check == "bluetoothd" && $0.found == "BlueZ 5.66" })
    }

    @Test func `without an adapter name any powered adapter is accepted`() throws {
        var facts = Self.healthy
        facts.daemon = .success(Self.inventory { $0.adapters[0].isPowered = false })
        #expect(try Self.findings(facts, "bluez").allSatisfy { $0.status != .bad })
        facts.daemon = .success(
            Self.inventory { inventory in
                for index in inventory.adapters.indices { inventory.adapters[index].isPowered = false }
            })
        #expect(try Self.findings(facts, "bluez").filter { $0.status == .bad }.count == 2)
    }

    @Test func `advertised names with control characters are escaped`() throws {
        var facts = Self.healthy
        Self.device {
            $0.name = "WaterH\u{1B}[2J"
            $0.isConnected = true
        }(&facts)
        #expect(try Self.findings(facts).allSatisfy { !$0.found.contains("\u{1B}") })
    }

    @Test(
        arguments: [
            ("a kernel without Bluetooth", ["modprobe", "bluetooth"], true),
            ("rfkill by software", ["rfkill", "unblock", "bluetooth"], false), ("rfkill by a switch", nil, false),
            ("no adapter", nil, false),
        ] as [(String, [String]?, Bool)])
    func `each doctor finding has a remedy`(_ name: String, _ words: [String]?, _ needsRoot: Bool) throws {
        let fault = try #require(Self.faults.first { $0.testDescription == name })
        var facts = Self.healthy
        fault.change(&facts)
        let finding = try #require(try Self.findings(facts).first { $0.check == fault.check })
        #expect(finding.remedy == words.map { Remedy($0, needsRoot: needsRoot) })
        #expect(try Self.findings(Self.healthy).allSatisfy { $0.remedy == nil })
    }
}

@Suite struct SurveyTests {
    @Test(
        arguments: [
            ("[GATT]\nChannels = 1\n", 1, true), ("[General]\nChannels=4\n[GATT]\n#Channels = 3\n", 3, false),
            ("[GATT]\n#Channels = 3\nChannels=5\n[CSIS]\n", 5, true),
            ("", nil, false), ("[CSIS]\nChannels = 2\n", nil, false), ("[GATT]\nChannels = many\n", nil, false),
        ] as [(String, Int?, Bool)])
    func `the number of EATT channels is read from main.conf`(_ text: String, _ count: Int?, _ isSet: Bool) {
        let found = BluetoothFacts.channels(in: text)
        #expect(found?.count == count && (found == nil || found?.isSet == isSet))
    }

    @Test func `effective capabilities are read from the status file`() {
        #expect(
            BluetoothFacts.capabilities(in: "Name:\tx\nCapInh:\t0\nCapEff:\t0000000000003000\nCapBnd:\t1\n") == 0x3000)
        #expect(
            BluetoothFacts.capabilities(in: "Name:\tx\n") == nil
                && BluetoothFacts.capabilities(in: "CapEff:\tzz\n") == nil)
        var facts = BluetoothFacts()
        facts.capabilities = 0x3000
        #expect(facts.mayUseRaw && facts.mayAdminister)
        facts.capabilities = 0x2000
        #expect(facts.mayUseRaw && !facts.mayAdminister)
    }

    /// A fake system: two adapters, a connection, a blocked rfkill switch, bluetoothd, our policy.
    @Test func `doctor facts are read from system files`() throws {
        let folder = try TemporaryFolder()
        func write(_ path: String, _ text: String) throws {
            let url = folder.url(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        var facts = BluetoothFacts()
        facts.readFiles(root: folder.path)
        #expect(
            facts.kernel == .noBluetooth && facts.rfkillSwitches.isEmpty && facts.daemonPath == nil
                && facts.channels == nil && !facts.hasPolicy)
        for name in ["hci1", "hci0", "hci0:64"] { try write("sys/class/bluetooth/\(name)/address", "") }
        try write("proc/sys/kernel/osrelease", "6.1.0-40-amd64\n")
        for (name, type, soft, hard) in [
            ("rfkill0", "wlan", "1", "0"), ("rfkill1", "bluetooth", "1", "0"), ("rfkill2", "bluetooth", "0", "0"),
        ] {
            for (key, value) in [("type", type), ("soft", soft), ("hard", hard), ("name", "hci\(name.suffix(1))")] {
                try write("sys/class/rfkill/\(name)/\(key)", value + "\n")
            }
        }
        try write("usr/libexec/bluetooth/bluetoothd", "")
        try write("etc/bluetooth/main.conf", "[GATT]\n#Channels = 3\n")
        try write("etc/dbus-1/system.d/waterh.conf", "")
        facts.readFiles(root: folder.path)
        #expect(facts.kernel == .adapters(["hci0", "hci1"]) && facts.release == "6.1.0-40-amd64")
        #expect(facts.rfkillSwitches == [.init(name: "hci1", isSoft: true, isHard: false)])
        #expect(
            facts.daemonPath == "/usr/libexec/bluetooth/bluetoothd" && facts.channels?.count == 3 && facts.hasPolicy)
    }

    @Test func `a missing bus is reported with its reason`() async {
        let facts = await BluetoothFacts.gather(bus: .address("unix:path=/nonexistent/bus"))
        guard case .failure(.noBus(let reason)) = facts.daemon else {
            Issue.record("\(facts.daemon)")
            return
        }
        #expect(reason.contains("/nonexistent/bus"))
    }
}
