import Foundation

/// A Swift file as far as the rules of the house need it: what it imports, declares and extends, and which type names it uses.
struct SwiftSource {
    /// Below the root: `Sources/Gateway/Engine/HeardPeers.swift`.
    let path: String
    let imports: Set<String>
    /// Types declared at the top level.
    let declared: Set<String>
    /// Types extended at the top level.
    let extended: Set<String>
    /// Words that begin with a capital letter, outside comments and text.
    let used: Set<String>

    /// A flag, a command of ours or one of the system's that stands in a text of the file.
    let commandWord: String?

    /// Without its ending: `BottleSession+Log`.
    var stem: String { String((path as NSString).lastPathComponent.dropLast(".swift".count)) }

    init(path: String, text: String) {
        self.path = path
        var imports: Set<String> = []
        var declared: Set<String> = []
        var extended: Set<String> = []
        var used: Set<String> = []
        for line in Self.withoutCommentsAndText(text).split(separator: UInt8(ascii: "\n")) {
            let words = line.split { !Self.isName($0) }.map { String(decoding: $0, as: UTF8.self) }
            for word in words where word.utf8.first.map({ $0 >= 0x41 && $0 <= 0x5A }) == true { used.insert(word) }
            // A declaration of the file itself stands at the line's beginning.
            guard let first = line.first, Self.isName(first) || first == UInt8(ascii: "@") else { continue }
            let rest = words.drop { Self.modifiers.contains($0) }
            guard let keyword = rest.first, rest.count > 1 else { continue }
            let name = rest[rest.startIndex + 1]
            switch keyword {
            case "import": imports.insert(Self.kinds.contains(name) && rest.count > 2 ? rest[rest.startIndex + 2] : name)
            case "extension": extended.insert(name)
            case _ where Self.kinds.contains(keyword): declared.insert(name)
            default: break
            }
        }
        (self.imports, self.declared, self.extended, self.used) = (imports, declared, extended, used)
        let texts = String(decoding: Self.withoutComments(text), as: UTF8.self)
        commandWord = texts.firstMatch(of: /(?:^|[^-!<])(--[a-z][a-z-]*)|waterh-(?:emulator|gateway|replay|tracker)|(?:system|bluetooth|timedate)ctl/)
            .map { String($0.1 ?? $0.0) }
    }

    private static let kinds: Set<String> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    private static let modifiers: Set<String> = [
        "public", "package", "internal", "private", "fileprivate", "final", "indirect", "nonisolated", "open", "testable", "preconcurrency",
        "main", "unchecked", "Suite", "discardableResult", "frozen", "available",
    ]

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
        default: false
        }
    }

    /// Comments and the inside of text literals become nothing; line ends stay.
    static func withoutCommentsAndText(_ text: String) -> [UInt8] { stripped(text, keepsText: false) }

    /// Comments become nothing.
    static func withoutComments(_ text: String) -> [UInt8] { stripped(text, keepsText: true) }

    private static func stripped(_ text: String, keepsText: Bool) -> [UInt8] {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var index = 0
        func starts(_ word: StaticString, at index: Int) -> Bool {
            guard index + word.utf8CodeUnitCount <= bytes.count else { return false }
            for offset in 0..<word.utf8CodeUnitCount where bytes[index + offset] != word.utf8Start[offset] { return false }
            return true
        }
        while index < bytes.count {
            if starts("//", at: index) {
                while index < bytes.count, bytes[index] != 0x0A { index += 1 }
            } else if starts("/*", at: index) {
                while index < bytes.count, !starts("*/", at: index) { index += 1 }
                index += 2
            } else if starts("\"\"\"", at: index) {
                let start = index
                index += 3
                while index < bytes.count, !starts("\"\"\"", at: index) { index += bytes[index] == 0x5C ? 2 : 1 }
                index += 3
                keepsText ? out.append(contentsOf: bytes[start..<min(index, bytes.count)]) : out.append(0x22)
            } else if bytes[index] == 0x22 {
                let start = index
                index += 1
                while index < bytes.count, bytes[index] != 0x22, bytes[index] != 0x0A { index += bytes[index] == 0x5C ? 2 : 1 }
                index += 1
                keepsText ? out.append(contentsOf: bytes[start..<min(index, bytes.count)]) : out.append(0x22)
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return out
    }
}
