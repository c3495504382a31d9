import ArgumentParser
import CommandSupport
import Store
import Synchronization
import TrackerCore
import TrackerService

/// `status --follow`: a line for each change. The store is opened for each look and closed again: another may take its
/// place, or an older one be brought up to date.
struct StatusFollow: Sendable {
    let options: StoreOptions
    let place: StorePlace
    let clock: DeskClock
    let line: @Sendable (TrackerSnapshot) throws -> String?

    /// What was said last.
    private struct Said {
        var line: String?
        var trouble: String?
    }

    /// Until it is stopped, or nobody reads any more.
    func run() async throws {
        let said = Mutex(Said())
        try await StoreFollow(place: place).run { look(said) }
    }

    /// Says what is new. A store that cannot be read right now leaves the last line where it is.
    private func look(_ said: borrowing Mutex<Said>) -> Duration {
        do {
            let standing = try DeskOpening(options, place: place).desk(for: .looking, at: clock.now()).standing()
            guard let line = try line(standing.snapshot) else { return DayFollower.longestPause }
            let isNews = said.withLock { said in
                defer { said = Said(line: line) }
                return said.line != line
            }
            if isNews {
                TextOutput.standard.line(line)
                TextOutput.standard.flush()
            }
            return clock.real(standing.lasts)
        } catch {
            let sentence = "\(Failures.explained(error))"
            let isNews = said.withLock { said in
                defer { said.trouble = sentence }
                return said.trouble != sentence
            }
            if isNews { Diagnostics.warning(sentence) }
            return DayFollower.longestPause
        }
    }
}
