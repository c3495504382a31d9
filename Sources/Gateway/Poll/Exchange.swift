import BottleProtocol
import Bluetooth

/// One command and the wait for its response. Bottles ignore commands that arrive too early, so an idempotent command
/// is written again until its response arrives.
struct Exchange: Hashable, Sendable {
    /// The action at a deadline.
    enum Timeout: Hashable, Sendable { case silentLink, repeatCommand, over }

    private enum Stage: Hashable, Sendable {
        case writing(until: MonotonicInstant)
        case waiting(until: MonotonicInstant)
        case button(Frame, until: MonotonicInstant)
    }

    let command: HostCommand
    private(set) var transmissions = 1
    private var stage: Stage
    private let limits: PollLimits
    /// Whether to wait for a response even after commands for which the protocol defines none.
    private let awaitsAnyResponse: Bool

    init(_ command: HostCommand, limits: PollLimits, awaitsAnyResponse: Bool, at now: MonotonicInstant) {
        self.command = command
        self.limits = limits
        self.awaitsAnyResponse = awaitsAnyResponse
        stage = .writing(until: now.advanced(by: limits.request))
    }

    var deadline: MonotonicInstant {
        switch stage {
        case .writing(let until), .waiting(let until), .button(_, let until): until
        }
    }

    /// The frame to report if the user does not press the button in time.
    var unconfirmedFrame: Frame? { if case .button(let frame, _) = stage { frame } else { nil } }

    var expectsResponse: Bool { expectedResponse != nil }

    mutating func writeCompleted(at now: MonotonicInstant) {
        guard case .writing = stage else { return }
        let wait: Duration =
            switch command {
            case .recalibrateFull, .recalibrateEmpty: limits.request
            default: expectsResponse ? limits.response : awaitsAnyResponse ? limits.beforeRead : .zero
            }
        stage = .waiting(until: now.advanced(by: wait))
    }

    /// Returns whether the bottle now waits for its button, and extends the deadline if so.
    mutating func waitsForButton(_ message: BottleMessage, _ frame: Frame, at now: MonotonicInstant) -> Bool {
        guard case (.register, .registration(.pressButton)) = (command, message) else { return false }
        if unconfirmedFrame == nil { stage = .button(frame, until: now.advanced(by: limits.button)) }
        return true
    }

    /// Handles the deadline. After `repeatCommand` the caller must write the command again.
    mutating func tick(at now: MonotonicInstant) -> Timeout {
        guard case .waiting = stage else { return unconfirmedFrame == nil ? .silentLink : .over }
        guard expectsResponse, mayRepeat, transmissions < limits.transmissions else { return .over }
        transmissions += 1
        stage = .writing(until: now.advanced(by: limits.request))
        return .repeatCommand
    }

    func isAnswered(by message: BottleMessage, _ frame: Frame) -> Bool {
        switch (command, message) {
        case (.snapshot, .snapshot): return true
        case (.snapshot, _): return false
        case (.recalibrateFull, .report(let entries)), (.recalibrateEmpty, .report(let entries)),
            (.register, .report(let entries)):
            return entries.contains { $0.type == expectedResponse }
        case (_, .report): return false
        default:
            guard let type = expectedResponse else { return awaitsAnyResponse }
            return ((try? frame.entries()) ?? []).contains { $0.type == type }
        }
    }

    /// Whether the command is idempotent.
    private var mayRepeat: Bool {
        switch command {
        case .clearLog, .register, .recalibrateFull, .recalibrateEmpty, .unknown, .put, .acknowledge: false
        default: true
        }
    }

    private var expectedResponse: EntryType? {
        switch command {
        case .snapshot: .battery
        case .drinkLog: .log
        case .get(let type): type
        case .settings, .goal: .goal
        case .clock: .clock
        case .reminder: .reminder
        case .register, .clearLog: .registration
        case .recalibrateFull: .recalibrateFull
        case .recalibrateEmpty: .recalibrateEmpty
        default: nil
        }
    }
}
