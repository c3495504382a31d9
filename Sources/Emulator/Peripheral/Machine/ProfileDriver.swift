import Bluetooth

/// Runs a cloned peripheral on a link and performs the effects of its state machine.
package actor ProfileDriver {
    private var machine: ProfileMachine
    private let link: any PeripheralLink
    private let clock: MonotonicClock
    private let log: @Sendable (String) -> Void
    private let tell: @Sendable (String) -> Void
    private var timer: Task<Void, Never>?

    /// Parameters: `log` logs one line for the user. The last function reports a request that is not in the recording.
    package init(
        _ machine: ProfileMachine, on link: any PeripheralLink, clock: MonotonicClock = .system,
        log: @escaping @Sendable (String) -> Void = { _ in },
        tell: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.machine = machine
        self.link = link
        self.clock = clock
        self.log = log
        self.tell = tell
    }

    package func open() async throws(LinkError) {
        try await link.open(machine.application)
    }

    package func run() async {
        for await event in link.events { feed(.link(event)) }
        timer?.cancel()
    }

    /// Whether no deadline of the state machine is overdue by more than `grace`.
    package func isOnTime(grace: Duration) -> Bool {
        guard let deadline = machine.nextDeadline else { return true }
        return clock.now() <= deadline.advanced(by: grace)
    }

    private func feed(_ event: ProfileMachine.Event) {
        for effect in machine.handle(event, at: clock.now()) {
            switch effect {
            case .link(let request): link.perform(request)
            case .log(let line): log(line)
            case .told(let line): tell(line)
            }
        }
        setTimer()
    }

    private func setTimer() {
        timer?.cancel()
        timer = machine.nextDeadline.map { deadline in
            Task { [weak self, clock] in
                let wait = max(.zero, clock.now().duration(to: deadline))
                guard (try? await Task.sleep(for: wait)) != nil else { return }
                await self?.feed(.tick)
            }
        }
    }
}
