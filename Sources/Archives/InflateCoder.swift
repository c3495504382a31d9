import CArchive
import Glibc

/// zlib, opened when it is first needed.
final class InflateCoder: PackedCoder {
    static let name = "libz.so.1"

    private let library: waterh_zlib
    // zlib remembers where it lies.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// - Parameter isGzip: with gzip's head and end, not zlib's.
    init(isGzip: Bool) throws(ArchiveLibrary.Missing) {
        library = try Self.opened.get()
        stream.initialize(to: z_stream())
        guard library.begin(stream, isGzip ? 31 : 15, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            throw ArchiveLibrary.Missing(sentence: "is packed, and \(Self.name) does not work with this program")
        }
    }

    deinit {
        _ = library.end(stream)
        stream.deallocate()
    }

    func run(_ packed: UnsafeMutableRawBufferPointer, _ plain: UnsafeMutableRawBufferPointer, isLast: Bool)
        -> PackedStep
    {
        stream.pointee.next_in = packed.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = CUnsignedInt(packed.count)
        stream.pointee.next_out = plain.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = CUnsignedInt(plain.count)
        let code = library.run(stream, Z_NO_FLUSH)
        return PackedStep(
            taken: packed.count - Int(stream.pointee.avail_in), given: plain.count - Int(stream.pointee.avail_out),
            state: state(code))
    }

    func beginAgain() -> Bool { library.reset(stream) == Z_OK }

    private func state(_ code: CInt) -> PackedStep.State {
        switch code {
        case Z_OK: return .goesOn
        case Z_BUF_ERROR: return .needsMore
        case Z_STREAM_END: return .ended
        default:
            let why = stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)"
            return .broken(
                why.hasPrefix("incorrect")
                    ? "its checksum does not fit (\(why)), so what it holds is not what was packed" : why)
        }
    }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<waterh_zlib, ArchiveLibrary.Missing> = {
        var functions = waterh_zlib()
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL), waterh_zlib_load(library, &functions) != 0 else {
            return .failure(
                ArchiveLibrary.Missing(
                    sentence:
                        "is packed, and the library that unpacks, \(name), is not installed (Debian's package zlib1g)"))
        }
        return .success(functions)
    }()
}
