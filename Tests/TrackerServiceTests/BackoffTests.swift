import Utilities
import Testing

@Suite struct BackoffTests {
    @Test func `backoff pauses grow, vary and start again after a reset`() {
        var backoff = Backoff(first: .seconds(1), longest: .seconds(60))
        let pauses = (0..<10).map { _ in backoff.next(jitter: 1) }
        #expect(
            pauses.prefix(7) == [
                .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(32), .seconds(60),
            ])
        #expect(pauses.last == .seconds(60))
        #expect(backoff.next(jitter: 0) == .seconds(30) && backoff.next(jitter: 7) == .seconds(60))
        backoff.reset()
        #expect(backoff.next(jitter: 0) == .milliseconds(500))
    }
}
