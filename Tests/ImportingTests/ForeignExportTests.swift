import Foundation
import Support
import Testing
import TrackerCore

@testable import TrackerService

extension HealthReader {
    /// Reads a file in pieces of a size.
    static func read(_ bytes: [UInt8], pieces size: Int) throws -> (samples: [HealthSample], remarks: [String]) {
        var samples: [HealthSample] = []
        let reader = HealthReader { samples.append($0) }
        let size = min(size, max(1, bytes.count))
        for start in stride(from: 0, to: bytes.count, by: size) {
            try bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { try reader.feed($0) }
        }
        try reader.finish()
        return (samples, reader.remarks)
    }
}

/// Real exports of other programs: characters that XML forbids, other units, other decimal separators, and archives of
/// a phone.
@Suite struct ForeignExportTests {
    static func read(_ bytes: [UInt8], pieces: Int = .max) throws -> (amounts: [Int], remarks: [String]) {
        let (samples, remarks) = try HealthReader.read(bytes, pieces: pieces)
        return (samples.map(\.ml), remarks)
    }

    static func water(_ value: String, unit: String = "mL", source: String = "App") -> String {
        """
         <Record type="HKQuantityTypeIdentifierDietaryWater" sourceName="\(source)" unit="\(unit)" \
        startDate="2026-11-20 08:00:00 +0100" value="\(value)"/>\n
        """
    }

