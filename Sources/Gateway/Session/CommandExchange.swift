import BottleProtocol
import Bluetooth

/// One command and the wait for its answer. Bottles ignore what comes too soon, so a command that may be repeated is
/// sent again when its answer is late.
struct CommandExchange {
    let command: HostCommand
    private(set) var sendings = 0
    private(set) var deadline: MonotonicInstant?
    private let limits: PollLimits
    /// A person waits: show also answers that nobody needs.
    private let patiently: Bool

    init(_ command: HostCommand, limits: PollLimits, patiently: Bool) {
        self.command = command
        self.limits = limits
        self.patiently = patiently
    }

    /// The command has left.
    mutating func sent(at now: MonotonicInstant) {
        guard deadline == nil else { return }
        sendings += 1
        let wait: Duration =
            switch command {
            case .recalibrateFull, .recalibrateEmpty: limits.request
            default: expectsAnswer ? limits.answer : patiently ? limits.beforeRead : .zero
            }
        deadline = now.advanced(by: wait)
    }

    mutating func repeated() { deadline = nil }

    /// What came while the bottle waits for its button: the answer, if nothing better follows.
    private(set) var interim: Frame?

    /// Whether the bottle asks for its button before it answers; from then on there is time to press it.
    mutating func waitsForButton(_ message: BottleMessage, _ frame: Frame, at now: MonotonicInstant) -> Bool {
        guard case (.register, .registration(.pressButton)) = (command, message), sendings > 0 else { return false }
        guard interim == nil else { return true }
        interim = frame
        deadline = now.advanced(by: limits.button)
        return true
    }

    /// Whether it may be sent once more: an answer is due, and doing it twice does no harm.
    var mayRepeat: Bool { expectsAnswer && isRepeatable && sendings < limits.sendings }

    /// Whether the protocol knows an answer.
    var expectsAnswer: Bool { answerType != nil }

    private var isRepeatable: Bool {
        switch command {
        case .clearLog, .register, .recalibrateFull, .recalibrateEmpty, .unknown, .put, .acknowledge: false
        default: true
        }
    }

    /// Entry type of the answer (protocol law P2.7).
    private var answerType: EntryType? {
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

    func isAnswered(by message: BottleMessage, _ frame: Frame) -> Bool {
        guard sendings > 0 || deadline == nil else { return false }
        switch (command, message) {
        case (.snapshot, .snapshot): return true
        case (.snapshot, _): return false
        case (.recalibrateFull, .report(let entries)), (.recalibrateEmpty, .report(let entries)),
            (.register, .report(let entries)):
            return entries.contains { $0.type == answerType }
        case (_, .report): return false
        default:
            guard let type = answerType else { return patiently }
            return ((try? frame.entries()) ?? []).contains { $0.type == type }
        }
    }
}
