import Captures

/// The bytes of one file in an archive, as far as they can be had; each is held against the limits.
final class MemberBytes {
    private let reader: ArchiveReader
    private let budget: ArchiveBudget
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    /// There are no more.
    private(set) var isOver = false
    /// Why they ended too early.
    private(set) var trouble: String?

    init(_ reader: ArchiveReader, _ budget: ArchiveBudget) { (self.reader, self.budget) = (reader, budget) }

    /// The first bytes, so many where there are as many.
    func head(_ length: Int) throws -> [UInt8] {
        var head: [UInt8] = []
        while head.count < length, !isOver {
            let count = try next()
            head += buffer.prefix(count)
        }
        return head
    }

    /// What has not been given yet.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        while !isOver {
            let count = try next()
            try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    private func next() throws -> Int {
        let count: Int
        do {
            count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
        } catch let error as CaptureError {
            trouble = error.sentence
            isOver = true
            return 0
        }
        if count == 0 { isOver = true }
        try budget.spend(count)
        return count
    }
}
