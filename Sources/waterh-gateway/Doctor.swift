import ArgumentParser
import Bluetooth
import CommandKit
import Foundation
import Gateway
import Store
import TrackerCore

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "What is there, what is missing, and what to do about each.")

    @OptionGroup var link: LinkOptions
    @OptionGroup var place: StoreOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func run() async throws {
        var findings = DoctorChecks.store(place.path) + [DoctorChecks.zone(place.zone)]
        findings += await DoctorChecks.link(link)
        findings += DoctorChecks.bluetooth()
        if json {
            let list = findings.map { finding -> JSONValue in
                ["check": .string(finding.check), "status": .string(finding.status.rawValue), "found": .string(finding.found), "advice": JSONValue(finding.advice)]
            }
            TextOutput.standard.line(["ok": .bool(findings.allSatisfy { $0.status != .bad }), "checks": .array(list)] as JSONValue)
        } else {
            for finding in findings {
                TextOutput.standard.line("\(finding.status.mark) \(finding.check): \(finding.found)")
                if let advice = finding.advice { TextOutput.standard.line("    \(advice)") }
            }
        }
        if findings.contains(where: { $0.status == .bad }) { throw ExitCode(ExitStatus.failed.rawValue) }
    }
}

/// One thing that was looked at.
struct Finding: Sendable {
    enum Status: String, Sendable {
        case good
        /// Missing or odd, and not needed for the link in use.
        case note
        case bad

        var mark: String {
            switch self {
            case .good: "ok  "
            case .note: "note"
            case .bad: "BAD "
            }
        }
    }

    var check: String
    var status: Status
    var found: String
    var advice: String?
}

enum DoctorChecks {
    /// Opens the store where there is one, and looks whether one could be made where there is none. Writes nothing.
    static func store(_ path: String) -> [Finding] {
        guard FileManager.default.fileExists(atPath: path) else {
            var parent = URL(fileURLWithPath: path).deletingLastPathComponent()
            while parent.path != "/", !FileManager.default.fileExists(atPath: parent.path) { parent.deleteLastPathComponent() }
            let isWritable = access(parent.path, W_OK) == 0
            return [
                Finding(
                    check: "store", status: isWritable ? .good : .bad, found: "\(path) does not exist; the first poll makes it",
                    advice: isWritable ? nil : "\(parent.path) takes no writes: name another place with --store.")
            ]
        }
        do {
            let store = try TrackerStore(path: path, hostZone: nil)
            let counts = try store.journalCounts()
            var findings = [Finding(check: "store", status: .good, found: "\(path): \(counts.drinks) drinks, \(counts.quarantined) suspect")]
            if access(path, W_OK) != 0 {
                findings.append(Finding(check: "store", status: .bad, found: "\(path) takes no writes", advice: "Check its owner and permissions."))
            }
            return findings
        } catch let error as StoreError {
            return [Finding(check: "store", status: .bad, found: "\(error.what) (\(error.path))", advice: error.advice)]
        } catch {
            return [Finding(check: "store", status: .bad, found: "\(error)", advice: "Name another with --store.")]
        }
    }

    static func zone(_ given: String?) -> Finding {
        let id = given ?? TimeZone.current.identifier
        guard let zone = try? Zone(id) else {
            return Finding(check: "time zone", status: .bad, found: "\(id) is no IANA name", advice: "Set TZ or the setting day.zone, e.g. Europe/Berlin.")
        }
        return Finding(check: "time zone", status: .good, found: "\(zone.id), now \(zone.wall(at: Host.now()))")
    }

    /// Whether somebody is there, by a scan of at most three seconds.
    static func link(_ options: LinkOptions) async -> [Finding] {
        let central: any CentralLink
        do {
            central = try options.open()
        } catch let failure as CommandFailure {
            return [Finding(check: "link", status: .bad, found: failure.sentence, advice: failure.advice)]
        } catch {
            return [Finding(check: "link", status: .bad, found: "\(error)", advice: nil)]
        }
        let end = Task {
            try await Task.sleep(for: .seconds(3))
            await central.close()
        }
        defer { end.cancel() }
        central.perform(.startScan)
        var finding = Finding(
            check: "link \(central.name)", status: .note, found: "works; no bottle was seen in 3 s",
            advice: "A bottle advertises rarely: wake it (lid or a shake), and close the phone app that may hold its connection.")
        look: for await event in central.events {
            switch event {
            case .advertised(let seen) where !central.hasRadio || BottleSelector.looksLikeBottle(seen):
                finding = Finding(check: "link \(central.name)", status: .good, found: "a bottle is there: \(seen.name ?? seen.peer.text)")
                break look
            case .scanFailed(let error), .unavailable(let error):
                finding = Finding(
                    check: "link \(central.name)", status: .bad, found: error.description, 
                    advice: RetryTable.advice(for: error.code, linkName: central.name, hasRadio: central.hasRadio))
                break look
            default:
                break
            }
        }
        await central.close()
        return [finding]
    }

    /// What the system has of Bluetooth, as far as files tell.
    static func bluetooth() -> [Finding] {
        let files = FileManager.default
        let adapters = ((try? files.contentsOfDirectory(atPath: "/sys/class/bluetooth")) ?? []).filter { $0.hasPrefix("hci") && !$0.contains(":") }.sorted()
        var findings = [
            adapters.isEmpty
                ? Finding(
                    check: "adapter", status: .note, found: "this machine has no Bluetooth adapter",
                    advice: "Plug one in, or use unix:PATH, capture:FILE, or the bench machine (hardware/bench vm).")
                : Finding(check: "adapter", status: .good, found: adapters.joined(separator: ", "))
        ]
        let daemon = ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd"].first(where: files.fileExists)
        findings.append(
            daemon.map { Finding(check: "bluetoothd", status: .good, found: "installed at \($0)") }
                ?? Finding(check: "bluetoothd", status: .note, found: "not installed", advice: "For the link bluez: apt-get install bluez."))
        let hasBus = files.fileExists(atPath: "/run/dbus/system_bus_socket") || files.fileExists(atPath: "/var/run/dbus/system_bus_socket")
        findings.append(
            hasBus
                ? Finding(check: "system bus", status: .good, found: "there")
                : Finding(check: "system bus", status: .note, found: "no D-Bus system bus runs", advice: "For the link bluez: start dbus."))
        if let text = try? String(contentsOfFile: "/etc/bluetooth/main.conf", encoding: .utf8), daemon != nil {
            let channels = text.split(separator: "\n").first { $0.filter { $0 != " " }.hasPrefix("Channels=") }
            let isSingle = channels?.filter { $0 != " " } == "Channels=1"
            findings.append(
                isSingle
                    ? Finding(check: "EATT", status: .good, found: "off: notifications keep their order")
                    : Finding(
                        check: "EATT", status: .note, found: "on: between two BlueZ ends a log may arrive shuffled, which is mended but slower",
                        advice: "Set Channels = 1 under [GATT] in /etc/bluetooth/main.conf and restart bluetoothd."))
        }
        return findings
    }
}
