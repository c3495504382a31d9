import Support
import Testing
import TrackerCore

@testable import TrackerService

/// Truncated, damaged or random files are read or rejected without a trap. The split into pieces has no effect.
@Suite struct DamageTests {
    static let drinks: [Drink] = (0..<12).map { number in
        let at = Instant(seconds: 1_793_000_000 + Int64(number * 3600))
        return Drink(
            key: "A4:C1|\(number), \"<&é", at: at, calendar: DayCalendar(zone: .utc), ml: 50 + number, source: .bottle,
            updatedAt: at)
    }

    private static func outcome(_ bytes: [UInt8], pieces size: Int) -> String {
        do {
            return "\(try HealthReader.read(bytes, pieces: size).samples)"
        } catch let error as HealthFileError {
            #expect(!error.reason.isEmpty)
            return error.description
        } catch {
            return "another error: \(error)"
        }
    }

    @Test(arguments: HealthFiles.Format.allCases)
    func `a truncated file is rejected or gives only whole rows`(format: HealthFiles.Format) throws {
        let bytes = Array(HealthExport.text(format, Self.drinks).utf8)
        let end = try #require(bytes.lastIndex { !FileHead.isSpace($0) })
        for cut in 0..<bytes.count {
            let rows = try? HealthReader.samples(Array(bytes[..<cut]))
            // A CSV row with all of its columns can be the last one.
            if format == .csv {
                #expect(
                    rows == nil
                        || rows?.count == bytes[..<cut].count { $0 == UInt8(ascii: "\n") }
                            - (bytes[cut - 1] == UInt8(ascii: "\n") ? 1 : 0),
                    "cut at \(cut)")
            } else {
                #expect((rows == nil) == (cut <= end), "cut at \(cut)")
            }
        }
    }

    @Test(arguments: HealthFiles.Format.allCases, [UInt64(1), 2, 3])
    func `a damaged file has the same result whatever the chunk size`(format: HealthFiles.Format, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let good = Array(HealthExport.text(format, Self.drinks).utf8)
        for round in 0..<150 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert("\"<>[]{},;&\n\0".utf8.randomElement(using: &random) ?? 0, at: index)
                case 3: bytes.removeSubrange(index..<min(bytes.count, index + 40))
                default: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 60)], at: index)
                }
            }
            let whole = Self.outcome(bytes, pieces: .max)
            #expect(!whole.hasPrefix("another error"), "seed \(seed), round \(round)")
            let size = Int.random(in: 1...40, using: &random)
            #expect(Self.outcome(bytes, pieces: size) == whole, "seed \(seed), round \(round), pieces of \(size)")
        }
    }

    @Test(arguments: [UInt64(11), 12])
    func `random bytes are rejected`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for start in ["", "<", "[", "{\"drinks\":[", "startDate,value_ml\n", "\u{FEFF}", "<HealthData>"] {
            for _ in 0..<60 {
                let bytes =
                    Array(start.utf8)
                    + (0..<Int.random(in: 1...200, using: &random)).map { _ in
                        UInt8.random(in: .min ... .max, using: &random)
                    }
                #expect(throws: HealthFileError.self, "seed \(seed): \(bytes)") { try HealthReader.samples(bytes) }
            }
        }
    }

    @Test(arguments: [
        "startDate,value_ml\n\"", "[\"", "{\"", "{\"drinks\":[[", "<!DOCTYPE a [", "<!-- ", "<HealthData a=\"", " ",
    ])
    func `an endless file is rejected early`(start: String) throws {
        let reader = HealthReader { _ in }
        let piece = [UInt8](repeating: UInt8(ascii: start == " " ? " " : "x"), count: 1 << 16)
        try Array(start.utf8).withUnsafeBytes { try reader.feed($0) }
        #expect(throws: HealthFileError.self) {
            for _ in 0..<1025 { try piece.withUnsafeBytes { try reader.feed($0) } }
        }
    }
}
