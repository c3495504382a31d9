import BottleProtocol
import Bluetooth
import CommandSupport
import Gateway
import TrackerCore

/// The output of `poll --json`.
struct PollJSON: Encodable {
    var report: PollReport
    var state: TrackerSnapshot?

    private struct Step: Encodable {
        var rung: String
        var reason: String
        var outcome: String?
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "bottle": report.bottle, "name": report.name, "profile": report.profile?.rawValue,
            "model": report.model?.rawValue, "batteryPercent": report.batteryPercent,
            "clockDriftSeconds": report.clockDriftSeconds, "received": report.received, "new": report.new,
            "duplicates": report.duplicates, "suspect": report.suspect, "quarantined": report.undecodable,
            "acknowledged": report.acknowledged, "unconfirmed": report.unconfirmed, "complete": report.complete,
            "storedRecords": report.storedRecords, "seconds": report.seconds, "state": state,
            "address": report.identity, "resolved": report.resolved,
        ])
        if report.isAdopted { try encoder.encode(["adopted": true]) }
        if !report.recovery.isEmpty {
            let steps = report.recovery.map {
                Step(rung: $0.action.rawValue, reason: $0.reason, outcome: $0.outcome)
            }
            try encoder.encode(["recovery": steps])
        }
        if let failure = report.failure {
            try encoder.encode([
                "error": failure.headline, "reason": failure.sentence,
                "hint": Diagnostics.withStore(PollAdvice.about(failure)),
            ])
        }
    }
}

/// The report of a poll as lines of text.
enum PollText {
    private static let maximumDrinks = 60

    static func lines(_ report: PollReport, entries: [JournalEntry] = [], state: TrackerSnapshot?) -> [String] {
        var lines: [String] = []
        if let bottle = report.bottle {
            let facts = [
                report.profile?.rawValue, report.model?.title, report.batteryPercent.map { "battery \($0) %" },
                report.clockDriftSeconds.map {
                    $0 == 0 ? "clock correct" : "clock \(PollReport.driftText($0))"
                },
            ].compactMap { $0 }
            lines.append(([report.name.map { "\($0) (\(bottle))" } ?? bottle] + facts).joined(separator: ", "))
            lines.append(counts(report))
        }
        if report.resolved > 0 {
            lines.append("\(counted(report.resolved, "record")) of earlier polls with a new date, now counted")
        }
        lines += drinks(entries, in: state?.units ?? .ml)
        if let state { lines.append(day(state)) }
        return lines
    }

    static func adoption(_ report: PollReport) -> String? {
        guard report.isAdopted, let identity = report.identity else { return nil }
        return """
            Adopted: \(report.name.map { "\($0) (\(identity))" } ?? identity). To poll another bottle, too: \
            waterh-gateway adopt ADDRESS
            """
    }

    private static func counts(_ report: PollReport) -> String {
        guard report.received > 0 || report.undecodable > 0 else {
            return report.complete ? "0 new: the bottle's log is empty" : "0 new: the log was not read"
        }
        var parts = ["\(report.new) new", "\(report.duplicates) known"]
        if report.suspect > 0 { parts.append("\(report.suspect) quarantined (stored, not counted)") }
        if report.undecodable > 0 {
            parts.append("\(counted(report.undecodable, "piece")) of unreadable bytes (stored)")
        }
        parts.append("\(report.acknowledged) acknowledged")
        if report.unconfirmed > 0 {
            parts.append("\(report.unconfirmed) more acknowledged without confirmation (the next poll checks)")
        }
        if !report.complete { parts.append("log not read to its end") }
        return "\(report.received) received: " + parts.joined(separator: ", ")
    }

    /// The new drinks as lines in order of arrival; at most the newest `maximumDrinks` of them.
    private static func drinks(_ records: [JournalEntry], in units: AmountUnits) -> [String] {
        let newest = Dictionary(records.enumerated().map { ($1.raw, $0) }, uniquingKeysWith: max)
        let entries = records.enumerated().filter { newest[$1.raw] == $0 }.map(\.element)
        let shown = entries.suffix(maximumDrinks).map { entry in
            let time = entry.wall?.description.replacing("T", with: " ") ?? "no date           "
            let remark: String =
                switch entry.verdict {
                case .drink: ""
                case .notADrink(let reason): "  (not a drink: \(reason))"
                case .quarantined: "  (quarantined: see waterh-tracker journal)"
                }
            let amount = units == .ml ? "\(entry.amountMl) ml" : units.text(entry.amountMl)
            return "  \(time)  \(String(repeating: " ", count: max(0, 8 - amount.count)))\(amount)\(remark)"
        }
        return (entries.count > maximumDrinks ? ["  and \(entries.count - maximumDrinks) earlier"] : []) + shown
    }

    static func day(_ state: TrackerSnapshot) -> String {
        "Today: \(state.amountText) (\(state.pace.percent) %), "
            + "\(counted(state.drinkCount, "drink")). \(state.pace.statusText)"
    }
}

extension PollReport {
    var seconds: Double {
        let (wholeSeconds, attoseconds) = duration.components
        return Double(wholeSeconds) + Double(attoseconds / 1_000_000_000_000_000) / 1000
    }

    /// The failure as the error of a command.
    /// - Parameters:
    ///   - store: the polled store, whose running service might be connected to the bottle.
    ///   - advice: replaces the advice of a poll.
    func commandFailure(besideServiceOf store: String? = nil, advice: String? = nil) -> CommandFailure? {
        guard let failure else { return nil }
        let kinds: [PollFailure.Kind] = [.notFound, .connectFailed, .connectionLost, .didNotAnswer]
        let mightBeInUse =
            kinds.contains(failure.kind)
            && store.map { ServiceSocket(path: ServiceSocket.path(forStore: $0)).isAnswering } == true
        return CommandFailure(
            failure.exitStatus, "\(failure.headline): \(asSentence(failure.sentence))",
            advice: mightBeInUse ? PollAdvice.besideService : advice ?? PollAdvice.about(failure))
    }
}

extension PollFailure {
    var exitStatus: ExitStatus {
        switch kind {
        case .notFound, .bluetoothOff, .permissionDenied, .noAdapter, .connectFailed: .noLink
        case .interrupted: .interrupted
        case .unexpectedResponse: .badInput
        case .notOwned, .clockNotTrusted: .refused
        default: .failed
        }
    }
}
