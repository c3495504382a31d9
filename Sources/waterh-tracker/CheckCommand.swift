import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Store
import TrackerCore
import TrackerService

struct Check: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Send due reminders once",
        discussion: """
            For a timer, if no service runs. Each notification is sent once: to the desktop, if there is one, and to \
            standard output, if that is a terminal or with --show.
            """)
    @OptionGroup var options: StoreOptions
    @Flag(help: "Check the store and the permissions instead, without changes")
    var doctor = false
    var access: TrackerStore.Access { doctor ? .reading : .writing }

    @Flag(help: "Count notifications on standard output as shown, for example in a mail") var show = false

    func run(_ context: CommandContext) async throws {
        if doctor { return try await Doctor.run(context) }
        for report in try context.tracker.importInbox() {
            if report.trouble == nil {
                TextOutput.standard.line(report.summary)
            } else {
                Diagnostics.warning(report.summary)
            }
        }
        // Deliver before sync, which can wait for a server. The next check evaluates the changes from sync.
        warn(of: try await deliver(context), context)
        try await sync(context)
    }

    private func deliver(_ context: CommandContext) async throws -> CheckReport {
        let output = OutputSink(show: show, isJSON: context.isJSON)
        let desktop = await TrackerDesktop.open(store: context.path) { Diagnostics.line($0) }
        let (tracker, shown) = (context.tracker, TrackerDesktop.history(store: context.path))
        let buffered = BufferedSink(
            desktop, tracker: { tracker }, wasShown: { shown.wasRecentlyShown($0.announcement) }
        ) {
            Diagnostics.line($0)
        }
        let sinks: [any NotificationSink] = [buffered, output]
        let report = try await context.tracker.deliver(sinks)
        if context.isJSON {
            TextOutput.standard.line(try TrackerAPI.json(report))
        } else if report.notifications.isEmpty {
            TextOutput.standard.line("No notification is due. \(report.state.pace.statusText)")
        }
        return report
    }

    private func warn(of report: CheckReport, _ context: CommandContext) {
        guard !report.unseen.isEmpty else { return }
        Diagnostics.warning(
            """
            \(counted(report.unseen.count, "notification")) could not be shown: \
            \(report.unseen.map(\.title).joined(separator: ", ")). The next check sends them again. Notifications \
            require a desktop session with a notification server, or a terminal. If a person reads this output anyway, \
            use --show.
            """)
    }

    /// Runs sync. Its errors become warnings.
    private func sync(_ context: CommandContext) async throws {
        guard let pass = try await context.tracker.synchronise() else { return }
        if let problem = pass.problem { Diagnostics.warning("\(problem) Pending changes are sent at the next check.") }
        if pass.merged.rejected > 0 {
            Diagnostics.warning(
                """
                \(counted(pass.merged.rejected, "row")) of the sync server were rejected. See: waterh-tracker check \
                --doctor
                """)
        }
    }
}

