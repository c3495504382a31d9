package import BottleProtocol

/// A recorded request with the values of the response characteristic until the next request.
package struct RecordedExchange: Sendable {
    package var request: [UInt8]
    /// The number of the request's record in the capture.
    package var frame: Int
    /// The values in order, each with its delay after the request.
    package var values: [(bytes: [UInt8], delay: Duration)] = []
    /// The numbers of the whole log records in the values, as in the flash of the recorded bottle.
    package var records: [UInt64] = []

    package var command: HostCommand { HostCommand(decoding: request) }

    package init(request: [UInt8], frame: Int) {
        self.request = request
        self.frame = frame
    }
}

/// The responses of a recorded bottle.
package struct RecordedResponses: Sendable {
    /// Whether the recorded responses take precedence over those of the emulated model. The flash must contain the
    /// recorded log then. Otherwise they are for requests that the model does not support.
    let isPreferred: Bool
    /// Whether a request that was not recorded ends the connection.
    let isStrict: Bool
    private let exchanges: [RecordedExchange]
    private let speed: Double?
    /// The indices of the exchanges whose response was sent.
    private var used: Set<Int> = []

    /// - Parameters:
    ///   - exchanges: the recorded requests in order.
    ///   - speed: the recorded delays are divided by it; `nil` sends without delay.
    package init(
        _ exchanges: [RecordedExchange] = [], isPreferred: Bool = false, isStrict: Bool = false, speed: Double? = nil
    ) {
        self.exchanges = exchanges
        self.isPreferred = isPreferred
        self.isStrict = isStrict
        self.speed = speed
    }

    /// Whether the request was recorded. If the model responds first, other numbers in the request are allowed.
    func contains(_ request: [UInt8]) -> Bool {
        if isPreferred { return exchanges.contains { $0.request == request } }
        let shape = Self.shape(request)
        return exchanges.contains { Self.shape($0.request) == shape }
    }

    /// The next recorded response to this request; the last one repeats. A recorded log is sent once. `nil` if the
    /// model must respond.
    mutating func next(to request: [UInt8]) -> RecordedExchange? {
        let isLog = isPreferred && HostCommand(decoding: request).requestsLog
        let matching = exchanges.indices.filter { index in
            // Strict mode repeats the recording, including empty logs. Otherwise every log with records is sent, so
            // that one client gets all of them.
            isLog && !isStrict
                ? exchanges[index].command.requestsLog && !exchanges[index].records.isEmpty
                : exchanges[index].request == request
        }
        let repeated = isLog ? nil : matching.last
        guard let next = matching.first(where: { !used.contains($0) }) ?? repeated else { return nil }
        used.insert(next)
        return exchanges[next]
    }

    func delay(_ recorded: Duration) -> Duration { speed.map { recorded / $0 } ?? .zero }

    /// A message with the host's request, which is not in the capture, and the next one of the capture.
    func mismatch(_ request: [UInt8], _ command: HostCommand) -> String {
        let text = "the host wrote \(hexText(request)) (\(command.meaning)), which is not in the capture"
        guard let next = exchanges.indices.first(where: { !used.contains($0) }).map({ exchanges[$0] }) else {
            return text + "; the recorded host wrote nothing after that"
        }
        return text
            + "; the recorded host wrote \(hexText(next.request)) (\(next.command.meaning)) in frame \(next.frame)"
    }

    /// A request without its numbers, such as clock times and acknowledged bytes: the types and sizes of its entries.
    private static func shape(_ request: [UInt8]) -> [[Int]] {
        guard let entries = try? Frame(decoding: request).entries(), !entries.isEmpty else {
            return [request.map(Int.init)]
        }
        return [request.prefix(2).map(Int.init)] + entries.map { [Int($0.type.rawValue), $0.data.count] }
    }
}
