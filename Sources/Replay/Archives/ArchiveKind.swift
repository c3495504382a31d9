/// A compression or archive format, recognised by the first bytes of a file.
enum ArchiveKind: String, CaseIterable {
    case gzip, bzip2, xz, zstd, lz4, compress, zip, tar

    /// The number of bytes needed to recognise each kind. A tar has its magic number at offset 257.
    static let headLength = 262

    /// Whether the format stores several files; the other formats compress one file.
    var holdsMembers: Bool { self == .zip || self == .tar }

    var title: String {
        switch self {
        case .compress: "compressed (.Z)"
        default: rawValue
        }
    }

    init?(_ head: [UInt8]) {
        guard let found = Self.allCases.first(where: { $0.begins(head) }) else { return nil }
        self = found
    }

    private func begins(_ head: [UInt8]) -> Bool {
        switch self {
        case .gzip: return head.starts(with: [0x1F, 0x8B])
        // After the level byte comes the magic number of the first block, or that of the end of an empty file.
        case .bzip2:
            return head.starts(with: Array("BZh".utf8)) && head.count >= 10
                && (head[4..<10].elementsEqual([0x31, 0x41, 0x59, 0x26, 0x53, 0x59])
                    || head[4..<10].elementsEqual([0x17, 0x72, 0x45, 0x38, 0x50, 0x90]))
        case .xz: return head.starts(with: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00])
        case .zstd: return head.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
        case .lz4: return head.starts(with: [0x04, 0x22, 0x4D, 0x18])
        case .compress: return head.starts(with: [0x1F, 0x9D])
        // The second magic number is that of an empty zip.
        case .zip: return head.starts(with: Array("PK\u{3}\u{4}".utf8)) || head.starts(with: Array("PK\u{5}\u{6}".utf8))
        case .tar: return head.count >= Self.headLength && head[257..<262].elementsEqual("ustar".utf8)
        }
    }
}
