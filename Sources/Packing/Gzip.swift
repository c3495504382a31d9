import CZlib
import Glibc

/// Bytes as gzip, and back, as a whole. zlib is opened when it is first needed.
public enum Gzip {
    /// Why it did not go.
    public enum Failure: Error, Hashable, CustomStringConvertible {
        /// zlib is not installed.
        case libraryMissing
        /// It is no gzip, or not a whole one, and why.
        case broken(String)
        /// What comes out of it is more than so many bytes.
        case tooLong(Int)

        /// One sentence, without a full stop.
        public var description: String {
            switch self {
            case .libraryMissing: "The library that packs, \(Gzip.name), is not installed (Debian's package zlib1g)"
            case .broken(let why): "It is no whole gzip: \(why)"
            case .tooLong(let limit): "Unpacked it is longer than \(limit) bytes"
            }
        }
    }

    static let name = "libz.so.1"

    /// Packs quickly rather than tightly.
    public static func pack(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        let library = try opened.get()
        return try withStream { stream throws(Failure) in
            guard
                library.begin_packing(
                    stream, 3, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
                    == Z_OK
            else { throw .libraryMissing }
            defer { _ = library.end_packing(stream) }
            var packed = [UInt8](repeating: 0, count: Int(library.bound(stream, CUnsignedLong(bytes.count))))
            let (code, given) = run(stream, bytes, &packed) { library.pack(stream, Z_FINISH) }
            guard code == Z_STREAM_END else { throw .broken("error \(code)") }
            packed.removeLast(packed.count - given)
            return packed
        }
    }

    /// Unpacks one whole gzip with nothing behind it; the memory that it takes is bounded by the limit, whatever is in
    /// it.
    public static func unpack(_ bytes: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        let library = try opened.get()
        return try withStream { stream throws(Failure) in
            guard library.begin_unpacking(stream, 31, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
                throw .libraryMissing
            }
            defer { _ = library.end_unpacking(stream) }
            // One byte more than may be: so that what fits is told from what does not.
            var plain = [UInt8](repeating: 0, count: min(limit, max(1024, bytes.count * 1100)) + 1)
            let (code, given) = run(stream, bytes, &plain) { library.unpack(stream, Z_FINISH) }
            if given > limit { throw .tooLong(limit) }
            guard code == Z_STREAM_END else {
                throw .broken(
                    code == Z_BUF_ERROR
                        ? "it is cut" : stream.pointee.msg.map { String(cString: $0) } ?? "error \(code)")
            }
            guard stream.pointee.avail_in == 0 else { throw .broken("something follows it") }
            plain.removeLast(plain.count - given)
            return plain
        }
    }

    private static func withStream(_ body: (UnsafeMutablePointer<z_stream>) throws(Failure) -> [UInt8]) throws(Failure)
        -> [UInt8]
    {
        // zlib remembers where it lies.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        return try body(stream)
    }

    private static func run(
        _ stream: UnsafeMutablePointer<z_stream>, _ from: [UInt8], _ into: inout [UInt8], _ body: () -> CInt
    ) -> (code: CInt, given: Int) {
        from.withUnsafeBufferPointer { from in
            into.withUnsafeMutableBufferPointer { into in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: from.baseAddress)
                stream.pointee.avail_in = CUnsignedInt(from.count)
                stream.pointee.next_out = into.baseAddress
                stream.pointee.avail_out = CUnsignedInt(into.count)
                return (body(), into.count - Int(stream.pointee.avail_out))
            }
        }
    }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<waterh_gzip, Failure> = {
        var functions = waterh_gzip()
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL), waterh_gzip_load(library, &functions) != 0 else {
            return .failure(.libraryMissing)
        }
        return .success(functions)
    }()
}
