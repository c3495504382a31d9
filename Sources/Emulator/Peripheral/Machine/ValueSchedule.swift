import Bluetooth

/// The values to send after a request, each with its time.
struct ValueSchedule: Sendable {
    private let values: [PeripheralProfile.Value]
    private var position = 0
    private let start: MonotonicInstant
    private(set) var due: MonotonicInstant
    /// The name of the rule whose values follow these; `nil` if there is none.
    let nextRule: String?
    /// The number of rules in this chain so far.
    let depth: Int
    /// The characteristic whose subscription causes the values.
    let owner: UInt16?
    /// The pause before the values repeat; `nil` if they do not.
    let pause: Duration?

    init(
        _ values: [PeripheralProfile.Value], at start: MonotonicInstant, nextRule: String? = nil, depth: Int = 0,
        owner: UInt16? = nil, isEndless: Bool = false
    ) {
        self.values = values
        self.start = start
        self.nextRule = nextRule
        self.depth = depth
        self.owner = owner
        due = start
        let gap =
            values.count > 1
            ? values[values.count - 1].afterMs - values[values.count - 2].afterMs : values.first?.afterMs ?? 0
        pause = isEndless && !values.isEmpty ? .milliseconds(max(100, gap)) : nil
        updateDue()
    }

    var current: PeripheralProfile.Value? { position < values.count ? values[position] : nil }

    mutating func advance() {
        position += 1
        updateDue()
    }

    /// The same values again, from `now`. Only the values of a subscription repeat.
    func repeated(at now: MonotonicInstant) -> ValueSchedule {
        ValueSchedule(values, at: now, owner: owner, isEndless: true)
    }

    /// Sets the time of the current value. It is never before that of the previous value.
    private mutating func updateDue() {
        if let value = current { due = max(due, start.advanced(by: .milliseconds(value.afterMs))) }
    }
}
