import Bluetooth
import Captures

/// Where the reading of a capture stands: what is needed to tell whether the next file goes on there.
struct CapturePlace {
    let reassembler: ConversationReassembler
    /// Of the last packet.
    private let last: Duration?
    private let level: CaptureFormat.Level?

    /// A log that was cut goes on at once; after a longer pause a connection of the same number may be another.
    private static let longestPause = Duration.seconds(600)

    /// Whether something is under way that another file can go on with.
    var isOpen: Bool { level != .text && reassembler.hasOpenConnections }

    init(
        _ reassembler: ConversationReassembler = ConversationReassembler.ofBottles(), at last: Duration? = nil,
        _ level: CaptureFormat.Level? = nil
    ) {
        (self.reassembler, self.last, self.level) = (reassembler, last, level)
    }

    /// Whether a file whose first packet has this time goes on where the one before ended.
    /// - Parameter isOverlap: it begins with packets that the one before ended with; the first other one is meant.
    func isContinued(at time: Duration?, _ level: CaptureFormat.Level?, isOverlap: Bool) -> Bool {
        guard isOpen, level == self.level, let time, let last else { return false }
        if isOverlap { return true }
        return time >= last && time - last <= Self.longestPause
    }
}
