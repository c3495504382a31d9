/// Where the keys and steps of a scenario stand in its text: the parser does not say.
struct ScenarioPlaces {
    /// Line and column, from 1.
    struct Place: Hashable {
        var line: Int
        var column: Int
    }

    /// By section and key, `bottle.model`; those before the first section by their name alone.
    private(set) var keys: [String: Place] = [:]
    /// Of each step.
    private(set) var steps: [Place] = []

    init(_ text: String) {
        var scanner = Scanner(bytes: Array(text.utf8))
        var section = ""
        var key = ""
        var depth = 0
        var isAtStart = true
        while let byte = scanner.byte {
            switch byte {
            case UInt8(ascii: "\n"):
                if depth == 0 { isAtStart = true }
                scanner.skip()
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): scanner.skip()
            case UInt8(ascii: "#"): scanner.skip { $0 != UInt8(ascii: "\n") }
            case _ where depth == 0 && isAtStart:
                let place = scanner.place
                isAtStart = false
                if byte == UInt8(ascii: "[") {
                    section =
                        scanner.word { $0 != UInt8(ascii: "]") && $0 != UInt8(ascii: "\n") }.filter {
                            !" []\"'".contains($0)
                        } + "."
                    key = ""
                } else {
                    let name = scanner.word { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "\n") }.filter {
                        !" \t\"'".contains($0)
                    }
                    key = (section == "." ? "" : section) + name
                    keys[key] = keys[key] ?? place
                }
            case UInt8(ascii: "\""), UInt8(ascii: "'"): scanner.skipString()
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                if key == "steps", depth == 1, byte == UInt8(ascii: "{") { steps.append(scanner.place) }
                depth += 1
                scanner.skip()
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth = max(0, depth - 1)
                scanner.skip()
            default: scanner.skip()
            }
        }
    }

    private struct Scanner {
        let bytes: [UInt8]
        private var index = 0
        private(set) var place = Place(line: 1, column: 1)

        init(bytes: [UInt8]) { self.bytes = bytes }

        var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

        mutating func skip() {
            guard let byte else { return }
            if byte == UInt8(ascii: "\n") {
                place = Place(line: place.line + 1, column: 1)
            } else if byte & 0xC0 != 0x80 {
                place.column += 1
            }
            index += 1
        }

        mutating func skip(while holds: (UInt8) -> Bool) { while let byte, holds(byte) { skip() } }

        mutating func word(while holds: (UInt8) -> Bool) -> String {
            let start = index
            skip(while: holds)
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }

        private func isNext(_ quote: UInt8, _ count: Int) -> Bool {
            index + count <= bytes.count && bytes[index..<(index + count)].allSatisfy { $0 == quote }
        }

        mutating func skipString() {
            guard let quote = byte else { return }
            let count = isNext(quote, 3) ? 3 : 1
            for _ in 0..<count { skip() }
            while let byte {
                if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                    skip()
                    skip()
                } else if isNext(quote, count) {
                    for _ in 0..<count { skip() }
                    return
                } else if count == 1, byte == UInt8(ascii: "\n") {
                    return
                } else {
                    skip()
                }
            }
        }
    }
}