/// The checks of the store and the host, each with advice.
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

    static func run(_ context: CommandContext) async throws {
        let maintenance = try context.tracker.maintenanceReport()
        let tables = maintenance.rows
        let findings = await store(maintenance, context) + host(context)
        let counts = tables.map { (camelCase($0.table), $0.rows) }
        let report = Report(findings: findings, tables: Dictionary(counts, uniquingKeysWith: { first, _ in first }))
        try context.printReport(report) { _ in
            var lines: [String] = []
            for finding in findings {
                let label = finding.ok ? Console.paint("ok  ", .green) : Console.paint("warn", .amber)
                lines.append("\(label) \(finding.name.padded(14)) \(finding.detail)")
                if let advice = finding.advice { lines.append("     " + advice) }
            }
            let filled = tables.filter { $0.rows > 0 }.map { "\($0.table) \($0.rows)" }
            return lines + ["     rows           " + filled.joined(separator: ", ")]
        }
        if findings.contains(where: { $0.name == "store" && !$0.ok }) {
            throw CommandFailure(.badInput, "The store is damaged.", advice: "Copy the file before any change.")
        }
    }

    /// A table name in camel case: `bottle_record` becomes `bottleRecord`.
    private static func camelCase(_ table: String) -> String {
        let parts = table.split(separator: "_")
        return parts.prefix(1).joined() + parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// Creates a finding. A finding with advice is a problem.
    private static func finding(_ name: String, _ detail: String, _ advice: String? = nil) -> Finding {
        Finding(name: name, ok: advice == nil, detail: detail, advice: advice)
    }

    private static func store(_ report: MaintenanceReport, _ context: CommandContext) -> [Finding] {
        let (counts, invalid) = (report.journal, report.invalidSettings)
        let reasons = Quarantine.list(report.quarantineReasons)
        let disk = context.path == ":memory:" ? nil : StoreLocation.writeProblem(context.path)
        let bottles = report.bottles.map { bottle in
            let addresses =
                bottle.identities.contains(bottle.name) || bottle.identities.isEmpty
                ? "" : " = \(bottle.identities.joined(separator: ", "))"
            return bottle.name + addresses + (bottle.batteryPercent.map { " (battery \($0) %)" } ?? "")
        }
        return [
            finding(
                "store", report.damage.isEmpty ? context.path : report.damage.joined(separator: "; "),
                report.damage.isEmpty
                    ? nil : "Copy the file, then: sqlite3 \(context.path) .recover | sqlite3 repaired.sqlite"),
            Finding(name: "disk", ok: disk == nil, detail: disk?.text ?? "writable", advice: disk?.advice),
            finding(
                "journal",
                "\(counted(counts.drinks, "drink")), \(counted(counts.notDrinks, "other record")), "
                    + "\(counts.quarantined) not counted" + (reasons.isEmpty ? "" : " (\(reasons))"),
                counts.quarantined == 0
                    ? nil : "They are kept and retried at each poll. See them with: waterh-tracker journal list"),
            finding(
                "quarantine",
                "\(report.undecodableReceived) undecodable deliver\(report.undecodableReceived == 1 ? "y" : "ies"), "
                    + "\(report.undecodableDeleted) of them no longer kept",
                report.undecodableReceived == 0
                    ? nil : "Nothing was acknowledged for them. See them with: waterh-tracker journal list"),
            finding(
                "settings", invalid.isEmpty ? "all valid" : invalid.map(\.description).joined(separator: " "),
                invalid.isEmpty ? nil : "Set them again with: waterh-tracker settings set NAME VALUE"),
            sync(report.outbox, report.sync),
        ]
            + report.publisherErrors.map { error in
                finding(
                    error.publisher, error.text(now: context.now, at: context.dateTime),
                    ["mqtt", "postgres"].contains(error.publisher)
                        ? "waterh-gateway doctor --store \(context.path)"
                        : "waterh-tracker settings get --store \(context.path)    waterh.toml takes precedence over it."
                )
            } + [
                finding("page", "a running service shows it at http://\(report.listen)/"),
                finding("zone", "\(context.zone.id), now \(context.dateTime(context.now))"),
                finding("bottles", bottles.isEmpty ? "none yet" : bottles.joined(separator: ", ")),
            ]
    }

    private static func sync(_ outbox: Outbox, _ report: SyncReport) -> Finding {
        let rejections = outbox.items.compactMap(\.rejection)
        let waiting =
            outbox.items.isEmpty
            ? "nothing waits" : "\(outbox.items.count) waiting, \(rejections.count) of them rejected"
        let rows =
            report.rejected > 0
            ? "\(counted(report.rejected, "row")) of the server rejected: " + report.rejections.joined(separator: "; ")
            : nil
        return Finding(
            name: "sync", ok: rejections.isEmpty && report.problem == nil && report.rejected == 0,
            detail: [waiting, rejections.first, report.problem, rows].compactMap(\.self).joined(separator: ". "),
            advice: rejections.isEmpty
                ? report.rejected > 0 ? "Correct these rows on the server; all others are synchronised." : nil
                : "Correct the server, then set sync.url again: they are resent.")
    }

    private static func host(_ context: CommandContext) async -> [Finding] {
        let files = FileManager.default
        let adapters = ((try? files.contentsOfDirectory(atPath: "/sys/class/bluetooth")) ?? []).filter {
            $0.hasPrefix("hci")
        }
        let hasSystemBus = files.fileExists(atPath: "/run/dbus/system_bus_socket")
        let hasBus = SessionBus.find() != nil
        let isOff = (try? context.store.settings())?.desktopNotifications == false
        let hasDesktop = await TrackerDesktop.open(store: context.path) { _ in }.canShow()
        return [
            finding(
                "adapter", adapters.isEmpty ? "no Bluetooth adapter" : adapters.sorted().joined(separator: ", "),
                adapters.isEmpty
                    ? "Plug one in, or use a link without hardware: waterh-gateway poll --link unix:PATH" : nil),
            finding(
                "system bus", hasSystemBus ? "available" : "no D-Bus system bus: bluetoothd cannot be reached",
                hasSystemBus ? nil : "Install and start dbus and bluez, then run: waterh-gateway doctor"),
            finding(
                "notifications",
                isOff
                    ? "switched off (notify.desktop)"
                    : hasDesktop
                        ? "the notification server responds"
                        : "disabled: \(hasBus ? "no notification server responds" : "no session bus")",
                isOff || hasDesktop
                    ? nil
                    : hasBus
                        ? "Start one in the session, for example dunst or mako."
                        : "Run inside a desktop session, or as its systemd user unit."),
        ]
    }
}

