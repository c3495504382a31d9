/// Finds the recorded exchanges for a request.
struct ExchangeIndex: Sendable {
    struct Key: Hashable {
        var request: PeripheralProfile.Request
        var handle: UInt16
        var value: [UInt8]
    }

    private(set) var exchanges: [PeripheralProfile.Exchange] = []
    /// The index of each connection's first exchange.
    private(set) var starts: [Int] = []
    private var positions: [Key: [Int]] = [:]
    private var nextPositions: [Key: Int] = [:]

    init(_ profile: PeripheralProfile) {
        for conversation in profile.conversations {
            starts.append(exchanges.count)
            exchanges += conversation.exchanges
        }
        for (index, exchange) in exchanges.enumerated() {
            guard let handle = exchange.handle else { continue }
            positions[Key(request: exchange.request, handle: handle, value: exchange.value?.bytes ?? []), default: []]
                .append(index)
        }
    }

    /// Returns the next exchange for the request. After the last one, the last one repeats, or a loop starts again.
    mutating func nextExchange(_ key: Key, isLoop: Bool) -> PeripheralProfile.Exchange? {
        guard let matching = positions[key], let last = matching.indices.last else { return nil }
        let next = nextPositions[key, default: 0]
        nextPositions[key] = next >= last ? (isLoop ? 0 : last) : next + 1
        return exchanges[matching[min(next, last)]]
    }
}
