import Foundation
import Testing

/// What a package for another processor needs of the code, as far as it can be seen without such a machine.
@Suite("No processor's own")
struct ProcessorTests {
    /// A processor's name or instructions, or a page size, that is taken for granted. Who asks for the order of bytes
    /// takes none for granted.
    private static let own = [
        "#if arch(", "__x86_64__", "__aarch64__", "immintrin", "asm(", "__asm", "_SC_PAGE", "getpagesize", "PAGE_SIZE",
    ]

    static func broken(path: String, text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().flatMap { number, line -> [String] in
            let code = line.drop { $0 == " " }
            guard !code.hasPrefix("//"), !code.hasPrefix("*") else { return [] }
            var found = own.filter(line.contains)
            // A number of several bytes out of raw ones: which byte comes first is said, but for what the kernel itself
            // has written for this processor.
            if line.contains("loadUnaligned("), !line.contains("bigEndian:"), !line.contains("littleEndian:"),
                !line.contains("inotify_event")
            {
                found.append("a number without the order of its bytes")
            }
            return found.map { "\(path):\(number + 1): \($0)" }
        }
    }

    @Test("nothing in the code is one processor's own")
    func sources() throws {
        let files = try Repository.files(in: ["Sources"]).filter { file in
            [".swift", ".c", ".h"].contains { file.path.hasSuffix($0) }
        }
        #expect(files.count > 400)
        let broken = files.flatMap { Self.broken(path: $0.path, text: $0.text) }
        #expect(broken == [])
    }

    @Test(
        "what is one processor's own is found out",
        arguments: [
            ("#if arch(x86_64)", 1), ("let n = raw.loadUnaligned(as: UInt16.self)", 1),
            ("let n = UInt16(bigEndian: raw.loadUnaligned(as: UInt16.self))", 0),
            ("// #if arch(x86_64)", 0), ("#include <immintrin.h>", 1), ("let size = getpagesize()", 1),
            ("let size = 4096", 0),
        ])
    func detector(line: String, count: Int) {
        #expect(Self.broken(path: "A.swift", text: line).count == count)
    }
}
