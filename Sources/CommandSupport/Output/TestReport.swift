import Foundation
import Utilities

/// A test report as JUnit XML and as Test Anything Protocol, version 13.
package struct TestReport: Sendable {
    package struct Case: Sendable {
        package var name: String
        package var seconds: Double
        package var failures: [String]

        package init(name: String, seconds: Double, failures: [String]) {
            (self.name, self.seconds, self.failures) = (name, seconds, failures)
        }
    }

    /// The name of the suite: `waterh-replay verify`.
    package var suite: String
    package var cases: [Case] = []

    package init(suite: String) { self.suite = suite }

    /// The report as JUnit XML. Characters that XML cannot represent become U+FFFD.
    package var junit: String {
        func time(_ seconds: Double) -> String { String(format: "%.3f", seconds) }
        let suite = Self.attribute(suite)
        let tests = cases.map { each in
            let test = """
                  <testcase classname="\(suite)" name="\(Self.attribute(each.name))" time="\(time(each.seconds))"
                """
            guard let first = each.failures.first else { return test + "/>" }
            let text = Self.xml(each.failures.joined(separator: "\n"))
            return """
                \(test)>
                    <failure message="\(Self.attribute(first))">\(text)</failure>
                  </testcase>
                """
        }
        let failures = cases.count { !$0.failures.isEmpty }
        let total = time(cases.reduce(0) { $0 + $1.seconds })
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuite name="\(suite)" tests="\(cases.count)" failures="\(failures)" time="\(total)">
            \(tests.map { $0 + "\n" }.joined())</testsuite>

            """
    }

    /// The report as TAP: the plan, then one line per case with its failures as comments.
    package var tap: String {
        let lines = cases.enumerated().flatMap { number, each in
            ["\(each.failures.isEmpty ? "ok" : "not ok") \(number + 1) - \(Self.line(each.name))"]
                + each.failures.map { "# " + Self.line($0) }
        }
        return (["TAP version 13", "1..\(cases.count)"] + lines).joined(separator: "\n") + "\n"
    }

    /// Escapes `#`, line breaks and other control characters.
    private static func line(_ text: String) -> String {
        let text = replacing(String(text.map { $0.isNewline ? " " : $0 })) { $0 < 32 || (127..<160).contains($0) }
        return Escaping.replacing(text, ["\\": "\\\\", "#": "\\#"])
    }

    private static func attribute(_ text: String) -> String { Escaping.replacing(xml(text), ["\n": "&#10;"]) }

    private static func xml(_ text: String) -> String {
        Escaping.markup(replacing(text) { $0 < 0x20 && $0 != 9 && $0 != 10 || $0 & 0xFFFE == 0xFFFE })
    }

    /// Replaces Unicode scalars by U+FFFD.
    private static func replacing(_ text: String, _ isInvalid: (UInt32) -> Bool) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isInvalid($0.value) ? "\u{FFFD}" : $0 }))
    }
}
