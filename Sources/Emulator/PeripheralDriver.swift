package import Bluetooth

/// The state machine of an emulated peripheral, without I/O: events are the input, effects the output.
package protocol PeripheralMachine: Sendable {
    /// The application to publish on the link before the first event.
    var application: GATTApplication { get }
    /// The time at which the caller must send `tick`; `nil` if it has no effect.
    var nextDeadline: MonotonicInstant? { get }
    /// Handles one event and returns its effects in order. Time must not decrease.
    mutating func handle(_ event: PeripheralMachineEvent, at now: MonotonicInstant) -> [PeripheralMachineEffect]
}

package enum PeripheralMachineEvent: Hashable, Sendable {
    case link(PeripheralEvent)
    /// A user's action on an emulated bottle, with the effect `.reply`.
    case control(ControlAction)
    case tick
}

package enum PeripheralMachineEffect: Hashable, Sendable {
    case link(PeripheralRequest)
    /// Save this flash before the following effects.
    case save(BottleFlash)
    case reply(ControlReply)
    case log(String)
    /// Reports a request that is not in the recording, in one line.
    case unrecorded(String)
}

/// Runs the state machine of a peripheral on a link, and performs its effects.
package actor PeripheralDriver {
    private var machine: any PeripheralMachine
    private let link: any PeripheralLink
    private let clock: MonotonicClock
    private let save: @Sendable (BottleFlash) throws -> Void
    private let log: @Sendable (String) -> Void
    private let unrecorded: @Sendable (String) -> Void
    private var timer: Task<Void, Never>?

    /// - Parameters:
    ///   - save: stores the flash durably. After an error, responses that depend on it are not sent.
    ///   - log: logs one line for the user.
    ///   - unrecorded: reports a request that is not in the recording.
    package init(
        _ machine: any PeripheralMachine, on link: any PeripheralLink, clock: MonotonicClock = .system,
        save: @escaping @Sendable (BottleFlash) throws -> Void = { _ in },
        log: @escaping @Sendable (String) -> Void = { _ in },
        unrecorded: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.machine = machine
        self.link = link
        self.clock = clock
        self.save = save
        self.log = log
        self.unrecorded = unrecorded
    }

    package func open() async throws(LinkError) {
        try await link.open(machine.application)
    }

    package func run() async {
        for await event in link.events { feed(.link(event)) }
        timer?.cancel()
    }

    /// Performs a user's action on the bottle, after earlier requests of centrals.
    package func control(_ action: ControlAction) async -> ControlReply {
        await link.waitUntilEventsAreProcessed()
        return feed(.control(action)) ?? .refused("the emulated bottle did not respond")
    }

    /// Whether no deadline of the state machine is overdue by more than `grace`.
    package func isOnTime(grace: Duration) -> Bool {
        guard let deadline = machine.nextDeadline else { return true }
        return clock.now() <= deadline.advanced(by: grace)
    }

    /// Returns the reply to a user's action.
    @discardableResult
    private func feed(_ event: PeripheralMachineEvent) -> ControlReply? {
        var isSaved = true
        var controlReply: ControlReply?
        for effect in machine.handle(event, at: clock.now()) {
            switch effect {
            case .save(let flash): isSaved = saveFlash(flash)
            case .link(.respond(let token, _)) where !isSaved:
                let unlikelyError: UInt8 = 0x0E
                link.perform(.respond(token: token, .error(unlikelyError)))
            case .link(let request): link.perform(request)
            case .reply(let reply): controlReply = isSaved ? reply : .refused("saving the bottle's flash failed")
            case .log(let line): log(line)
            case .unrecorded(let line): unrecorded(line)
            }
        }
        setTimer()
        return controlReply
    }

    private func saveFlash(_ flash: BottleFlash) -> Bool {
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
