/// A message of the bottle other than the log: a response (RP) or a report (RT).
///
/// Decoding keeps the entries of unknown messages, in `response` or `report`.
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
    case response([Entry])
    /// RT: a sensor changed, a button was pressed, or a calibration ended.
    case report([Entry])

    /// Decodes an RP or RT frame. A PT frame belongs to the log, a GT frame to the host.
    package init(decoding frame: Frame) throws(DecodeFailure) {
        switch frame.operation {
        case .report: self = .report(try frame.entries())
        case .response:
            // A snapshot can have a payload that is not a sequence of entries.
            if let snapshot = try? Snapshot(decoding: frame) {
                self = .snapshot(snapshot)
            } else {
                self = Self(response: try frame.entries())
            }
        default:
            throw DecodeFailure(
                problem: "not a message of a bottle: expected an RP or RT frame", offset: 0,
                needed: Int(FrameOperation.response.rawValue), found: Int(frame.operation.rawValue))
        }
    }

    private init(response entries: [Entry]) {
        self = .response(entries)
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
        case .response(let entries): Frame(.response, entries)
        case .report(let entries): Frame(.report, entries)
        }
    }
}
