/// Whether a fragment fits at an offset of an L2CAP frame. `true` only if the frame allows no other content.
/// - Parameters of the call: the first bytes of the frame with its header, the offset of the fragment, the fragment.
package typealias FragmentValidator = @Sendable (_ begun: [UInt8], _ offset: Int, _ part: [UInt8]) -> Bool

/// Continuations on one handle of a capture without directions, while both directions have an incomplete frame. They
/// are kept until the frame lengths determine the direction of each.
///
/// A frame header has the frame's length, and a direction starts the next frame only when the last one is complete.
/// Usually one assignment fits; `FragmentValidator` excludes others. All assignments with the same remaining lengths
/// are one `End`, so that the work grows with the lengths and not with the number of assignments.
struct InterleavedFragments {
    struct Fragment {
        let bytes: [UInt8]
        /// The frame length from its header; more than `bytes` has if the capture truncated it.
        let length: Int
        let packet: CapturePacket
        var isWhole: Bool { !packet.isCut && bytes.count == length }
    }

    private(set) var fragments: [Fragment] = []
    private var ends: [End]
    private let sent: Shape, received: Shape
    private let fits: FragmentValidator?
    /// All choices, each with the index of the previous one, so that assignments share their first choices.
    private var choices: [Choice] = []

    private struct Shape {
        let firstLength: Int
        /// The received start of the incomplete frame.
        let begun: [UInt8]
        let length: Int
        /// Whether a fragment of this length is usual here: the rest of the frame, or the length of the first fragment.
        func expects(_ length: Int, of lacking: Int) -> Bool {
            length == lacking || length == firstLength && length < lacking
        }
    }

    private struct Choice {
        let before: Int32
        let direction: TrafficDirection
    }

    /// The assignments that lead to one end: none, one with its last choice, or several.
    private enum Ways {
        case none
        case one(last: Int32)
        case several

        static func + (one: Ways, other: Ways) -> Ways {
            switch (one, other) {
            case (.none, let ways), (let ways, .none): ways
            default: .several
            }
        }
    }

    private struct End {
        /// The number of bytes that the incomplete frame lacks.
        var sentLacks: Int
        var receivedLacks: Int
        var all: Ways
        /// The assignments in which both directions use the same fragment lengths as before.
        var regular: Ways
    }

    private static let noChoice: Int32 = -1
    /// The maximum number of choices for hostile captures. A real frame has about 20 fragments.
    private static let mostChoices = 4096

    /// Returns `nil` if a frame's length is unknown because its first fragment was too short.
    init?(sent: L2CAPReassembly, received: L2CAPReassembly, fits: FragmentValidator? = nil) {
        guard let sentLacks = sent.remaining, let receivedLacks = received.remaining, let first = sent.firstLength,
            let other = received.firstLength
        else { return nil }
        self.sent = Shape(firstLength: first, begun: sent.buffer, length: sent.buffer.count + sentLacks)
        self.received = Shape(firstLength: other, begun: received.buffer, length: received.buffer.count + receivedLacks)
        self.fits = fits
        let way = Ways.one(last: Self.noChoice)
        ends = [
            End(
                sentLacks: sentLacks, receivedLacks: receivedLacks, all: way,
                regular: sent.isRegular && received.isRegular ? way : .none)
        ]
    }

    mutating func take(_ fragment: Fragment) -> Bool {
        // An empty fragment fits both directions.
        guard fragment.length > 0 else { return true }
        fragments.append(fragment)
        let before = ends
        ends.removeAll(keepingCapacity: true)
        choose(.sent, fragment, from: before)
        choose(.received, fragment, from: before)
        merge()
        return !ends.isEmpty && choices.count <= Self.mostChoices
    }

    private mutating func choose(_ direction: TrafficDirection, _ fragment: Fragment, from before: [End]) {
        let length = fragment.length, shape = direction == .sent ? sent : received
        for end in before {
            let lacks = direction == .sent ? end.sentLacks : end.receivedLacks
            guard length <= lacks, fits?(shape.begun, shape.length - lacks, fragment.bytes) ?? true else { continue }
            var next = end
            if direction == .sent { next.sentLacks -= length } else { next.receivedLacks -= length }
            next.all = add(direction, to: end.all)
            let isExpected = shape.expects(length, of: lacks)
            next.regular = isExpected ? add(direction, to: end.regular) : .none
            ends.append(next)
        }
    }

    private mutating func add(_ direction: TrafficDirection, to ways: Ways) -> Ways {
        guard case .one(let last) = ways else { return ways }
        choices.append(Choice(before: last, direction: direction))
        return .one(last: Int32(choices.count - 1))
    }

    private mutating func merge() {
        guard ends.count > 1 else { return }
        ends.sort { $0.sentLacks < $1.sentLacks }
        var merged: [End] = []
        for end in ends {
            // For all ends, the sum of both lengths is the same.
            if let last = merged.last, last.sentLacks == end.sentLacks {
                merged[merged.count - 1].all = last.all + end.all
                merged[merged.count - 1].regular = last.regular + end.regular
            } else {
                merged.append(end)
            }
        }
        ends = merged
    }

    /// Excludes assignments with an incomplete frame of this direction, because it starts another frame.
    /// - Returns: `false` if no assignment remains.
    mutating func complete(_ direction: TrafficDirection) -> Bool {
        ends.removeAll { (direction == .sent ? $0.sentLacks : $0.receivedLacks) != 0 }
        return !ends.isEmpty
    }

    /// Whether both frames are complete in all assignments.
    var isOver: Bool { ends.allSatisfy { $0.sentLacks == 0 && $0.receivedLacks == 0 } }

    /// The direction of each fragment, if only one assignment fits.
    var onlyWay: [TrafficDirection]? {
        guard ends.count == 1, case .one(let last) = ends[0].all else { return nil }
        return way(to: last)
    }

    /// `onlyWay`, or the only assignment in which both directions use the same fragment lengths as before.
    var likelyWay: [TrafficDirection]? {
        if let onlyWay { return onlyWay }
        guard ends.count == 1, case .one(let last) = ends[0].regular else { return nil }
        return way(to: last)
    }

    /// The number of bytes that the direction's frame lacks, once all assignments agree.
    func lacks(_ direction: TrafficDirection) -> Int { direction == .sent ? ends[0].sentLacks : ends[0].receivedLacks }

    private func way(to last: Int32) -> [TrafficDirection] {
        var way: [TrafficDirection] = []
        var at = last
        while at != Self.noChoice {
            way.append(choices[Int(at)].direction)
            at = choices[Int(at)].before
        }
        return way.reversed()
    }
}
