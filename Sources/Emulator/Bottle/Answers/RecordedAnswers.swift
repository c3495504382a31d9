import BottleProtocol

/// What a recorded bottle answered to requests: for those that the model does not know, or to hold a host to the
/// recording.
package struct RecordedAnswers: Hashable, Sendable {
    /// Who answers.
    package enum Mode: String, CaseIterable, Sendable {
        /// The model answers; what it does not know is ignored.
        case model
        /// What the model does not know is answered as the recorded bottle did.
        case capture
        /// As `capture`; what the recording never saw ends the connection.
        case strict
    }

    /// Whether the recording answers instead of the model, or beside it.
    package let mode: Mode
    /// Values in answer to a request, for each time it was made.
    private var answers: [[UInt8]: [[[UInt8]]]] = [:]
    private var shapes: Set<Shape> = []
    private var played: [[UInt8]: Int] = [:]

    /// What two requests have in common whose numbers differ: a clock is set to another time each day, an
    /// acknowledgement counts what there is.
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

    /// - Parameter exchanges: requests in the order of the recording, each with what came in answer.
    package init(_ mode: Mode, exchanges: [(request: [UInt8], values: [[UInt8]])]) {
        self.mode = mode
        for exchange in exchanges {
            answers[exchange.request, default: []].append(exchange.values)
            shapes.insert(Shape(exchange.request))
        }
    }

    /// The model alone.
    package static let none = RecordedAnswers(.model, exchanges: [])

    /// Whether the recording's host made such a request.
    func saw(_ request: [UInt8]) -> Bool { shapes.contains(Shape(request)) }

    /// The next answer recorded for this request; after the last one the last one again. `nil`: it was never made.
    mutating func next(to request: [UInt8]) -> [[UInt8]]? {
        guard mode != .model, let known = answers[request], !known.isEmpty else { return nil }
        let place = min(played[request, default: 0], known.count - 1)
        played[request] = place + 1
        return known[place]
    }
}
