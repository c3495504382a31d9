import BlueZ
import BottleProtocol
import CommandSupport
import Foundation
import Store
import TrackerCore

/// The parts of a report before redaction.
enum ReportParts {
    // MARK: - Versions

    static func versions(_ facts: BluetoothFacts) async -> String {
        var lines = [ProgramVersion.text]
        let release = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)) ?? ""
        let system = release.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        lines.append("system: \(system?.dropFirst(12).filter { $0 != "\"" } ?? "unknown")")
        var name = utsname()
        uname(&name)
        let machine = withUnsafeBytes(of: &name.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        lines.append("kernel: Linux \(facts.release) \(machine)")
        lines.append("BlueZ: \(await blueZ(facts))")
        let systemd = try? await ChildProcess("systemctl")?.run(["--version"], limit: 5).output
            .split(separator: "\n").first
        lines.append("systemd: \(systemd.map(String.init) ?? "none")")
        let group = "\(facts.isBluetoothMember ? "in" : "not in") the group bluetooth"
        lines.append("user: \(facts.isRoot ? "root" : group)")
        return lines.joined(separator: "\n")
    }

    private static func blueZ(_ facts: BluetoothFacts) async -> String {
        if let version = try? facts.daemon.get().version { return "\(version), running" }
        guard let path = facts.daemonPath else { return "not installed" }
        let output = try? await ChildProcess(path: path).run(["--version"], limit: 5).output.trimmingCharacters(
            in: .whitespacesAndNewlines)
        return "\(output ?? "installed"), not running or not reachable"
    }

    // MARK: - Settings

    /// The settings with a fixed set of values, which contain no personal data.
    private static let choices: Set<String> = [
        "reminders.engine", "pace.mode", "bottle.recordDialect", "bottle.amountWidth", "bottle.hold", "waterline.units",
        "waterline.bottleWater", "week.firstDay", "hydration.units",
    ]

    /// Whether a report may contain a setting's value. Texts, amounts and paths are omitted.
    static func mayBeShown(_ name: String) -> Bool {
        if choices.contains(name) || name.hasPrefix("schedule.") { return true }
        switch Settings().value(of: name) {
        case .flag, .number: return !name.hasSuffix("Ml") && !name.hasSuffix("Oz")
        default: return false
        }
    }

    static func settings(_ file: Configuration, _ store: TrackerStore?) -> String {
        var lines = [
            "waterh.toml: \(file == Configuration() ? "none, or empty" : file.isUnreadable ? "not readable" : "")"
        ]
        let kinds: [(String, String?)] = [
            ("link", file.link.map { String($0.prefix { $0 != ":" }) }), ("bottle", file.bottle.map { _ in "(set)" }),
            ("store", file.store.map { _ in "(set)" }), ("zone", file.zone.map { _ in "(set)" }),
            ("dialect", file.dialect?.rawValue), ("keep", file.keep.map { "\($0)" }),
            ("allow-power-cycle", file.allowPowerCycle.map { "\($0)" }),
            ("listen", file.listen.map { _ in "(set)" }), ("share-waterline", file.shareWaterline.map { "\($0)" }),
            ("public-url", file.publicURL.map { _ in "(set)" }),
            ("bottles", file.bottles.isEmpty ? nil : "\(file.bottles.count)"),
        ]
        lines += kinds.compactMap { name, value in value.map { "  \(name) = \($0)" } }
        lines += file.settings.sorted { $0.key < $1.key }.map {
            "  \($0.key) = \(shown($0.key, $0.value))"
        }
        lines += file.postgres.keys.sorted().map { "  postgres.\($0) = (set)" }
        if let store {
            lines.append("settings of the store that differ from the defaults:")
            let settings = (try? store.settings())?.stored.sorted { $0.key < $1.key }
            let changed = settings?.map { "  \($0.key) = \(shown($0.key, $0.value))" } ?? ["  cannot be read"]
            lines += changed.isEmpty ? ["  none"] : changed
        }
        return lines.joined(separator: "\n")
    }

    private static func shown(_ name: String, _ text: String) -> String { mayBeShown(name) ? text : "(set)" }

    static func storeSummary(_ location: StoreLocation, _ store: TrackerStore?) -> String {
        guard let store else { return "No readable store." }
        let path = URL(fileURLWithPath: location.path).resolvingSymlinksInPath().path
        let attributes = (try? FileManager.default.attributesOfItem(atPath: path)) ?? [:]
        var lines = [
            """
            store: location from \(location.origin), \(attributes[.size] as? Int ?? 0) bytes, mode \
            \(String(attributes[.posixPermissions] as? Int ?? 0, radix: 8)), state \(store.fileState)
            """
        ]
        let integrity = (try? store.integrityProblems()).map { problems in
            problems.isEmpty ? "good" : "\(problems.count) problems: \(problems.prefix(5).joined(separator: "; "))"
        }
        lines.append("integrity: \(integrity ?? "cannot be read")")
        lines += ((try? store.rowCounts()) ?? []).map { "  \($0.rows) in \($0.table)" }
        if let counts = try? store.journalCounts() {
            lines.append(
                "journal: \(counts.drinks) drinks, \(counts.notDrinks) others, \(counts.quarantined) quarantined")
        }
        if let quarantine = try? store.quarantineCounts() {
            lines.append("undecodable byte sequences: \(quarantine.received), of them deleted: \(quarantine.evicted)")
        }
        return lines.joined(separator: "\n")
    }

    /// The traces of the failed polls, with the names of their captures.
    static func traces(_ polls: [FailedPoll]) -> String {
        guard !polls.isEmpty else { return "No failed polls are stored." }
        return polls.map { "store 1, \($0.id).btsnoop\n\($0.trace.joined(separator: "\n"))\n" }.joined(separator: "\n")
    }

    /// The last lines of the given file, or of the units in the systemd journal.
    static func log(_ path: String?, lines: Int) async throws -> String {
        if let path { return try tail(of: path, lines: lines) }
        guard lines > 0, let journal = ChildProcess("journalctl") else { return "No systemd journal on this machine." }
        var parts: [String] = []
        for unit in [["--unit", "waterh-gateway"], ["--user", "--unit", "waterh-gateway-user"]] {
            let output: String
            do {
                output = try await journal.run(
                    unit + ["--lines", "\(lines)", "--no-pager", "--no-hostname", "--quiet", "--output", "short-iso"],
                    limit: 10
                ).output
            } catch {
                output = "not available: \(error)"
            }
            parts.append("\(unit.last ?? ""):\n\(output)")
        }
        return parts.joined(separator: "\n")
    }

    /// Returns the last lines of a file, of which it reads at most 4 MiB.
    private static func tail(of path: String, lines: Int) throws -> String {
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            let (size, limit) = (try handle.seekToEnd(), UInt64(4 << 20))
            try handle.seek(toOffset: size > limit ? size - limit : 0)
            let text = String(decoding: try handle.read(upToCount: Int(limit)) ?? Data(), as: UTF8.self)
            return text.split(separator: "\n", omittingEmptySubsequences: false).suffix(lines).joined(separator: "\n")
        } catch {
            throw CommandFailure(
                .badInput, "cannot read the log \(path): \(FileErrorText.text(error))",
                advice: "Name another file, or omit --log.")
        }
    }
}
