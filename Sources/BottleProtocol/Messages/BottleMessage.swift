/// A message of the bottle other than the log: a response (RP) or a report (RT).
///
/// Decoding keeps the entries of unknown messages, in `answer` or `report`.
package enum BottleMessage: Hashable, Sendable {
    case snapshot(Snapshot)
    /// RP 06 01: records follow as PT frames.
    case logFollows
    /// RP 06 00: the log is empty.
    case logEmpty
    /// RP 1C: registration, or the log was cleared.
    case registration(RegistrationCode)
    /// RP 03: the clock's status, 00 = ok.
    case clockStatus(UInt8)
    /// Any other RP, usually accepted settings.
    case answer([Entry])
    /// RT: a sensor changed, a button was pressed, or a calibration ended.
    case report([Entry])

    /// Decodes an RP or RT frame. A PT frame belongs to the log, a GT frame to the host.
    package init(decoding frame: Frame) throws(DecodeFailure) {
        let entries = try frame.operation == .response ? Self.answerEntries(frame) : frame.entries()
        switch frame.operation {
        case .report: self = .report(entries)
        case .response: self = (try? Snapshot(decoding: frame)).map(Self.snapshot) ?? Self(answer: entries)
        default:
            throw DecodeFailure(
                what: "not a message of a bottle: expected an RP or RT frame", offset: 0,
                needed: Int(FrameOperation.response.rawValue), found: Int(frame.operation.rawValue))
        }
    }

    /// The entries of a response. Empty for a snapshot that is not a sequence of entries, which is decoded by offsets.
    private static func answerEntries(_ frame: Frame) throws(DecodeFailure) -> [Entry] {
        do {
            return try frame.entries()
        } catch {
            guard (try? Snapshot(decoding: frame)) != nil else { throw error }
            return []
        }
    }

    private init(answer entries: [Entry]) {
        self = .answer(entries)
        guard entries.count == 1, let entry = entries.first, let byte = entry.byte else { return }
        switch (entry.type, byte) {
        case (.log, 1): self = .logFollows
        case (.log, 0): self = .logEmpty
        case (.registration, _): self = .registration(RegistrationCode(rawValue: byte))
        case (.clock, _): self = .clockStatus(byte)
        default: break
        }
    }

    package var frame: Frame {
        switch self {
        case .snapshot(let snapshot): snapshot.frame(snapshot.model ?? .boost)
        case .logFollows: Frame(.response, [Entry(.log, [1])])
        case .logEmpty: Frame(.response, [Entry(.log, [0])])
        case .registration(let code): Frame(.response, [Entry(.registration, [code.rawValue])])
        case .clockStatus(let status): Frame(.response, [Entry(.clock, [status])])
        case .answer(let entries): Frame(.response, entries)
        case .report(let entries): Frame(.report, entries)
        }
    }
}
