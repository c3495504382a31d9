import Bluetooth
import BottleProtocol
import Escaping

/// A draft of the page of evidence (docs/hardware-session.md) for the bottle of a day. Addresses stand there by their first
/// half, people nowhere.
public struct DayPage {
    private let day: BenchDayRecord
    private let findings: [DayFinding]
    private let place: String

    /// - Parameter place: the folder with the captures, as it is called.
    public init(_ day: BenchDayRecord, _ findings: [DayFinding], place: String) {
        (self.day, self.findings, self.place) = (day, findings, place)
    }

    /// The page, in Markdown.
    public var markdown: String {
        var lines = [
            "# \(day.name ?? "A bottle without a name")", "",
            "A draft, made by a bench day over \(day.link). Captures: `\(place)/captures`.", "",
        ]
        lines += facts.map { "- \($0)" }
        lines += ["", "| point | law | finding |", "|---|---|---|"]
        lines += findings.map {
            "| \($0.point.statement) | \($0.point.law) | \($0.verdict.rawValue): \(Self.cell($0.words)) |"
        }
        for verdict in [DayFinding.Verdict.contradicted, .confirmed] {
            for finding in findings where finding.verdict == verdict && !finding.evidence.isEmpty {
                lines += [
                    "",
                    """
                    ## \(verdict == .contradicted ? "Contradicted" : "Confirmed"): \(finding.point.rawValue) \
                    (\(finding.point.law))
                    """,
                    "", finding.point.statement + " " + finding.words, "",
                ]
                lines += ["```text"] + finding.evidence + ["```"]
            }
        }
        lines += ["", "## Single questions", "", "| written | came |", "|---|---|"]
        lines += questions
        let left = day.omissions + DayCourse.neverTried
        lines += ["", "## Left out", ""] + left.map { "- \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }

    private var facts: [String] {
        let snapshot = day.snapshots.first?.snapshot
        let facts: [String?] = [
            day.model.map { "Model: \($0.title)." }, day.identity.map { "Address: \($0.prefix(8)):…" },
            snapshot?.firmware.map { "Firmware: \(HexText.of([UInt8($0 >> 8), UInt8($0 & 0xFF)]))." },
            day.mtu.map { "MTU: \($0)." }, day.seenAfter.map { "Seen after \(DayJudge.seconds($0))." },
            day.advertisement?.rssi.map { "RSSI: \($0) dBm." },
            day.services.isEmpty ? nil : "Services: \(day.services.map(\.uuid.description).joined(separator: ", ")).",
            day.seen.isEmpty
                ? nil
                : """
                Seen by a person: \
                \(day.seen.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value ? "yes" : "no")" }.joined(separator: ", ")).
                """,
        ]
        return facts.compactMap { $0 }
    }

    private var questions: [String] {
        day.steps.compactMap { step in
            switch step.kind {
            case .command(let command):
                let came =
                    step.refusal
                    ?? (step.values.isEmpty
                        ? "nothing" : step.values.map { "`\(HexText.of($0.bytes))`" }.joined(separator: " "))
                return "| `\(HexText.of(step.sent ?? []))` \(command.meaning) | \(Self.cell(came)) |"
            case .live(let act):
                return
                    """
                    | (\(Self.words(act))) | \
                    \(step.values.isEmpty ? "nothing" : step.values.prefix(4).map { "`\(HexText.of($0.bytes))`" }.joined(separator: " ")) \
                    |
                    """
            default: return nil
            }
        }
    }

    private static func words(_ act: DayAct) -> String {
        switch act {
        case .sip(let ml): "a sip of \(ml) ml"
        case .press: "its button"
        case .charging(let isOn): isOn ? "onto its charger" : "off its charger"
        case .app: "the maker's app"
        }
    }

    private static func cell(_ text: String) -> String { Escaping.replacing(text, ["|": "\\|"]) }
}
