import Bluetooth
import BottleProtocol

/// One thing that was tried with the bottle, and everything that came from it meanwhile.
public struct DayStep: Hashable, Sendable {
    /// What was tried.
    public enum Kind: Hashable, Sendable {
        /// Subscribed, and nothing asked.
        case listen
        /// A question in the moment of the subscription.
        case soon
        case snapshot
        /// The log, and no acknowledgement.
        case dump
        /// The log, after the maker's app had its turn.
        case dumpAfterApp
        /// The log, after the person drank what `BenchDayRecord.sips` says.
        case dumpAfterSips
        /// The same log, asked for once more.
        case dumpAgain
        /// The log, after an acknowledgement.
        case dumpAfterAcknowledgement(DayAcknowledgement)
        /// The log, after the person drank with the bottle's clock set into the next year.
        case dumpOfNextYear
        /// A command of one byte.
        case bare(UInt8)
        case command(HostCommand)
        /// The person did something with the bottle in hand.
        case live(DayAct)
        /// A write to the characteristic that only answers.
        case hangUp

        var isDump: Bool {
            switch self {
            case .dump, .dumpAfterApp, .dumpAfterSips, .dumpAgain, .dumpAfterAcknowledgement, .dumpOfNextYear: true
            default: false
            }
        }
    }

    /// What was tried.
    public var kind: Kind
    /// Number of the connection in the day, from 1.
    public var connection: Int
    /// This machine's wall clock at its beginning.
    public var at: BottleClock
    /// What was written, where something was.
    public var sent: [UInt8]?
    /// How often it was written until something came.
    public var sendings = 0
    /// What came, in order.
    public var values: [DayValue] = []
    /// Why it could not be written.
    public var refusal: String?
    /// The bottle ended the connection in it.
    public var isCutOff = false

    /// A step that begins, with nothing come yet.
    public init(_ kind: Kind, connection: Int, at: BottleClock, sent: [UInt8]? = nil) {
        (self.kind, self.connection, self.at, self.sent) = (kind, connection, at, sent)
    }
}

extension DayStep {
    /// The values of that characteristic, with an answer that came in pieces put together (protocol law P3.4, rule 1:
    /// by the frame's length, wherever it was cut).
    func answers(from response: BluetoothUUID?) -> [DayValue] {
        var (whole, open): ([DayValue], DayValue?) = ([], nil)
        for value in values where value.characteristic == response {
            if var begun = open, !value.bytes.starts(with: FrameOperation.response.letters) {
                begun.bytes += value.bytes
                (open, whole) = Self.isShort(begun.bytes) ? (begun, whole) : (nil, whole + [begun])
            } else {
                if let open { whole.append(open) }
                (open, whole) =
                    value.bytes.starts(with: FrameOperation.response.letters) && Self.isShort(value.bytes)
                    ? (value, whole) : (nil, whole + [value])
            }
        }
        return whole + [open].compactMap(\.self)
    }

    private static func isShort(_ bytes: [UInt8]) -> Bool {
        bytes.count < 4 || bytes.count < Frame.headerSize + Int(bytes[2]) << 8 + Int(bytes[3])
    }
}

/// What an acknowledgement named.
public enum DayAcknowledgement: Hashable, Sendable {
    /// One record, on a connection on which the log was not asked for.
    case blind
    /// One record of the dump before it.
    case one
    /// So many records: all of the dump before it.
    case all(Int)
}

/// A value that the bottle notified.
public struct DayValue: Hashable, Sendable {
    /// Since the step's beginning.
    public var after: Duration
    /// Where it came from.
    public var characteristic: BluetoothUUID
    /// The value.
    public var bytes: [UInt8]

    public init(after: Duration, characteristic: BluetoothUUID, bytes: [UInt8]) {
        (self.after, self.characteristic, self.bytes) = (after, characteristic, bytes)
    }
}

/// What a person does with the bottle in hand.
public enum DayAct: Hashable, Sendable {
    case sip(ml: Int)
    case press
    case charging(Bool)
    /// The maker's app on a telephone, which keeps its own recording.
    case app
}
