import Bluetooth
import Captures

/// The end of a capture, packet by packet, to find out how much of the next one was in it: a log that is turned over
/// while it is pulled overlaps the one before, and one of two recorders begins before the other ends.
struct CaptureTail {
    /// Packets are told apart by their times and bytes; text has neither.
    private var marks: [Int] = []
    /// Where the oldest stands.
    private var oldest = 0
    /// Packets since the beginning.
    private var total = 0
    /// 8 MiB of marks: Android's log of a day.
    private static let most = 1 << 20
    /// Packets that look like the first one of the next file, and are worth following.
    private static let mostBeginnings = 64

    mutating func take(_ packet: CapturePacket, _ bytes: RawSpan) {
        guard let mark = Self.mark(packet, bytes) else { return }
        total += 1
        if marks.count < Self.most {
            marks.append(mark)
        } else {
            marks[oldest] = mark
            oldest = (oldest + 1) % Self.most
        }
    }

    /// Another capture follows.
    /// - Returns: how many packets at its beginning were here; a capture that does not go on from this one takes its
    ///   place.
    mutating func goOn(in path: String) -> Int {
        let common = overlap(with: path)
        if common == 0 { self = CaptureTail() }
        return common
    }

    /// How many packets at the beginning of a file were the last ones of this capture; 0 where it does not go on in
    /// that file, begins as this one began (then it is read as it is), or can be read only once.
    private func overlap(with path: String) -> Int {
        guard !marks.isEmpty, CaptureFile.canBeReadAgain(path) else { return 0 }
        var file = CaptureFile(path: path)
        // Where the file's first packet stands here, as long as everything after it follows.
        var beginnings: [Int] = []
        var read = 0, common = 0
        do {
            try file.forEachPacket { packet, bytes in
                guard let mark = Self.mark(packet, bytes) else {
                    if read == 0 { return }
                    throw Enough()
                }
                if read == 0 {
                    guard packet.number == 1 else { throw Enough() }
                    beginnings = places(of: mark)
                } else {
                    beginnings.removeAll { self.mark(at: $0 + read) != mark }
                }
                read += 1
                // To the end of what is known here, and so on beyond it.
                if beginnings.contains(where: { $0 + read == marks.count }) {
                    common = read
                    beginnings.removeAll { $0 + read == marks.count }
                }
                if beginnings.isEmpty { throw Enough() }
            }
        } catch {
            return common
        }
        // It is over before: all of it was here.
        return read
    }

    private struct Enough: Error {}

    private func mark(at index: Int) -> Int? { index < marks.count ? marks[(oldest + index) % marks.count] : nil }

    /// Not the very first packet: who begins as this capture began knows everything that it knew.
    private func places(of mark: Int) -> [Int] {
        let isWhole = total == marks.count
        var places: [Int] = []
        for index in stride(from: marks.count - 1, through: isWhole ? 1 : 0, by: -1) where self.mark(at: index) == mark
        {
            places.append(index)
            if places.count == Self.mostBeginnings { break }
        }
        return places
    }

    /// `nil` for what has no time.
    private static func mark(_ packet: CapturePacket, _ bytes: RawSpan) -> Int? {
        guard let time = packet.time, packet.content.level != .text else { return nil }
        var hasher = Hasher()
        hasher.combine(time.seconds)
        // Microseconds: what every format keeps.
        hasher.combine(time.nanosecond / 1000)
        hasher.combine(packet.direction)
        hasher.combine(packet.missing)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}
