import Foundation
import Testing
import TrackerCore

@testable import TrackerService

/// Files that spreadsheets, editors and exporters changed, and the errors for unreadable ones.
@Suite struct FormatTests {
    static let row = "2026-11-20 10:00:00 +0100,2026-11-20 10:00:00 +0100,200,a1"
    static let csv = "startDate,endDate,value_ml,uuid\n" + row + "\n"
    static let sample = HealthSample(at: Instant(seconds: 1_763_629_200 + 365 * 86_400), ml: 200, uuid: "a1")

    @Test(arguments: [
        csv, String(csv.dropLast()), "\u{FEFF}" + csv, csv.replacing("\n", with: "\r\n"), csv.replacing(",", with: ";"),
        csv.replacing(",", with: "\t"), "\n\n" + csv + "\n\n",
        "\"startDate\",\"value_ml\",\"uuid\"\n\"2026-11-20 10:00:00 +0100\",\"200\",\"a1\"",
        csv.replacing(",200,", with: ",200.0,"), csv.replacing(",", with: ";").replacing(";200;", with: ";199,6;"),
        csv.replacing("startDate", with: "STARTDATE"), "value_ml,uuid,startDate\n2e2,a1,2026-11-20T09:00:00Z",
        """
        {\"x\": [1, {\"drinks\": []}], \"drinks\": [{\"startDate\": \"2026-11-20T09:00Z\", \"value_ml\": 200, \
        \"uuid\": \"a1\"}], \"y\": \"]\"}
        """,
    ])
    func `a CSV sample is read with other separators, quotes and encodings`(text: String) throws {
        #expect(try HealthReader.samples(text) == [Self.sample], "\(text.debugDescription)")
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian] {
            let bytes = Array(try #require(text.replacing("\u{FEFF}", with: "").data(using: encoding)))
            #expect(try HealthReader.samples(bytes) == [Self.sample], "\(encoding): \(text.debugDescription)")
        }
    }

