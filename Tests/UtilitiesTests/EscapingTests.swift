import Support
import Testing
import Utilities

/// Combining characters next to a special character must not hide it.
@Suite struct EscapingTests {
    @Test(arguments: [
        ("a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"), ("", ""), ("plain", "plain"),
        // An Arabic number sign combines with the next character, an accent with the previous one.
        ("\u{600}<form>", "\u{600}&lt;form&gt;"),
        ("<\u{301}b>\u{301}\"\u{308}", "&lt;\u{301}b&gt;\u{301}&quot;\u{308}"), ("&\u{20DD}lt;", "&amp;\u{20DD}lt;"),
        ("&amp;", "&amp;amp;"), ("\r\n", "\r\n"),
    ]) func `markup is escaped`(text: String, escaped: String) {
        #expect(Escaping.markup(text).unicodeScalars.elementsEqual(escaped.unicodeScalars))
    }

    @Test(arguments: [
        ("a.sqlite", "a.sqlite"), ("A4:C1:38:00:00:77", "A4:C1:38:00:00:77"), ("a b", "'a b'"), ("", "''"),
        ("it's", #"'it'\''s'"#), ("é", "'é'"), ("$HOME", "'$HOME'"),
    ])
    func `a shell word is quoted unless each byte is plain`(text: String, word: String) {
        #expect(Escaping.shellWord(text) == word)
    }

    @Test func `text replacements are applied in order`() {
        #expect(Escaping.replacing("a\r\nb\n", ["\n": " "]).utf8.elementsEqual("a\r b ".utf8))
        #expect(
            Escaping.replacing("\\\"\u{301}", ["\\": "\\\\", "\"": "\\\""]).utf8.elementsEqual("\\\\\\\"\u{301}".utf8))
        #expect(
            Escaping.replacing("%{a", ["%{": "%%{"]) == "%%{a"
                && Escaping.replacing("%{\u{301}a", ["%{": "%%{"]).utf8.elementsEqual("%%{\u{301}a".utf8))
    }

    @Test func `a special character is escaped next to any combining mark`() {
        let seed = UInt64.random(in: 0...(.max))
        var random = SeededGenerator(seed: seed)
        let beside: [Unicode.Scalar] = [
            "<", ">", "\"", "&", "a", "\u{600}", "\u{301}", "\u{200D}", "\u{FE0F}", "\u{1F1E6}", "\r", "\n", "\u{1100}",
            "\u{1161}", "\u{110BD}",
        ]
        for _ in 0..<2000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                text.append(beside[Int.random(in: beside.indices, using: &random)])
            }
            let shown = Escaping.markup(String(text)).unicodeScalars
            #expect(!shown.contains { "<>\"".unicodeScalars.contains($0) }, "seed \(seed)")
            #expect(
                shown.filter { $0 == "&" }.count == text.filter { "<>\"&".unicodeScalars.contains($0) }.count,
                "seed \(seed)")
        }
    }
}
