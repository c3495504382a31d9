import CArchive
import Captures
import Glibc
import Replay

/// What is packed as gzip, zlib or xz, piece by piece: everything up to where it is cut or damaged, then a sentence.
/// Every checksum is looked at.
final class PackedStream {
    enum Packing {
        case gzip, zlib, xz

        /// As people call it.
        var title: String { self == .xz ? "xz" : self == .gzip ? "gzip" : "deflated" }
    }

    /// Why there is no more of it, a sentence; `nil`: nothing is wrong so far.
    private(set) var failure: String?
    /// Something came out of it.
    private(set) var hasGiven = false
    private let packing: Packing
    private let coder: any PackedCoder
    /// Fills a buffer with the next packed bytes; 0 at their end.
    private let refill: (UnsafeMutableRawBufferPointer) -> Int
    private let packed = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    private let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    /// What of `packed` is not used yet.
    private var rest = 0..<0
    private var hasInputEnded = false
    private var isOver = false

    /// - Parameter descriptor: of a file that stands at its beginning, and stays open as long as this object.
    /// - Throws: `CaptureFileError` without the library.
    convenience init(_ packing: Packing, _ descriptor: CInt, path: String) throws(CaptureFileError) {
        try self.init(packing, path: path) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                return max(0, count)
            }
        }
    }

    /// - Parameter bytes: must live as long as this object.
    convenience init(_ packing: Packing, _ bytes: UnsafeRawBufferPointer, path: String) throws(CaptureFileError) {
        var rest = bytes[...]
        try self.init(packing, path: path) { buffer in
            let piece = rest.prefix(buffer.count)
            buffer.copyBytes(from: piece)
            rest = rest.dropFirst(piece.count)
            return piece.count
        }
    }

    private init(_ packing: Packing, path: String, refill: @escaping (UnsafeMutableRawBufferPointer) -> Int)
        throws(CaptureFileError)
    {
        (self.packing, self.refill) = (packing, refill)
        do throws(ArchiveLibrary.Missing) {
            coder = packing == .xz ? try XZCoder() : try InflateCoder(isGzip: packing == .gzip)
        } catch {
            throw CaptureFileError(path: path, sentence: "\(error.sentence). Install it, or unpack the file first")
        }
    }

    deinit {
        packed.deallocate()
        plain.deallocate()
    }

    /// The next bytes, good until the next call; `nil`: there are no more, and `failure` says whether there should be.
    func next() -> UnsafeRawBufferPointer? {
        var filled = 0
        while filled < plain.count, !isOver {
            if rest.isEmpty { fill() }
            let outcome = coder.run(
                UnsafeMutableRawBufferPointer(rebasing: packed[rest]),
                UnsafeMutableRawBufferPointer(rebasing: plain[filled...]), isLast: hasInputEnded)
            rest = (rest.lowerBound + outcome.taken)..<rest.upperBound
            filled += outcome.given
            switch outcome.state {
            case .goesOn: break
            case .needsMore where !hasInputEnded && rest.isEmpty: break
            case .needsMore: end("it ends too early")
            case .ended: if !beginsAnother() { isOver = true }
            case .broken(let why): end(why)
            }
        }
        guard filled > 0 else { return nil }
        hasGiven = true
        return UnsafeRawBufferPointer(rebasing: plain[..<filled])
    }

    private func end(_ why: String) {
        failure = "this \(packing.title) file is damaged or cut: \(why)"
        isOver = true
    }

    /// Packed bytes behind those that are not used yet, which move to the front.
    private func fill() {
        packed.copyMemory(from: UnsafeRawBufferPointer(rebasing: packed[rest]))
        let count = hasInputEnded ? 0 : refill(UnsafeMutableRawBufferPointer(rebasing: packed[rest.count...]))
        hasInputEnded = count == 0
        rest = 0..<(rest.count + count)
    }

    /// A gzip file may go on with another one, as whoever joins two makes it. What else follows belongs to none.
    private func beginsAnother() -> Bool {
        guard packing == .gzip else { return false }
        while rest.count < 2, !hasInputEnded { fill() }
        guard rest.count >= 2, packed[rest.lowerBound] == 0x1F, packed[rest.lowerBound + 1] == 0x8B else {
            return false
        }
        return coder.beginAgain()
    }
}
