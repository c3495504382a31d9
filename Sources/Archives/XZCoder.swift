import CArchive
import Glibc

/// liblzma, opened when it is first needed.
final class XZCoder: PackedCoder {
    static let name = "liblzma.so.5"
    /// Bytes of memory that a file may ask for: more than any of xz's own settings needs.
    private static let memory: UInt64 = 1 << 30
    /// LZMA_CONCATENATED, a macro that Swift does not see: several packed pieces in one file are one.
    private static let concatenated: UInt32 = 0x08

    private let library: waterh_lzma
    private let stream = UnsafeMutablePointer<lzma_stream>.allocate(capacity: 1)

    init() throws(ArchiveLibrary.Missing) {
        library = try Self.opened.get()
        stream.initialize(to: lzma_stream())
        guard library.begin(stream, Self.memory, Self.concatenated) == LZMA_OK else {
            stream.deallocate()
            throw ArchiveLibrary.Missing(sentence: "is packed, and \(Self.name) does not work with this program")
        }
    }

    deinit {
        library.end(stream)
        stream.deallocate()
    }

    func run(_ packed: UnsafeMutableRawBufferPointer, _ plain: UnsafeMutableRawBufferPointer, isLast: Bool)
        -> PackedStep
    {
        stream.pointee.next_in = UnsafePointer(packed.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = packed.count
        stream.pointee.next_out = plain.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = plain.count
        let code = library.run(stream, isLast ? LZMA_FINISH : LZMA_RUN)
        return PackedStep(
            taken: packed.count - stream.pointee.avail_in, given: plain.count - stream.pointee.avail_out,
            state: Self.state(code))
    }

    /// The library goes on by itself.
    func beginAgain() -> Bool { false }

    private static func state(_ code: lzma_ret) -> PackedStep.State {
        switch code {
        case LZMA_OK: .goesOn
        case LZMA_BUF_ERROR: .needsMore
        case LZMA_STREAM_END: .ended
        case LZMA_MEM_ERROR, LZMA_MEMLIMIT_ERROR: .broken("unpacking it takes more than \(memory >> 20) MiB of memory")
        case LZMA_OPTIONS_ERROR: .broken("it is packed in a way that \(name) does not know")
        case LZMA_FORMAT_ERROR: .broken("there are bytes in it that are no xz")
        default: .broken("its bytes or its checksum do not fit")
        }
    }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<waterh_lzma, ArchiveLibrary.Missing> = {
        var functions = waterh_lzma()
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL), waterh_lzma_load(library, &functions) != 0 else {
            return .failure(
                ArchiveLibrary.Missing(
                    sentence:
                        "is packed, and the library that unpacks, \(name), is not installed (Debian's package liblzma5)"
                ))
        }
        return .success(functions)
    }()
}