    static func export(_ records: [UInt8]) -> [UInt8] {
        Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"de_DE\">\n".utf8) + records
            + Array("</HealthData>\n".utf8)
    }

    // MARK: characters

    static let bad: [[UInt8]] = [
        [0x0B], [0x00], [0x1B], [0xEF, 0xBF, 0xBE], [0xEF, 0xBF, 0xBF], [0xFF], [0xC3], [0xE2, 0x82],
        [0xED, 0xA0, 0x80],
        [0xF0, 0x9F, 0x98], [0xC0, 0x80], Array("&#11;".utf8), Array("&#x1B;".utf8), Array("&#0;".utf8),
        Array("&#99999999999;".utf8),
        Array("&#xFFFE;".utf8), Array("&#55296;".utf8),
    ]

    @Test(arguments: bad) func `invalid XML characters are counted, and water is imported`(bytes: [UInt8]) throws {
        let other =
            Array("\n <Record type=\"Sleep\" value=\"a".utf8) + bytes + Array("z\">b".utf8) + bytes
            + Array("</Record>".utf8)
        let file = Self.export(Array((Self.water("250")).utf8) + other + Array(Self.water("300").utf8))
        for pieces in [Int.max, 1, 7] {
            let (amounts, remarks) = try Self.read(file, pieces: pieces)
            #expect(amounts == [250, 300])
            #expect(remarks.count == 1 && remarks[0].hasSuffix("first in line 5."), "\(remarks)")
        }
    }

    @Test(arguments: ["source Name", "a b c", "größe x"])
    func `a space in an XML attribute name is replaced`(name: String) throws {
        let file = Self.export(Array("<Record type=\"Sleep\" \(name)=\"1\" end=\"2\"/>\n\(Self.water("250"))".utf8))
        for pieces in [Int.max, 1] {
            let (amounts, remarks) = try Self.read(file, pieces: pieces)
            #expect(amounts == [250] && remarks.count == 1, "\(remarks)")
        }
    }

    @Test func `valid XML is not changed`() throws {
        let text = """
            <!-- a b="<c d>" \u{1F4A7} --><Record type = "Sleep"  value\n= 'a "b" > c'/><![CDATA[ <x y z> ]]><?p i?>
            """
        let (amounts, remarks) = try Self.read(
            Self.export(Array((text + Self.water("250", source: "Tr&#228;nk &#x1F4A7;")).utf8)))
        #expect(amounts == [250] && remarks.isEmpty, "\(remarks)")
    }

    @Test func `an unpaired UTF-16 surrogate is rejected`() throws {
        let text = String(decoding: Self.export(Array(Self.water("250").utf8)), as: UTF8.self)
        func bytes(_ units: [UInt16]) -> [UInt8] { units.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } }
        var units: [UInt16] = [0xFEFF] + Array(text.utf16)
        #expect(try Self.read(bytes(units)).amounts == [250])
        units.insert(0xD83D, at: units.count - 15)
        #expect(throws: HealthFileError.self) { try Self.read(bytes(units)) }
    }

    // MARK: units

    @Test(arguments: [
        ("mL", "250", 250), ("L", "0.25", 250), ("cL", "25", 250), ("dL", "2.5", 250), ("mcL", "250000", 250),
        ("daL", "0.025", 250), ("hL", "0.0025", 250), ("kL", "0.00025", 250),
        ("fl_oz_us", "8", 237), ("fl_oz_imp", "8", 227), ("cup_us", "1", 237), ("cup_imp", "1", 284),
        ("pt_us", "1", 473), ("pt_imp", "1", 568),
    ]) func `every volume unit of HealthKit is converted`(unit: String, value: String, ml: Int) throws {
        let (amounts, remarks) = try Self.read(Self.export(Array(Self.water(value, unit: unit).utf8)))
        #expect(amounts == [ml] && remarks.isEmpty)
    }

    @Test func `a record of another unit is skipped and counted`() throws {
        let records = Self.water("1", unit: "lb") + Self.water("250") + Self.water("x", unit: "kcal")
        let (amounts, remarks) = try Self.read(Self.export(Array(records.utf8)))
        #expect(amounts == [250])
        #expect(remarks == ["2 water records skipped: the unit \"lb\" is not a volume (first in line 3)."])
    }

    // MARK: numbers

    private static func csv(_ values: [String], _ separator: String) -> [UInt8] {
        let rows = values.map { value in
            "2026-11-20 08:00:00 +0100" + separator + (separator == "," && value.contains(",") ? "\"\(value)\"" : value)
        }
        return Array(("startDate\(separator)value_ml\n" + rows.joined(separator: "\n") + "\n").utf8)
    }

    @Test(
        arguments: [
            (["1.200", "0,5"], ";", [1200, 1]), (["250,5", "1.200"], "\t", [251, 1200]), (["1.200,5"], ";", [1201]),
            (["1,200.5", "1,200"], ";", [1201, 1200]), (["1.200", "2.5"], ";", [1, 3]),
            (["1,200", "2.5"], "\t", [1200, 3]),
            (["1 200", "1'200", "1\u{A0}200"], ";", [1200, 1200, 1200]), (["1,200", "250.0"], ",", [1200, 250]),
            (["249.500"], ",", [250]), (["12.34.567"], ";", nil), (["1.200"], ";", nil), (["1,200"], ";", nil),
            (["1,200"], ",", nil), (["0,5", "2.5"], ";", nil), (["1 20"], ";", nil),
            (["0.250", "1,200"], ";", [0, 1200]),
        ] as [([String], String, [Int]?)])
    func `the decimal separator is determined once per file`(values: [String], separator: String, ml: [Int]?) {
        let file = Self.csv(values, separator)
        if let ml {
            #expect((try? Self.read(file).amounts.sorted()) == ml.sorted())
        } else {
            #expect { try Self.read(file) } throws: { ($0 as? HealthFileError)?.line != nil }
        }
    }

    // MARK: archives

    /// - Parameter isStreamed: sizes and checksum follow the data, as in a phone's archive.
    static func zip(_ members: [(String, [UInt8])], isStreamed: Bool, method: String = "ZIP_DEFLATED") async throws
        -> [UInt8]
    {
        let folder = try TemporaryFolder()
        for (index, member) in members.enumerated() { try Data(member.1).write(to: folder.url("\(index)")) }
        let script = """
            import io, sys, zipfile
            class Pipe(io.RawIOBase):
                def writable(self): return True
                def write(self, b): sys.stdout.buffer.write(b); return len(b)
            out = Pipe() if \(isStreamed ? "True" : "False") else io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.\(method)) as z:
                for i, name in enumerate(sys.argv[1:]): z.write(str(i), name)
            if isinstance(out, io.BytesIO): sys.stdout.buffer.write(out.getvalue())
            """
        let python = try #require(Program(system: "python3"))
        let result = try await python.run(["-c", script] + members.map(\.0), directory: folder.path)
        try #require(result.exitCode == 0, "\(result.error)")
        return result.outputBytes
    }

    static let clinical = Array("<?xml version=\"1.0\"?>\n<ClinicalDocument xmlns=\"urn:hl7-org:v3\"/>\n".utf8)

    @Test(
        arguments: ["apple_health_export/export.xml", "apple_health_export/Exportación.xml", "导出.xml"], [true, false])
    func `the export in a phone's archive is found under any name`(name: String, isStreamed: Bool) async throws {
        let export = Self.export(Array((0..<3000).map { Self.water("\($0 % 500 + 1)") }.joined().utf8))
        let members = [
            ("apple_health_export/export_cda.xml", Self.clinical), ("a.gpx", Array("<gpx/>".utf8)), (name, export),
            ("b.csv", [1]),
        ]
        for method in isStreamed ? ["ZIP_DEFLATED"] : ["ZIP_DEFLATED", "ZIP_STORED"] {
            let file = try await Self.zip(members, isStreamed: isStreamed, method: method)
            for pieces in [Int.max, 1000, 3] {
                #expect(try Self.read(file, pieces: pieces).amounts.count == 3000)
            }
            for cut in [3, 100, file.count / 2] {
                #expect(throws: HealthFileError.self) { try Self.read(Array(file[..<cut])) }
            }
            var damaged = file
            damaged[file.count / 2] ^= 0x10
            #expect(throws: HealthFileError.self) { try Self.read(damaged) }
        }
    }

    @Test func `an archive without an export is rejected`() async throws {
        let file = try await Self.zip([("export.xml", Self.clinical)], isStreamed: true)
        #expect { try Self.read(file) } throws: { "\($0)".contains("contains no Apple Health export") }
    }
}
