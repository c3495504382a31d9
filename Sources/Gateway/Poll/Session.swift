import BottleProtocol
import TrackerCore
import Bluetooth

/// One connection with a bottle.
struct Session: Sendable {
    enum Step: Hashable, Sendable {
        /// Request the bottle's description of itself.
        case snapshot
        /// Read the log, and acknowledge it, until it is empty.
        case log
        /// Set the clock if it is off.
        case clock
        /// Set the goal if it differs.
        case goal
        case total
        case light
        /// Write a setting. The light that the bottle shows afterwards is stored.
        case set(HostCommand, shows: BottleLight? = nil)
        /// Write a command of `Job.send` and report the response.
        case send(HostCommand)
    }

    let peer: PeerID
    var mtu: Int
    var table: BottleTable?
    /// The number of characteristic pairs that could be the bottle's.
    var candidates = 1
    var isSubscribed = false
    /// Whether the connection was kept from an earlier poll. It may be dead without an error.
    var isResumed = false
    /// The number of writes without a response so far.
    var writesUnderWay = 0
    var assembler = LogAssembler()
    var steps: [Step] = []
    var log = LogProgress()

    /// Whether the log is read and acknowledged. Later errors then do not affect the main task of the poll.
    var isAfterLog: Bool { log.isDone && !steps.contains(.log) }
}

struct LogProgress: Sendable {
    var agreement = ReadingAgreement()
    var latest: [RawRecord]?
    var readings = 0
    /// The number of odd readings.
    var oddReadings = 0
    var emptyReadings = 0
    /// The start of the response in the last whole reading.
    var opening = LogReader.Opening.none
    var readingsNeeded = 2
    /// The duration of the last reading, and the part of it in which records arrived.
    var last: (took: Duration, arrival: Duration) = (.zero, .zero)
    /// Whether responses to an earlier request may be in transit.
    var isBehind = false
    var refusal: String?
    /// The length to which a small MTU truncates values.
    var cutAt: Int?
    var isDone = false
}
