import Support
import Testing

@testable import FleetStore

/// Rows of a backup are read as PostgreSQL wrote them.
@Suite struct CopyRowsTests {
    @Test(
        arguments: [
            ("a\tb\n", [["a"], ["b"]]), ("\\N\t\\\\N\n", [[nil], ["\\N"]]), ("\t\n", [[""], [""]]),
            ("a\\tb\\n\\\\\t\\b\\f\\r\\v\\.\n", [["a\tb\n\\"], ["\u{8}\u{c}\r\u{b}."]]),
            ("1\t2\n3\t\\N\n", [["1", "3"], ["2", nil]]), ("", [[], []]), ("\u{feff}x\té\n", [["\u{feff}x"], ["é"]]),
        ] as [(String, [[String?]])]) func linesAreRead(lines: String, columns: [[String?]]) throws
    {
        let read = try CopyRows(Array(lines.utf8), count: 2).columns
        #expect(
            read.map { $0.map { $0.map { Array($0.utf8) } } } == columns.map { $0.map { $0.map { Array($0.utf8) } } })
    }

    @Test(arguments: ["a\n", "a\tb\tc\n", "a\tb\\\n"]) func whatIsNoneIsRefused(lines: String) {
        #expect(throws: CopyRows.Malformed.self) { try CopyRows(Array(lines.utf8), count: 2) }
    }

    /// Whatever texts hold, PostgreSQL's own writing of them is read back; and every cut is read or refused.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed")) func whatPostgreSQLWritesIsReadBack()
        async throws
    {
        let connection = try FleetConnection(try await PostgreSQL.database())
        try connection.script("CREATE TABLE odd (a text, b text)")
        let texts: [String?] = [
            "", "\\", "\\N", "\\.", "\t", "\r\n", "\u{b}\u{8}\u{c}", "\u{feff}", "e\u{301}", nil, "a\\tb", "\u{1F4A7}",
            "\\x41", "\\101",
        ]
        for text in texts { try connection.run("INSERT INTO odd VALUES ($1, $2)", [text, text.map { $0 + "\\" }]) }
        var lines: [UInt8] = []
        try connection.copyOut("COPY odd TO STDOUT") { lines += Array($0) }
        let read = try CopyRows(lines, count: 2).columns
        #expect(
            read[0].map { $0.map { Array($0.utf8) } } == texts.map { $0.map { Array($0.utf8) } }
                && read[1].map { $0.map { Array($0.utf8) } } == texts.map { $0.map { Array(($0 + "\\").utf8) } })
        for cut in lines.indices { _ = try? CopyRows(Array(lines[..<cut]), count: 2) }
    }
}
