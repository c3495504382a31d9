import WebServer
import Testing

/// A part of a path is read byte by byte, and as it is meant.
@Suite struct PathPartTests {
    @Test(
        arguments: [
            ("anna", "anna"), ("a%20b", "a b"), ("%C3%A9", "é"), ("a%2541", "a%41"), ("", ""), ("+", "+"), ("%2F", "/"),
            ("%00", "\0"),
            // One name became another: the mark of byte order was taken away.
            ("%EF%BB%BFanna", "\u{feff}anna"), ("%efanna", nil), ("%", nil), ("%4", nil), ("%4g", nil), ("%+1", nil),
            ("%C3", nil), ("%ED%A0%80", nil),
        ] as [(String, String?)]) func `a path segment is decoded`(part: String, name: String?)
    {
        #expect(PathPart.decoded(part).map { Array($0.utf8) } == name.map { Array($0.utf8) })
    }
}
