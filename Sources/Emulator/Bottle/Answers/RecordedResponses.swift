import BottleProtocol

/// The responses of a recorded bottle to requests that the emulated model does not support.
package struct RecordedResponses: Hashable, Sendable {
    package enum Mode: String, CaseIterable, Sendable {
        /// The recording is not used: unknown requests get no response.
        case model
        /// The recording answers requests that the model does not support.
        case capture
        /// Like `capture`, but a request that was not recorded ends the connection.
        case strict
    }

    package let mode: Mode
    /// The values of each response, by request and occurrence.
    private var answers: [[UInt8]: [[[UInt8]]]] = [:]
    private var shapes: Set<Shape> = []
    private var used: [[UInt8]: Int] = [:]

    /// The part of a request that remains without its numbers, such as clock times and acknowledged bytes.
    private struct Shape: Hashable {
        let prefix: [UInt8]
        let entries: [[Int]]

        init(_ request: [UInt8]) {
            let frame = try? Frame(decoding: request)
            if let frame, let entries = try? frame.entries(), !entries.isEmpty {
                prefix = Array(request.prefix(2))
                self.entries = entries.map { [Int($0.type.rawValue), $0.data.count] }
            } else {
                prefix = request
                entries = []
            }
        }
    }

    /// - Parameter exchanges: the recorded requests in order, each with the values of its response.
    package init(_ mode: Mode, exchanges: [(request: [UInt8], values: [[UInt8]])]) {
        self.mode = mode
        for exchange in exchanges {
            answers[exchange.request, default: []].append(exchange.values)
            shapes.insert(Shape(exchange.request))
        }
    }

    package static let none = RecordedResponses(.model, exchanges: [])

    func contains(_ request: [UInt8]) -> Bool { shapes.contains(Shape(request)) }

    /// The next recorded response to this request; the last one repeats. `nil` if there is none.
    mutating func next(to request: [UInt8]) -> [[UInt8]]? {
        guard mode != .model, let recorded = answers[request], !recorded.isEmpty else { return nil }
        let index = min(used[request, default: 0], recorded.count - 1)
        used[request] = index + 1
        return recorded[index]
    }
}
