import Captures

/// Reads the bytes of one archive member, up to an error in the archive, and checks them against the limits.
final class MemberBytes {
    private let reader: ArchiveReader
    private let budget: ArchiveBudget
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private(set) var isAtEnd = false
    private(set) var readingError: String?

    init(_ reader: ArchiveReader, _ budget: ArchiveBudget) { (self.reader, self.budget) = (reader, budget) }

    /// The first bytes of the member, up to the given number.
    func head(_ length: Int) throws -> [UInt8] {
        var head: [UInt8] = []
        while head.count < length, !isAtEnd {
            let count = try next()
            head += buffer.prefix(count)
        }
        return head
    }

    /// Passes all bytes that were not delivered yet.
    func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        while !isAtEnd {
            let count = try next()
            try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    private func next() throws -> Int {
        let count: Int
        do {
            count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0) }
        } catch let error as CaptureError {
            readingError = error.sentence
            isAtEnd = true
            return 0
        }
        if count == 0 { isAtEnd = true }
        try budget.countBytes(count)
        return count
    }
}
