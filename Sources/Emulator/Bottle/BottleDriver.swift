import Bluetooth

/// Runs the emulated bottle on a link and performs the effects of its state machine.
package actor BottleDriver {
    private var machine: VirtualBottleMachine
    private let link: any PeripheralLink
    private let clock: MonotonicClock
    private let save: @Sendable (BottleFlash) throws -> Void
    private let log: @Sendable (String) -> Void
    private var timer: Task<Void, Never>?
    private var lastControl: UInt64 = 0
    private var replies: [UInt64: ControlReply] = [:]

    /// - Parameters:
    ///   - save: makes the flash durable before it returns. An error is logged, and no dependent response is sent.
    ///   - log: logs one line for the user.
    package init(
        _ machine: VirtualBottleMachine, on link: any PeripheralLink, clock: MonotonicClock = .system,
        save: @escaping @Sendable (BottleFlash) throws -> Void = { _ in },
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.machine = machine
        self.link = link
        self.clock = clock
        self.save = save
        self.log = log
    }

    package func open() async throws(LinkError) {
        try await link.open(machine.application)
    }

    package func run() async {
        for await event in link.events { feed(.link(event)) }
        timer?.cancel()
    }

    /// Performs a user's action on the bottle after all earlier requests of centrals.
    package func control(_ action: ControlAction) async -> ControlReply {
        await link.caughtUp()
        lastControl += 1
        feed(.control(action, id: lastControl))
        return replies.removeValue(forKey: lastControl) ?? .refused("the emulated bottle did not respond")
    }

    /// Whether no deadline of the state machine is overdue by more than `grace`.
    package func isOnTime(grace: Duration) -> Bool {
        guard let deadline = machine.nextDeadline else { return true }
        return clock.now() <= deadline.advanced(by: grace)
    }

    private func feed(_ event: VirtualBottleMachine.Event) {
        var isSaved = true
        for effect in machine.handle(event, at: clock.now()) {
            switch effect {
            case .save(let flash): isSaved = keep(flash)
            case .link(.respond(let token, _)) where !isSaved:
                let unlikelyError: UInt8 = 0x0E
                link.perform(.respond(token: token, .error(unlikelyError)))
            case .link(let request): link.perform(request)
            case .reply(let id, let reply):
                replies[id] = isSaved ? reply : .refused("saving the bottle's flash failed")
            case .log(let line): log(line)
            }
        }
        setTimer()
    }

    private func keep(_ flash: BottleFlash) -> Bool {
        do {
            try save(flash)
            return true
        } catch {
            log("saving the flash failed: \(error)")
            return false
        }
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
