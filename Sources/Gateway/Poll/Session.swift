import BottleProtocol
import TrackerCore
import Bluetooth

/// One connection with a bottle.
struct Session: Sendable {
    /// A thing to do on a connection, in the order of the list.
    enum Step: Hashable, Sendable {
        /// Ask the bottle for everything that it knows of itself.
        case snapshot
        /// Read the log, and acknowledge it, until it is empty.
        case log
        /// Set goal, reminder and clock where they differ.
        case settings
        /// Show the day's total on the bottle's screen.
        case total
        /// Show a reminder by the bottle's light.
        case light
        /// Write a setting. The light that the bottle shows afterwards is remembered.
        case set(HostCommand, shows: BottleLight? = nil)
        /// Write a command of `Job.send` and report the answer.
        case send(HostCommand)
    }

    let peer: PeerID
    var mtu: Int
    /// What discovery found; `nil` before.
    var table: BottleTable?
    /// How many pairs of characteristics could be the bottle's.
    var candidates = 1
    var isSubscribed = false
    /// The connection was kept from an earlier poll, so it may be dead without a sign.
    var isResumed = false
    /// Writes that the link has not answered yet.
    var writesUnderWay = 0
    var assembler = LogAssembler()
    var steps: [Step] = []
    var log = LogProgress()

    /// The log is read and acknowledged: what goes wrong now ends a poll that did its work.
    var isAfterLog: Bool { log.isDone && !steps.contains(.log) }
}

/// How far the log has been read on one connection.
struct LogProgress: Sendable {
    var agreement = ReadingAgreement()
    /// The latest whole reading; `nil`: there was none.
    var latest: [RawRecord]?
    /// Readings begun.
    var readings = 0
    /// Of those, odd ones.
    var oddReadings = 0
    /// Readings in a row that brought no records.
    var emptyReadings = 0
    /// How the answers of the last whole reading began.
    var opening = LogReader.Opening.none
    /// How many readings must agree: the most that any reading asked for.
    var readingsNeeded = 2
    /// How long the last reading took, and how much of that its records arrived.
    var last: (took: Duration, arrival: Duration) = (.zero, .zero)
    /// Answers to an earlier question may be under way.
    var isBehind = false
    /// Why nothing more is acknowledged on this connection.
    var refusal: String?
    /// The length at which a small MTU cuts values.
    var cutAt: Int?
    var isDone = false
}
