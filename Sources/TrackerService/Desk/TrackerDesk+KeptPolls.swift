import Foundation
import Store
import TrackerCore

extension TrackerDesk {
    /// Polls that went wrong and are kept, newest first. They are no drinks: bytes that passed, and the names of
    /// bottles, a stranger's perhaps.
    package func keptPolls() -> [KeptPollReport] { KeptPolls.all(beside: store.path).map(KeptPollReport.init) }

    /// The capture of one of them, btsnoop.
    /// - Throws: `Refusal` (`noSuchPoll`) where none of that name is kept.
    package func capture(ofKeptPoll id: String) throws -> Data {
        guard let capture = KeptPolls.capture(id, beside: store.path) else {
            throw Refusal(
                "noSuchPoll", "No poll of that name is kept: a new one takes the place of the oldest.",
                category: .notFound, values: ["given": id])
        }
        return capture
    }
}
