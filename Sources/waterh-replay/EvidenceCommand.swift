import ArgumentParser
import CommandKit
import Replay

struct EvidenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence",
        abstract: "What captures say about the disputed points of the protocol: each reading, weighed by the bytes.",
        discussion: """
            Bits say how well a reading fits: 10 bits less than the best are odds of a thousand to one against it. \
            Where no reading is ten times
            likelier than the next, the captures cannot tell, and what they lack is named.
            """)

    @Argument(help: "Captures of any format; - for standard input.", completion: .file())
    var files: [String]

    @OptionGroup var attribution: AttributionArguments
    @OptionGroup var filter: FilterArguments

    @Flag(help: "One JSON object a line.")
    var json = false

    func run() throws {
        let run = CaptureRun()
        let reader = EvidenceReader(given: attribution.given, filter: filter.filter)
        for file in files {
            for part in try run.parts(file) {
                let notes = ReadingNotes()
                let isWhole = try run.read(part) { file in try reader.read(&file) { notes.see($0) } }
                notes.say(part.name, peers: reader.peers, tally: DrinkReader.Tally(), hadTrouble: !isWhole, run)
            }
        }
        for point in reader.points {
            if json { put(json: point, run.out) } else { put(text: point, run.out) }
        }
        try run.finish()
    }

    private func put(text point: EvidencePoint, _ out: LineBuffer) {
        out.put(text: "\(point.id) (\(point.law)): \(point.question)\n")
        let bits = point.bits
        for (index, reading) in point.readings.enumerated() {
            let chosen =
                switch point.verdict {
                case .shown(let best) where best == index: "shown"
                case .likelier(let best) where best == index: "likelier"
                default: ""
                }
            let weight = point.telling == 0 ? "" : Self.number(bits[index])
            out.put(text: "  \(chosen.padded(8))  \(weight.padded(8))  \(reading.sentence)\n")
        }
        if point.verdict == .cannotTell { out.put(text: "  cannot tell: \(Self.why(point))\n") }
        for example in point.examples { out.put(text: "  \(example)\n") }
    }

    private static func why(_ point: EvidencePoint) -> String {
        point.observations == 0
            ? "nothing of it was seen; what would tell is \(point.missing)"
            : point.telling == 0
                ? """
                \(count(point.observations, "observation")) that all readings expect alike; what would tell is \
                \(point.missing)
                """
                : "\(count(point.telling, "observation")), too little or at odds; what would tell is \(point.missing)"
    }

    private func put(json point: EvidencePoint, _ out: LineBuffer) {
        let (verdict, best): (String, Int?) =
            switch point.verdict {
            case .shown(let index): ("shown", index)
            case .likelier(let index): ("likelier", index)
            case .cannotTell: ("cannot tell", nil)
            }
        out.put(#"{"point":"#)
        out.put(json: point.id)
        out.put(#","law":"#)
        out.put(json: point.law)
        out.put(#","verdict":"#)
        out.put(json: verdict)
        out.put(#","reading":"#)
        out.put(json: best.map { point.readings[$0].name })
        out.put(#","observations":"#)
        out.put(number: point.observations)
        out.put(#","telling":"#)
        out.put(number: point.telling)
        out.put(#","bits":{"#)
        for (index, reading) in point.readings.enumerated() {
            if index > 0 { out.put(",") }
            out.put(json: reading.name)
            out.put(":")
            out.put(text: Self.number(point.bits[index]))
        }
        out.put(#"},"examples":["#)
        for (index, example) in point.examples.enumerated() {
            if index > 0 { out.put(",") }
            out.put(json: example)
        }
        out.put("]}")
        out.endLine()
    }

    /// `-12.3`, of a number that is not above 0.
    private static func number(_ value: Double) -> String {
        let tenths = Int((min(1e6, -value) * 10).rounded())
        return tenths == 0 ? "0.0" : "-\(tenths / 10).\(tenths % 10)"
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
