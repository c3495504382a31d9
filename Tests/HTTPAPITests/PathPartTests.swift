import WebServer
import Testing

/// Percent-decoding of path segments is byte-exact.
@Suite struct PathPartTests {
    @Test(
        arguments: [
            ("anna", "anna"), ("a%20b", "a b"), ("%C3%A9", "é"), ("a%2541", "a%41"), ("", ""), ("+", "+"), ("%2F", "/"),
            ("%00", "\0"),
            // The byte order mark is part of the name.
            ("%EF%BB%BFanna", "\u{feff}anna"), ("%efanna", nil), ("%", nil), ("%4", nil), ("%4g", nil), ("%+1", nil),
            ("%C3", nil), ("%ED%A0%80", nil),
        ] as [(String, String?)]) func `a path segment is decoded`(part: String, name: String?)
    {
        #expect(PathPart.decoded(part).map { Array($0.utf8) } == name.map { Array($0.utf8) })
    }
}
