import CommandSupport
import Utilities
import TrackerService

/// `status --follow` where only the service may read the store: it tells each change.
struct ServiceFollow: Sendable {
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(30))

    let service: ServiceSocket
    let line: @Sendable (_ state: String) throws -> String?

    /// Until it is stopped, or nobody reads any more.
    func run() async throws { try await StoreFollow.whileRead { await follow() } }

    /// Goes on where the service goes and comes back. The last line stays where it is.
    private func follow() async {
        var said: String?
        var trouble: String?
        var backoff = Backoff(first: Self.shortestPause, longest: Self.longestPause)
        while !Task.isCancelled {
            do {
                // A bar that shows the day does not look at it: no connection is held for it.
                for try await event in service.events("/api/v1/events?looks=no") where event.name == "state" {
                    trouble = nil
                    backoff.reset()
                    guard let line = try line(event.data), line != said else { continue }
                    said = line
                    TextOutput.standard.line(line)
                    TextOutput.standard.flush()
                }
            } catch {
                let sentence = (error as? CommandFailure)?.sentence ?? "The service at \(service.path): \(error)"
                if trouble != sentence, !Task.isCancelled { Diagnostics.warning("\(sentence) It is tried again.") }
                trouble = sentence
            }
            try? await Task.sleep(for: backoff.next(chance: 1))
        }
    }
}
