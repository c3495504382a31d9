import Bluetooth
import Dispatch
import Replay

/// Runs an `AnsweringMachine` on a link. All state belongs to `queue`.
package final class CapturePlayer: @unchecked Sendable {
    private let queue = DispatchQueue(label: "player")
    private let link: any PeripheralLink
    private let log: @Sendable (String) -> Void
    private let timer: any DispatchSourceTimer
    private var machine: AnsweringMachine
    private var mismatchCount = 0

    package init(_ machine: AnsweringMachine, on link: any PeripheralLink, log: @escaping @Sendable (String) -> Void) {
        self.machine = machine
        self.link = link
        self.log = log
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.feed(.tick) }
        timer.activate()
    }

    deinit { timer.cancel() }

    /// The number of requests that differed from the capture.
    package var mismatches: Int { queue.sync { mismatchCount } }

    package func open() async throws(LinkError) { try await link.open(machine.application) }

    package func run() async {
        for await event in link.events { queue.sync { feed(.link(event)) } }
        queue.sync { timer.cancel() }
    }

    private func feed(_ event: AnsweringMachine.Event) {
        for effect in machine.handle(event, at: MonotonicClock.system.now()) {
            switch effect {
            case .link(let request): link.perform(request)
            case .log(let line): log(line)
            case .mismatch(let line):
                mismatchCount += 1
                log("strict: \(line)")
            }
        }
        guard let deadline = machine.nextDeadline else { return timer.schedule(deadline: .distantFuture) }
        let wait = max(0, MonotonicClock.system.now().duration(to: deadline) / .nanoseconds(1))
        timer.schedule(deadline: .now() + .nanoseconds(Int(min(wait.rounded(.up), 1e15))))
    }
}
