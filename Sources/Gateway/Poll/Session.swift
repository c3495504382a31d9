import BottleProtocol
import TrackerCore
import Bluetooth

/// The state of a poll's connection to a bottle.
struct Session: Sendable {
    enum Step: Hashable, Sendable {
        /// Request the snapshot: model, battery, clock and settings.
        case snapshot
        /// Read and acknowledge the log until it is empty.
        case log
        case clock
        case goal
        case todayAmount
        case light
        /// Write a setting. If it sets the light, `shows` is the new light, to be stored.
        case set(HostCommand, shows: BottleLight? = nil)
        /// Write a command of `Job.send`, and report the response.
        case send(HostCommand)
    }

    let peer: PeerID
    var mtu: Int
    var pair: CharacteristicPair?
    /// The number of pairs of characteristics that could be the bottle's.
    var pairCount = 1
    /// Whether an earlier poll opened the connection. The link might not have reported its end.
    var isResumed = false
    /// The number of writes whose response has not arrived.
    var pendingWrites = 0
    var assembler = LogAssembler()
    var steps: [Step] = []
    var log = LogProgress()

    /// Whether the log is read and acknowledged. Later errors then do not make the poll fail.
    var isAfterLog: Bool { log.isDone && !steps.contains(.log) }
}

/// The state of the log on one connection: its readings so far, and whether it is done.
struct LogProgress: Sendable {
    var agreement = ReadingAgreement()
    var latest: [DrinkRecord]?
    var readings = 0
    /// The number of readings with an anomaly (`LogReader`).
    var anomalies = 0
    /// The kind of the first frame in the last whole reading.
    var firstFrame = LogReader.FirstFrame.none
    var readingsNeeded = 2
    /// The duration of the last reading, and the time in which its records arrived.
    var last: (took: Duration, arrival: Duration) = (.zero, .zero)
    /// Whether responses to an earlier request can still arrive.
    var expectsStaleData = false
    /// The length in bytes to which a small MTU truncates values; `nil` if it does not.
    var truncatedLength: Int?
    var isDone = false
}
