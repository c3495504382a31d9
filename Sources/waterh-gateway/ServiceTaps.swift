import Notifications
import Utilities
import TrackerCore

/// What was tapped on the service's own desktop: done in its order. Where the store is held by another program, or its
/// disk is full, a tap waits: whoever tapped sees nothing more of it, and takes it for done. A service that is killed
/// meanwhile is followed by one that still has it.
actor ServiceTaps {
    private let taps: KeptTaps
    private let act: @Sendable (KeptTaps.Tap) async throws -> Void
    private let say: @Sendable (String) -> Void
    private var isAtIt = false
    private var isStopped = false
    private var pause: Task<Void, Never>?

    /// - Parameters:
    ///   - act: does it, once for each key.
    ///   - say: a line for the log.
    init(
        _ taps: KeptTaps, say: @escaping @Sendable (String) -> Void,
        act: @escaping @Sendable (KeptTaps.Tap) async throws -> Void
    ) {
        (self.taps, self.say, self.act) = (taps, say, act)
    }

    /// Comes back when it is done, or waits behind another.
    func keep(_ press: DesktopPress) async {
        for lost in taps.append(press) {
            say("\(lost.words): too many taps waited for the store, this one is lost.")
        }
        await goOn()
    }

    /// Does what waits.
    func goOn() async {
        guard !isAtIt else { return }
        isAtIt = true
        defer { isAtIt = false }
        var backoff = Backoff()
        while !isStopped, let tap = taps.first {
            do {
                try await act(tap)
                taps.remove(tap)
                backoff.reset()
            } catch let problem as any Problem where [.busy, .diskFull].contains(problem.category) {
                say("\(tap.words): \(problem.sentence) It is done when that is over.")
                await rest(backoff.next(chance: 1))
            } catch {
                say("\(tap.words): \(error)")
                taps.remove(tap)
            }
        }
    }

    /// What waits is left to whoever comes next.
    func stop() {
        isStopped = true
        pause?.cancel()
    }

    private func rest(_ length: Duration) async {
        guard !isStopped else { return }
        let pause = Task { _ = try? await Task.sleep(for: length) }
        self.pause = pause
        await pause.value
    }
}
