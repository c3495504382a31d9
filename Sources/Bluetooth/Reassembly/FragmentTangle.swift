/// Says whether a part can stand at that place of an L2CAP frame: only where what the frame began with leaves no other
/// reading, and never by chance.
///
/// - Parameters of the call: the frame's first bytes, its header included; where the part would stand in it; the part.
package typealias PartJudge = @Sendable (_ begun: [UInt8], _ offset: Int, _ part: [UInt8]) -> Bool

/// Continuations on one handle of a capture without directions, while both directions have a frame under way: kept
/// until the lengths tell whose each one is.
///
/// A frame's header says how long it is, and a direction begins the next frame only when the last one is complete. So
/// of all the ways to deal the fragments out few fit, mostly one; fewer yet where somebody knows what the frames may
/// hold (`PartJudge`). All ways that lead to the same lengths are kept as one `End`, so that the work grows with the
/// lengths and not with the ways.
struct FragmentTangle {
    /// A continuation that waits.
    struct Fragment {
        let bytes: [UInt8]
        /// Its length as its header says; more than `bytes` has where the capture kept only a part of it.
        let length: Int
        let packet: ObservedPacket
        var isWhole: Bool { !packet.isCut && bytes.count == length }
    }

    /// What came so far, in order.
    private(set) var fragments: [Fragment] = []
    private var ends: [End]
    private let sent: Shape, received: Shape
    private let fits: PartJudge?
    /// Each choice with the one before it: the ways share their beginnings.
    private var choices: [Choice] = []

    /// How a direction cuts its frames.
    private struct Shape {
        let firstLength: Int
        /// Of the frame under way: what came of it before, and how long it is.
        let begun: [UInt8]
        let length: Int
        /// As long as the next one usually is: the end, or one more of the first one's length.
        func expects(_ length: Int, of lacking: Int) -> Bool {
            length == lacking || length == firstLength && length < lacking
        }
    }

    private struct Choice {
        let before: Int32
        let direction: TrafficDirection
    }

    /// The ways that lead to one end: none, one with its last choice, or several.
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
        /// What the frame under way still lacks.
        var sentLacks: Int
        var receivedLacks: Int
        var all: Ways
        /// Only those in which both directions cut their frames as they have done so far.
        var regular: Ways
    }

    private static let noChoice: Int32 = -1
    /// Real frames are some 20 fragments; thousands that fit in ever more ways are a hostile capture's.
    private static let mostChoices = 4096

    /// `nil` where a frame's length is not known yet: its first fragment was shorter than that.
    init?(sent: L2CAPHalf, received: L2CAPHalf, fits: PartJudge? = nil) {
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

    /// Takes the next continuation.
    /// - Returns: `false` where it fits no frame, or there are too many: nobody will know.
    mutating func take(_ fragment: Fragment) -> Bool {
        // Nothing is in it, so it may be anybody's.
        guard fragment.length > 0 else { return true }
        fragments.append(fragment)
        let before = ends
        ends.removeAll(keepingCapacity: true)
        choose(.sent, fragment, from: before)
        choose(.received, fragment, from: before)
        merge()
        return !ends.isEmpty && choices.count <= Self.mostChoices
    }

    /// Follows the ways in which a fragment is this direction's.
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

    /// Ends with the same lengths become one.
    private mutating func merge() {
        guard ends.count > 1 else { return }
        ends.sort { $0.sentLacks < $1.sentLacks }
        var merged: [End] = []
        for end in ends {
            // What both lack together is the same for all.
            if let last = merged.last, last.sentLacks == end.sentLacks {
                merged[merged.count - 1].all = last.all + end.all
                merged[merged.count - 1].regular = last.regular + end.regular
            } else {
                merged.append(end)
            }
        }
        ends = merged
    }

    /// A direction begins another frame: its last one was complete.
    /// - Returns: `false` where it cannot have been.
    mutating func complete(_ direction: TrafficDirection) -> Bool {
        ends.removeAll { (direction == .sent ? $0.sentLacks : $0.receivedLacks) != 0 }
        return !ends.isEmpty
    }

    /// Nothing more is to come that could tell.
    var isOver: Bool { ends.allSatisfy { $0.sentLacks == 0 && $0.receivedLacks == 0 } }

    /// Whose each fragment is, where only one way fits.
    var onlyWay: [TrafficDirection]? {
        guard ends.count == 1, case .one(let last) = ends[0].all else { return nil }
        return way(to: last)
    }

    /// The same, or the one way in which both directions cut their frames as they always have.
    var likelyWay: [TrafficDirection]? {
        if let onlyWay { return onlyWay }
        guard ends.count == 1, case .one(let last) = ends[0].regular else { return nil }
        return way(to: last)
    }

    /// What a direction's frame still lacks, once there is one end.
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