/// The notification channel that prints to standard output.
struct OutputSink: NotificationSink {
    let name = "output"
    /// The time limit of a write to a stopped terminal (Ctrl-S). It is less than the validity period of a claim.
    let timeLimit = Duration.seconds(50)
    /// Whether standard output is a terminal, or the option `--show` is set.
    private let hasReader: Bool
    /// Whether the notification is part of the JSON object that is printed afterwards.
    private let isJSON: Bool

    init(show: Bool, isJSON: Bool) {
        (hasReader, self.isJSON) = (show || TextOutput.standard.isTerminal, isJSON)
    }

    func canShow() async -> Bool { hasReader }

    /// Prints the notification, and returns whether the write succeeded. With `--json` it is printed afterwards and
    /// counts at once, even if the write then fails.
    func deliver(_ notification: TrackerNotification) async -> Bool {
        guard !isJSON else { return true }
        TextOutput.standard.line(notification.title)
        if !notification.body.isEmpty { TextOutput.standard.line("  \(notification.body)") }
        TextOutput.standard.flush()
        return !TextOutput.standard.isClosed
    }
}

/// The desktop channel for commands. It shows no buttons, because the process ends before a press.
enum TrackerDesktop {
    static func open(store: String, log: @escaping @Sendable (String) -> Void) async -> DesktopNotifications {
        let desktop = DesktopNotifications(history: history(store: store))
        var callbacks = DesktopNotifications.Callbacks()
        callbacks.log = log
        callbacks.warn = { Diagnostics.warning($0) }
        await desktop.connectCallbacks(callbacks)
        return desktop
    }

    /// The notifications of this store that processes of this desktop session have shown.
    static func history(store: String) -> ShownNotifications {
        ShownNotifications(file: ServiceSocket.file(forStore: store, "notices.json"))
    }

    static func sendTest(title: String, body: String, on context: TrackerAPI) async throws -> Bool {
        let (desktop, day) = (await open(store: context.path) { _ in }, try context.today())
        return await desktop.deliver(
            // Use a new id for each attempt, so that the notification is shown again.
            TrackerNotification(
                kind: .recovery, notificationId: "setup/\(context.now.milliseconds)", title: title, body: body,
                urgency: .normal, sound: true, dayKey: day, acceptance: .recovery))
    }
}

struct WhyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Explain reminder decisions",
        discussion: "Lists the conditions that decided, and a way to change each.")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }
    @Option(
        help:
            "Time to explain: 14:00 (today, also later), 2026-06-15T14:00, or with an offset (default: now)"
    ) var at: String?
    @Flag(help: "Show all conditions, including those that hold") var all = false

    func run(_ context: CommandContext) throws {
        var report = try context.tracker.why(at: at)
        // Only a service waits for the setup and for its first poll.
        for index in report.explanation.reminders.indices {
            report.explanation.reminders[index].conditions.removeAll {
                [.setupFinished, .firstPollEnded].contains($0.name)
            }
        }
        try context.printReport(report) { report in
            [context.dateTime(report.explanation.at) + " " + report.explanation.zone]
                + report.explanation.reminders.flatMap { lines($0, context) }
                + (report.state.hasNotificationServer
                    ? []
                    : ["Notifications cannot be shown from here: no desktop session with a notification server."])
        }
    }

    private func lines(_ reminder: Explanation.Reminder, _ context: CommandContext) -> [String] {
        let title = Self.title(reminder.kind).padded(24)
        let head = reminder.isSent ? Console.paint("\(title) due", .green) : "\(title) not due"
        // For a due reminder, all conditions are listed, because all of them hold.
        let shown = all || reminder.isSent ? reminder.conditions : reminder.failingConditions
        return [head]
            + shown.map { condition in
                let sign = condition.holds ? "  + " : "  - "
                return sign + condition.fact + (condition.holds ? "" : " To change this: \(condition.change)")
            }
    }

    private static func title(_ kind: NotificationKind) -> String {
        switch kind {
        case .pace: "Behind pace"
        case .interval: "A drink is due"
        case .adaptive: "Nothing drunk for long"
        case .goal: "Goal reached"
        case .recovery: "Back on pace"
        case .unadopted: "Bottle in range"
        case .waterlineTime: "Waterline, by time"
        case .waterlinePerDrink: "Waterline, after drinks"
        case .waterlineWarning: "Waterline, warning"
        case .waterlineAbandoned: "Waterline, left open"
        case .waterlineLive: "Waterline"
        }
    }
}
