/// Finds the recorded exchange for a request, depending on the mode.
struct ExchangeIndex: Sendable {
    struct Key: Hashable {
        var request: PeripheralProfile.Request
        var handle: UInt16
        var value: [UInt8]
    }

    let exchanges: [PeripheralProfile.Exchange]
    /// The index of each connection's first exchange.
    let starts: [Int]
    private var places: [Key: [Int]] = [:]
    private var used: [Key: Int] = [:]

    init(_ profile: PeripheralProfile) {
        var exchanges: [PeripheralProfile.Exchange] = []
        var starts: [Int] = []
        for conversation in profile.conversations {
            starts.append(exchanges.count)
            exchanges += conversation.exchanges
        }
        self.exchanges = exchanges
        self.starts = starts
        for (place, exchange) in exchanges.enumerated() {
            guard let handle = exchange.handle else { continue }
            places[Key(request: exchange.request, handle: handle, value: exchange.value?.bytes ?? []), default: []]
                .append(place)
        }
    }

    /// The next exchange for the request, or `nil`. After the last one, it repeats the last, or in a loop starts again.
    mutating func take(_ key: Key, isLoop: Bool) -> PeripheralProfile.Exchange? {
        guard let known = places[key], let last = known.indices.last else { return nil }
        let next = used[key, default: 0]
        used[key] = next >= last ? (isLoop ? 0 : last) : next + 1
        return exchanges[known[min(next, last)]]
    }
}
