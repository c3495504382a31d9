import ArgumentParser
import CommandSupport
import Notifications
import Foundation
import Store
import TrackerCore
import TrackerService

struct Check: WaitingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Evaluate once and send what is due: for a timer, while the service is not running.",
        discussion: """
            Same store, same memory: what was sent is not sent again, by whom ever. Only what somebody could see \
            counts as \
            sent: a notification goes to the desktop of the session, where there is one, and to standard output, where \
            that \
            is a terminal. Say --show where a person reads the output in another way: a mail of cron's, a log, a pipe.
            """)
    @OptionGroup var options: StoreOptions
    @Flag(help: "Look after the store and the rights instead; says what is missing and what to do. Changes nothing.")
    var doctor = false
    var access: TrackerStore.Access { doctor ? .looking : .writing }

    @Flag(help: "A person reads this output, although it is no terminal: what it says is shown.") var show = false

    func run(_ desk: Desk) async throws {
        if doctor { return try await Doctor.run(desk) }
        for report in try desk.tracker.takeInbox() {
            if report.trouble == nil { desk.console.line(report.words) } else { Diagnostics.warning(report.words) }
        }
        // The reminders first: they wait for no server. What a server brought is told at the next check.
        warn(of: try await tell(desk), desk)
        try await sync(desk)
    }

    private func tell(_ desk: Desk) async throws -> CheckReport {
        let output = OutputSink(show: show, isJSON: desk.isJSON, console: desk.console)
        let desktop = await TrackerDesktop.open(store: desk.path) { Diagnostics.line($0) }
        let (tracker, shown) = (desk.tracker, TrackerDesktop.memory(store: desk.path))
        let late = LateSink(desktop, desk: { tracker }, wasShown: { shown.hasJustShown($0.announcement) }) {
            Diagnostics.line($0)
        }
        let sinks: [any NotificationSink] = [late, output]
        guard desk.isJSON else {
            let report = try await desk.tracker.tell(sinks)
            if report.notifications.isEmpty { desk.console.line("Nothing to tell. \(report.state.pace.statusText)") }
            return report
        }
        let telling = try await desk.tracker.offer(to: sinks)
        desk.console.line(try TrackerDesk.json(telling.report))
        TextOutput.standard.flush()
        // Printed first, counted then: a reader that went away has seen nothing.
        try desk.tracker.settle(telling, except: TextOutput.standard.isClosed ? output.name : nil)
        return telling.report
    }

    private func warn(of report: CheckReport, _ desk: Desk) {
        guard !report.unseen.isEmpty else { return }
        Diagnostics.warning(
            """
            Nobody could be shown \(counted(report.unseen.count, "notification")): \
            \(report.unseen.map(\.title).joined(separator: ", ")). 
            """
                + """
                Not counted, so it comes again. Notifications need a desktop session with a notification server, \
                or a 
                """
                + "terminal; where a person reads this output anyway, say --show.")
    }

    /// Sync fails by itself, in words: nothing else waits for it.
    private func sync(_ desk: Desk) async throws {
        guard let pass = try await desk.tracker.synchronise() else { return }
        if let trouble = pass.trouble { Diagnostics.warning("\(trouble) What waits is sent at a later check.") }
        if pass.merged.refused > 0 {
            Diagnostics.warning(
                """
                \(counted(pass.merged.refused, "row")) of the sync server cannot be taken: waterh-tracker check \
                --doctor says why.
                """
            )
        }
    }
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

    static func run(_ desk: Desk) async throws {
        let upkeep = try desk.tracker.upkeep()
        let tables = upkeep.rows
        let findings = await store(upkeep, desk) + rights(desk)
        let counts = tables.map { (camelCase($0.table), $0.rows) }
        let report = Report(
            findings: findings,
            tables: Dictionary(counts, uniquingKeysWith: { first, _ in first }))
        try desk.say(report) {
            findings.flatMap { finding in
                [
                    """
                    \(finding.ok ? desk.console.paint("ok  ", .green) : desk.console.paint("look", .amber)) \
                    \(finding.name.padded(14)) \(finding.detail)
                    """
                ]
                    + (finding.advice.map { ["     " + $0] } ?? [])
            } + [
                "     rows           "
                    + tables.filter { $0.rows > 0 }.map { "\($0.table) \($0.rows)" }.joined(separator: ", ")
            ]
        }
        if findings.contains(where: { $0.name == "store" && !$0.ok }) {
            throw CommandFailure(.badInput, "The store is damaged.", advice: "Copy it away before anything else.")
        }
    }

    /// `bottle_record` is the schema's name; keys are `bottleRecord`.
    private static func camelCase(_ table: String) -> String {
        let words = table.split(separator: "_")
        return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func store(_ upkeep: UpkeepReport, _ desk: Desk) -> [Finding] {
        let (problems, counts, doubts, refused, bottles) = (
            upkeep.damage, upkeep.journal, upkeep.doubts, upkeep.refused, upkeep.bottles
        )
        return [
            Finding(
                name: "store", ok: problems.isEmpty,
                detail: problems.isEmpty ? desk.path : problems.joined(separator: "; "),
                advice: problems.isEmpty
                    ? nil : "Copy it away, then: sqlite3 \(desk.path) .recover | sqlite3 repaired.sqlite"),
            writing(desk.path),
            Finding(
                name: "journal", ok: counts.quarantined == 0,
                detail:
                    """
                    \(counted(counts.drinks, "drink")), \(counted(counts.notDrinks, "other record")), \
                    \(counts.quarantined) not counted
                    """
                        + (doubts.isEmpty
                            ? ""
                            : " (\(doubts.map { "\($0.count) \(Doubts.short($0.reason))" }.joined(separator: ", ")))"),
                advice: counts.quarantined == 0
                    ? nil : "They are kept and tried again at each poll. See them with: waterh-tracker journal list"),
            Finding(
                name: "quarantine", ok: upkeep.junkReceived == 0,
                detail:
                    """
                    \(upkeep.junkReceived) undecodable deliver\(upkeep.junkReceived == 1 ? "y" : "ies"), \
                    \(upkeep.junkNotKept) of them no longer kept
                    """,
                advice: upkeep.junkReceived == 0
                    ? nil : "None was acknowledged for them. See them with: waterh-tracker journal list"),
            Finding(
                name: "settings", ok: refused.isEmpty,
                detail: refused.isEmpty ? "all fit" : refused.map(\.description).joined(separator: " "),
                advice: refused.isEmpty ? nil : "Set them anew with: waterh-tracker settings set NAME VALUE"),
            sync(upkeep.outbox, upkeep.sync),
        ] + outlets(upkeep, desk) + [
            Finding(
                name: "page", ok: true, detail: "a running service shows it at http://\(upkeep.listen)/", advice: nil),
            Finding(name: "zone", ok: true, detail: "\(desk.zone.id), now \(desk.dateTime(desk.now))", advice: nil),
            Finding(
                name: "bottles", ok: true,
                detail: bottles.isEmpty
                    ? "none yet"
                    : bottles.map { bottle in
                        bottle.name
                            + (bottle.identities.contains(bottle.name) || bottle.identities.isEmpty
                                ? "" : " = \(bottle.identities.joined(separator: ", "))")
                            + (bottle.batteryPercent.map { " (battery \($0) %)" } ?? "")
                    }.joined(separator: ", "), advice: nil),
        ]
    }

    private static func writing(_ path: String) -> Finding {
        let trouble = path == ":memory:" ? nil : StorePlace.writingTrouble(path)
        return Finding(
            name: "disk", ok: trouble == nil, detail: trouble?.words ?? "takes writes", advice: trouble?.advice)
    }

    /// What stands between the service and a broker, a phone's server or a webhook, as it was when a service tried
    /// last.
    private static func outlets(_ upkeep: UpkeepReport, _ desk: Desk) -> [Finding] {
        upkeep.troubles.map { trouble in
            Finding(
                name: trouble.outlet, ok: false, detail: trouble.text(now: desk.now, at: desk.dateTime),
                advice: trouble.outlet == "mqtt"
                    ? "Ask now, with: waterh-gateway doctor --store \(desk.path)"
                    : """
                    See what is set, with: waterh-tracker settings get --store \(desk.path). What waterh.toml says \
                    goes before it.
                    """
            )
        }
    }

    private static func sync(_ outbox: Outbox, _ report: SyncReport) -> Finding {
        let parked = outbox.items.compactMap(\.parkedReason)
        var details = [
            outbox.items.isEmpty ? "nothing waits" : "\(outbox.pending) waiting, \(parked.count) of them refused"
        ]
        if let reason = parked.first { details.append(reason) }
        if let trouble = report.trouble { details.append(trouble) }
        if report.refused > 0 {
            details.append(
                "\(counted(report.refused, "row")) of the server not taken: " + report.refusals.joined(separator: "; "))
        }
        return Finding(
            name: "sync", ok: parked.isEmpty && report.trouble == nil && report.refused == 0,
            detail: details.joined(separator: ". "),
            advice: parked.isEmpty
                ? report.refused > 0 ? "Mend those rows on the server; everything else goes on." : nil
                : "When the server is mended, set sync.url again: they go once more.")
    }

    /// The rights that polling and notifications need on this machine.
    private static func rights(_ desk: Desk) async -> [Finding] {
        let files = FileManager.default
        let systemBus = files.fileExists(atPath: "/run/dbus/system_bus_socket")
        let adapters = ((try? files.contentsOfDirectory(atPath: "/sys/class/bluetooth")) ?? []).filter {
            $0.hasPrefix("hci")
        }
        let hasBus = SessionBus.find() != nil
        let isOff = (try? desk.tracker.settingsInForce())?.desktopNotifications == false
        let hasDesktop = await TrackerDesktop.open(store: desk.path) { _ in }.canShow()
        return [
            Finding(
                name: "adapter", ok: !adapters.isEmpty,
                detail: adapters.isEmpty ? "no Bluetooth adapter" : adapters.sorted().joined(separator: ", "),
                advice: adapters.isEmpty
                    ? "Plug one in, or use a link without hardware: waterh-gateway poll --link unix:PATH" : nil),
            Finding(
                name: "system bus", ok: systemBus,
                detail: systemBus ? "there" : "no D-Bus system bus: bluetoothd cannot be reached",
                advice: systemBus ? nil : "Install and start dbus and bluez; waterh-gateway doctor looks at the rest."),
            Finding(
                name: "notifications", ok: isOff || hasDesktop,
                detail: isOff
                    ? "switched off (notify.desktop)"
                    : hasDesktop
                        ? "the desktop's server answers"
                        : "disabled: \(hasBus ? "no notification server answers" : "no session bus")",
                advice: isOff || hasDesktop
                    ? nil
                    : hasBus
                        ? "Start one in the session: a desktop has its own, else dunst or mako."
                        : "Run inside a desktop session, or as its systemd user unit."),
        ]
    }
}
