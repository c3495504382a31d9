import Bluetooth

/// Values on their way: each at its time after the request that set them going.
struct ValuePlayer: Sendable {
    private let values: [Gadget.Value]
    private var position = 0
    private let start: MonotonicInstant
    private(set) var due: MonotonicInstant
    /// Only this characteristic's.
    private let only: UInt16?
    /// A rule whose values follow; how many rules have followed each other until here.
    let then: String?
    let depth: Int
    /// The characteristic whose subscription set it going.
    let owner: UInt16?
    /// Begins again when it is over, with this pause; `nil`: it does not.
    let pause: Duration?

    init(
        _ values: [Gadget.Value], at start: MonotonicInstant, only: UInt16? = nil, then: String? = nil, depth: Int = 0,
        owner: UInt16? = nil, isEndless: Bool = false
    ) {
        self.values = values
        self.start = start
        self.only = only
        self.then = then
        self.depth = depth
        self.owner = owner
        due = start
        let gap =
            values.count > 1
            ? values[values.count - 1].afterMs - values[values.count - 2].afterMs : values.first?.afterMs ?? 0
        pause = isEndless && !values.isEmpty ? .milliseconds(max(100, gap)) : nil
        settle()
    }

    var current: Gadget.Value? { position < values.count ? values[position] : nil }

    mutating func advance() {
        position += 1
        settle()
    }

    /// The same from the beginning.
    func again(at now: MonotonicInstant) -> ValuePlayer {
        ValuePlayer(values, at: now, only: only, then: then, depth: depth, owner: owner, isEndless: pause != nil)
    }

    /// To the next value that is wanted. Never before the one ahead of it, whatever the times say.
    private mutating func settle() {
        while let only, let value = current, value.handle != only { position += 1 }
        if let value = current { due = max(due, start.advanced(by: .milliseconds(value.afterMs))) }
    }
}