    @Test(arguments: [
        ("[{\"startDate\": \"2026-11-20T09:00Z\", \"value_ml\": true}]", "value_ml is not a number"),
        ("[{\"startDate\": \"2026-11-20T09:00Z\", \"value_ml\": \"200\"}]", "Entry 1"),
        ("[{\"startDate\": 5, \"value_ml\": 1}]", "startDate is not a text"),
        ("[{\"value_ml\": 1}]", "no startDate"), ("[1]", "Entry 1"),
        ("[,]", "JSON"),
        ("{\"drinks\": {}}", "must be a list"),
        ("[{\"startDate\": \"2026-11-20T09:00Z\", \"value_ml\": 1}", "JSON is incomplete"),
        ("[] []", "JSON is incomplete"),
        ("[}", "JSON is incomplete"), ("[{\"a\": nul}]", "JSON is incomplete"),
        ("[{\"startDate\": \"2026-11-20T09:00Z\", \"value_ml\": 1, \"zone\": \"Mars/Olympus\"}]", "Mars/Olympus"),
        (
            "[{\"startDate\": \"2026-11-20T09:00Z\", \"value_ml\": 1, \"zone\": \"UTC\", \"day\": \"2026-11-25\"}]",
            "is not the day"
        ),
        (csv.replacing("200", with: "0x10"), "\"0x10\" is not an amount"), (csv.replacing("200", with: "nan"), "nan"),
        (csv.replacing("200", with: "-1"), "-1"),
        (csv.replacing("200", with: "inf"), "inf"), (csv.replacing("200", with: ""), "\"\" is not"),
        (csv.replacing("200", with: "1,5"), "columns"),
        (csv.replacing("+0100,", with: ","), "Line 2"), (csv + "2026-11-20 10:00:00 +0100,2026", "Line 3"),
        (csv + "\"", "does not end"),
        ("PK\u{3}\u{4}and so on", "ZIP archive is truncated"), ("\u{1F}\u{8B}", "not a health file"),
        ("SQLite format 3\0....", "a database"), ("Dear diary", "not a health file"), ("", "empty"),
        ("a1,b2\n1,2\n", "not a health file"), ("<HealthData>", "truncated or not XML"),
        ("<!DOCTYPE HealthData [ <!ENTITY a \"b\">", "no HealthData element"),
        ("<!DOCTYPE HealthData [ <!ENTITY a \"b\"> ]><HealthData>&a;</HealthData>", "not XML"),
        // Files of other kinds.
        ("\u{0}\u{1}PNG", "UTF-16 is not valid"), ("{\"a\": 1}", "must be a list"),
        ("[{\"startDate\": \"x\"}]", "no value_ml"), ("startDate,endDate\n1,2\n", "not a health file"),
        ("<html></html>", "no HealthData element"), ("</HealthData>", "no HealthData element"),
        ("<HealthData></HealthData><HealthData></HealthData>", "not XML"),
        ("<HealthData><a></b></HealthData>", "not XML"),
        // Impossible times and amounts, and a row after quoted line breaks.
        (csv.replacing("2026", with: "0000"), "Line 2: invalid time"),
        (csv.replacing("2026", with: "9999"), "Line 2: invalid time"),
        (csv.replacing("-11-", with: "-13-"), "Line 2: \"2026-13-20 10:00:00 +0100\" is not a date"),
        ("<HealthData>\(ForeignExportTests.water("1e30"))</HealthData>", "not an amount"),
        (
            "startDate,value_ml,note\n2026-11-20 10:00:00 +0100,200,\"a\n\n2\"\n2026-11-20 10:00:00 +0100,x,b\n",
            "Line 5"
        ),
    ])
    func `an invalid file is rejected with its line`(text: String, words: String) {
        #expect { try HealthReader.samples(text) } throws: { error in
            let said = (error as? HealthFileError)?.description ?? ""
            return said.contains(words)
        }
    }

    /// Apple's document type has not been well-formed since iOS 16; it is skipped, and its lines count.
    @Test func `a broken document type is skipped`() throws {
        let head =
            """
            <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE HealthData [\n<!-- HealthKit Export Version: 12 \
            -->\n<!ELEMENT HealthData (Record*)>\n<!ATTLIST Record\n  device CDATA #IMPLIED\n<!ATTLIST Record\n>\n\
            ]>\n
            """
        let record = ForeignExportTests.water("0.2", unit: "L", source: "Cup &amp; Co &#8217;")
        let samples = try HealthReader.samples(head + "<HealthData locale=\"de_DE\">\n" + record + "</HealthData>\n")
        #expect(samples.map(\.ml) == [200] && samples.first?.sourceName == "Cup & Co ’")
        #expect {
            try HealthReader.samples(head + "<HealthData>\n" + record.replacing("0.2", with: "x") + "</HealthData>")
        } throws: {
            ($0 as? HealthFileError)?.line == 11
        }
    }

    @Test(arguments: [1, 7, 4096]) func `a comment before the root can contain its name`(size: Int) throws {
        let text = """
            <?xml version="1.0"?>
            <!-->a <HealthData> of another program -->
            <!----><!--<HealthData/>-->
            <HealthData>\(ForeignExportTests.water("200"))</HealthData>
            """
        #expect(try HealthReader.read(Array(text.utf8), pieces: size).samples.map(\.ml) == [200])
    }

    /// A key from an imported file must not become a formula in our CSV.
    @Test(arguments: [
        "=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "'=1", "''@x", "'plain", "=a,\"b\";c", "plain", "1+1",
    ])
    func `a key that looks like a formula survives CSV`(key: String) throws {
        let at = try #require(Instant(iso: "2026-06-02T03:30:00Z"))
        let drink = Drink(key: key, at: at, calendar: DayCalendar(zone: .utc), ml: 100, source: .health, updatedAt: at)
        let csv = HealthExport.text(.csv, [drink])
        let cell = try #require(csv.split(separator: "\n").last?.split(separator: ",", maxSplits: 3).last)
        #expect(!"=+-@".contains(cell.drop { $0 == "\"" }.first ?? " "), "\(cell)")
        // Numbers and dates remain.
        #expect(csv.contains("\n2026-06-02 03:30:00 +0000,2026-06-02 03:30:00 +0000,100,"))
        #expect(try HealthReader.samples(csv).first?.importKey == key)
        var bytes: [UInt8] = []
        let change = DrinkLine(position: 1, change: .corrected, drink: drink, number: 1, original: key)
        DrinkLineFormat.csv.append(change, to: &bytes)
        let line = String(decoding: bytes, as: UTF8.self)
        #expect(line.hasPrefix("1,corrected,2026-06-02T03:30:00+00:00,100,"))
        for sign in "=+-@" { #expect(!line.contains(",\(sign)") && !line.contains(",\"\(sign)"), "\(line)") }
    }

    /// XML cannot contain U+FFFE: the key must survive a round trip, or the drink would count twice.
    @Test(
        arguments: [HealthFiles.Format.appleHealth, .csv, .json],
        [[0xEF, 0xBF, 0xBE], [0x25, 0xEF, 0xBF, 0xBF, 0xC3, 0xA4], [0x26, 0x3C, 0x22], [0xEF, 0xBF, 0xBD]])
    func `a key that XML cannot represent survives`(format: HealthFiles.Format, bytes: [UInt8]) throws {
        let at = try #require(Instant(iso: "2026-06-02T03:30:00Z"))
        let drinks = ["a" + String(decoding: bytes, as: UTF8.self) + "|1", "plain"].map {
            Drink(key: $0, at: at, calendar: DayCalendar(zone: .utc), ml: 100, source: .health, updatedAt: at)
        }
        let text = HealthExport.text(format, drinks)
        // Swift compares canonically equivalent strings as equal.
        #expect(
            try HealthReader.samples(text).map { Array($0.importKey.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
                == drinks.map { Array($0.key.utf8) }, "\(text)")
        #expect(
            text.contains(HealthFiles.escapedKey)
                == (format == .appleHealth && bytes.contains(0xEF) && bytes != [0xEF, 0xBF, 0xBD]))
    }

    @Test(
        arguments: ["%", "%4", "%zz", "a b", "%41", "%ef%bf%be", "%FF", "ä", "%00"],
        [HealthFiles.escapedKey, HealthFiles.originalKey])
    func `an invalid escaped key is reported`(value: String, name: String) {
        let record =
            """
             <Record type=\"HKQuantityTypeIdentifierDietaryWater\" unit=\"mL\" value=\"200\" \
            startDate=\"2026-11-20 10:00:00 +0100\"><MetadataEntry key=\"\(name)\" value=\"\(value)\"/></Record>\n
            """
        #expect(throws: HealthFileError.self) { try HealthReader.samples("<HealthData>\n\(record)</HealthData>\n") }
    }

    @Test(arguments: ["\tx", "\rx", "\nx", "'\tx"])
    func `a key that begins with white space is exported as text`(key: String) {
        #expect(
            SpreadsheetCell.escaped(key) == "'" + key && SpreadsheetCell.unescaped(SpreadsheetCell.escaped(key)) == key)
    }

    @Test func `the source name of another program is kept`() throws {
        let csv =
            "startDate,value_ml,source\n2026-11-20 10:00:00 +0100,200,'=evil\n2026-11-20 10:00:00 +0100,200,'n Becher\n"
        #expect(try HealthReader.samples(csv).map(\.sourceName) == ["=evil", "'n Becher"])
    }

    @Test func `a JSON export keeps zone, day and source`() throws {
        let zone = try Zone("America/New_York")
        let at = try #require(Instant(iso: "2026-06-02T03:30:00Z"))
        let drink = Drink(
            key: "k \"1\"", at: at, calendar: DayCalendar(zone: zone), ml: 100, source: .bottle, updatedAt: at)
        let sample = try #require(try HealthReader.samples(HealthExport.text(.json, [drink])).first)
        #expect(
            sample.zone == "America/New_York" && sample.day == LocalDay("2026-06-01") && sample.source == .bottle
                && sample.importKey == drink.key)
    }

    /// The result does not depend on the number of entries.
    @Test(
        arguments: [
            (
                """
                {\"startDate\": \"2026-11-20T10:00:00+01:00\", \"endDate\": \"2026-11-20T10:00:00+01:00\", \
                \"value_ml\": 200, \"uuid\": \"a1\"}
                """,
                200
            ),
            ("{\"startDate\":\"2026-11-20T09:00:00Z\",\"value_ml\":200.0,\"uuid\":\"a1\"}", 200),
            ("{\"value_ml\":2e2,\"startDate\":\"2026-11-20T09:00Z\",\"uuid\":\"a\\u0031\"}", 200),
            (
                """
                {\"startDate\":\"2026-11-20T10:00:00+01:00\",\"value_ml\":200,\"uuid\":\"a1\",\
                \"more\":{\"uuid\":[\"}\"]},\"none\":null}
                """,
                200
            ),
            ("{\"startDate\":\"2026-11-20T10:00:00+01:00\",\"value_ml\":0200}", nil),
            ("{\"startDate\":\"2026-11-20T10:00:00+01:00\" \"value_ml\":200}", nil),
            ("{\"startDate\":\"2026-11-20T10:00:00+01:00\",\"value_ml\":200}}", nil),
            ("{\"startDate\":\"2026-11-20T10:00:00+01:00\",\"uuid\":\"a\u{1}\",\"value_ml\":200}", nil),
            ("{\"startDate\":\"2026-11-20T10:00:00+19:00\",\"value_ml\":200}", nil),
            ("{\"startDate\":\"2026-11-20T10:00:00+01:00\",\"value_ml\":20 0,\"uuid\":\"a1\"}", nil),
            ("{ \"startDate\" : \"2026-11-20T10:00:00+01:00\",\n\t\"value_ml\" :200 ,\r\"uuid\":\"a1\" }", 200),
            ("{\"startDate\":\"2026-11-20T10:00:00+01:00\",\"value_ml\":200,\"uuid\":\"a1\",\"value_ml\":200}", 200),
            ("{\"startDate\":\"2026-11-20T10:00:60+01:00\",\"value_ml\":200}", nil),
            ("{\"startDate\":\"2026-02-30T10:00:00+01:00\",\"value_ml\":200}", nil),
        ] as [(String, Int?)]) func `a JSON entry gives the same result alone and in a list`(entry: String, ml: Int?)
        throws
    {
        for times in 1...3 {
            let found = try? HealthReader.samples(
                "[" + repeatElement(entry, count: times).joined(separator: " , ") + "]")
            #expect(
                found
                    == ml.map { Array(repeating: HealthSample(at: Self.sample.at, ml: $0, uuid: "a1"), count: times) },
                "\(String(describing: found))")
        }
    }

    @Test(arguments: [
        """
        \"startDate\",value_ml,\"uuid\",note\r\n2026-11-20 10:00:00 +0100,200,\"a\"\"1\",\"two\nlines, \
        \"\"quoted\"\"\"\r\n\r\n2026-11-20 10:00:00 +0100,1,\"ä\",\n
        """,
        """
        [{\"startDate\": \"2026-11-20T10:00:00+01:00\", \"value_ml\": 200, \"uuid\": \"a\\\"1\", \"note\": \
        \"[{,\\\\\"}, {\"value_ml\": 1, \"startDate\": \"2026-11-20T10:00:00+01:00\", \"uuid\": \"ä\"}]
        """,
    ]) func `the result does not depend on the chunk size`(text: String) throws {
        let bytes = Array(text.utf8)
        for size in 1...bytes.count {
            let samples = try HealthReader.read(bytes, pieces: size).samples
            #expect(samples.map(\.ml) == [200, 1] && samples.map(\.uuid) == ["a\"1", "ä"], "\(size)")
        }
    }
}
