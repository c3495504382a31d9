import ArgumentParser
import CommandKit
import Foundation
import Store
import TrackerCore

struct Check: SyncingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Evaluate once and send what is due: for a timer, while the service is not running.",
        discussion: "Same store, same memory: what was sent is not sent again, by whom ever.")
    @OptionGroup var options: StoreOptions
    @Flag(help: "Look after the store and the rights instead; says what is missing and what to do. Changes nothing.") var doctor = false
    var access: TrackerStore.Access { doctor ? .looking : .writing }

    private struct Report: Encodable {
        var notifications: [NotificationReport]
        var state: TrackerSnapshot
    }

    func run(_ desk: Desk) async throws {
        if doctor { return try Doctor.run(desk) }
        if let client = try desk.syncClient() {
            let now = desk.now
            let pass = try await client.pass(desk.store, now: { now }, zone: desk.zone)
            if let trouble = pass.trouble { Diagnostics.warning("\(trouble) What waits is sent at a later check.") }
        }
        let sink = TerminalSink()
        let evaluation = try desk.store.evaluate(desk.context, sinks: [sink])
        let report = Report(notifications: evaluation.decisions.map(NotificationReport.init), state: evaluation.snapshot)
        try desk.say(report) {
            evaluation.decisions.flatMap { $0.body.isEmpty ? [$0.title] : [$0.title, "  \($0.body)"] }
                + (evaluation.decisions.isEmpty ? ["Nothing to tell. \(evaluation.snapshot.pace.statusText)"] : [])
        }
    }
}

/// The terminal as a sink: what it prints counts as shown. Where a desktop listens, it is told too.
private final class TerminalSink: NotificationSink {
    func deliver(_ notification: TrackerNotification) -> Bool {
        if !notification.kind.isResident { _ = DesktopNotice.send(title: notification.title, body: notification.body) }
        return true
    }

    func close(id: String) {}
}

/// What stands in the way, each with what to do.
private enum Doctor {
    struct Finding: Encodable {
        var name: String
        var ok: Bool
        var detail: String
        var advice: String?
    }

    struct Report: Encodable {
        var findings: [Finding]
        var tables: [String: Int]
    }

    static func run(_ desk: Desk) throws {
        let tables = try desk.store.rowCounts()
        let findings = try store(desk) + rights()
        let report = Report(findings: findings, tables: Dictionary(tables, uniquingKeysWith: { first, _ in first }))
        try desk.say(report) {
            findings.flatMap { finding in
                ["\(finding.ok ? desk.console.paint("ok  ", .green) : desk.console.paint("look", .amber)) \(finding.name.padded(14)) \(finding.detail)"]
                    + (finding.advice.map { ["     " + $0] } ?? [])
            } + ["     rows           " + tables.filter { $0.rows > 0 }.map { "\($0.table) \($0.rows)" }.joined(separator: ", ")]
        }
        if findings.contains(where: { $0.name == "store" && !$0.ok }) {
            throw CommandFailure(.badInput, "The store is damaged.", advice: "Copy it away before anything else.")
        }
    }

    private static func store(_ desk: Desk) throws -> [Finding] {
        let problems = try desk.store.integrityProblems()
        let counts = try desk.store.journalCounts()
        let doubts = try desk.store.doubts()
        let quarantine = try desk.store.quarantineCounts()
        let unreadable = try desk.store.unreadableRows()
        let (_, refused) = try desk.store.settingsAndRefused()
        let bottles = try desk.store.bottles()
        return [
            Finding(
                name: "store", ok: problems.isEmpty, detail: problems.isEmpty ? desk.store.path : problems.joined(separator: "; "),
                advice: problems.isEmpty ? nil : "Copy it away, then: sqlite3 \(desk.store.path) .recover | sqlite3 repaired.sqlite"),
            Finding(
                name: "journal", ok: counts.quarantined == 0,
                detail: "\(counts.drinks) drinks, \(counts.notDrinks) other records, \(counts.quarantined) not counted"
                    + (doubts.isEmpty ? "" : " (\(doubts.map { "\($0.count) \(Doubts.short($0.reason))" }.joined(separator: ", ")))"),
                advice: counts.quarantined == 0 ? nil : "They are kept and tried again at each poll. See them with: waterh-tracker journal list"),
            Finding(
                name: "quarantine", ok: quarantine.received == 0,
                detail: "\(quarantine.received) undecodable deliveries, \(quarantine.evicted) of them no longer kept",
                advice: quarantine.received == 0 ? nil : "None was acknowledged for them. See them with: waterh-tracker journal list"),
            Finding(
                name: "readable", ok: unreadable.isEmpty,
                detail: unreadable.isEmpty
                    ? "every row" : "\(unreadable.count) rows count nowhere. " + unreadable.prefix(20).map(\.description).joined(separator: "; "),
                advice: unreadable.isEmpty ? nil : "Another program wrote them, or the disk damaged them. They are left as they are."),
            Finding(
                name: "settings", ok: refused.isEmpty, detail: refused.isEmpty ? "all fit" : refused.map(\.description).joined(separator: " "),
                advice: refused.isEmpty ? nil : "Set them anew with: waterh-tracker settings set NAME VALUE"),
            sync(try desk.store.outbox()),
            Finding(name: "zone", ok: true, detail: "\(desk.zone.id), now \(desk.dateTime(desk.now))", advice: nil),
            Finding(
                name: "bottles", ok: true,
                detail: bottles.isEmpty ? "none yet" : bottles.map { bottle in
                    bottle.name + (bottle.identities.contains(bottle.name) || bottle.identities.isEmpty ? "" : " = \(bottle.identities.joined(separator: ", "))") + (bottle.batteryPercent.map { " (battery \($0) %)" } ?? "")
                }.joined(separator: ", "), advice: nil),
        ]
    }

    private static func sync(_ outbox: Outbox) -> Finding {
        let parked = outbox.items.compactMap(\.parkedReason)
        return Finding(
            name: "sync", ok: parked.isEmpty,
            detail: outbox.items.isEmpty ? "nothing waits" : "\(outbox.pending) waiting, \(parked.count) of them refused. \(parked.first ?? "")",
            advice: parked.isEmpty ? nil : "When the server is mended, set sync.url again: they go once more.")
    }

    /// The rights that polling and notifications need on this machine.
    private static func rights() -> [Finding] {
        let files = FileManager.default
        let environment = ProcessInfo.processInfo.environment
        let systemBus = files.fileExists(atPath: "/run/dbus/system_bus_socket")
        let adapters = ((try? files.contentsOfDirectory(atPath: "/sys/class/bluetooth")) ?? []).filter { $0.hasPrefix("hci") }
        let sessionBus = environment["DBUS_SESSION_BUS_ADDRESS"] != nil
        return [
            Finding(
                name: "adapter", ok: !adapters.isEmpty,
                detail: adapters.isEmpty ? "no Bluetooth adapter" : adapters.sorted().joined(separator: ", "),
                advice: adapters.isEmpty ? "Plug one in, or use a link without hardware: waterh-gateway poll --link unix:PATH" : nil),
            Finding(
                name: "system bus", ok: systemBus, detail: systemBus ? "there" : "no D-Bus system bus: bluetoothd cannot be reached",
                advice: systemBus ? nil : "Install and start dbus and bluez; the bus policy is in hardware/."),
            Finding(
                name: "notifications", ok: sessionBus, detail: sessionBus ? "a session bus is there" : "disabled: no session bus",
                advice: sessionBus ? nil : "Run inside a desktop session, or as its systemd user unit."),
        ]
    }
}
