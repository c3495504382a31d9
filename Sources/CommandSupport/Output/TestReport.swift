import Utilities
import Foundation

/// A test report as JUnit XML and as Test Anything Protocol, version 13.
package struct TestReport: Sendable {
    package struct Case: Sendable {
        package var name: String
        package var seconds: Double
        package var failures: [String]

        package init(name: String, seconds: Double, failures: [String]) {
            self.name = name
            self.seconds = seconds
            self.failures = failures
        }
    }

    /// The name of the suite: `waterh-replay verify`.
    package var suite: String
    package var cases: [Case] = []

    package init(suite: String) {
        self.suite = suite
    }

    /// The report as JUnit XML. Characters that XML cannot represent become U+FFFD.
    package var junit: String {
        let suite = Self.attribute(suite)
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text +=
            """
            <testsuite name=\"\(suite)\" tests=\"\(cases.count)\" \
            failures=\"\(cases.count { !$0.failures.isEmpty })\" \
            time=\"\(Self.time(cases.reduce(0) { $0 + $1.seconds }))\">\n
            """
        for each in cases {
            text +=
                """
                  <testcase classname=\"\(suite)\" name=\"\(Self.attribute(each.name))\" \
                time=\"\(Self.time(each.seconds))\"
                """
            guard let first = each.failures.first else {
                text += "/>\n"
                continue
            }
            text +=
                """
                >\n    <failure \
                message=\"\(Self.attribute(first))\">\
                \(Self.escaped(each.failures.joined(separator: "\n")))</failure>\n  \
                </testcase>\n
                """
        }
        return text + "</testsuite>\n"
    }

    /// The report as TAP: the plan, then one line per case with its failures as comments.
    package var tap: String {
        var lines = ["TAP version 13", "1..\(cases.count)"]
        for (number, each) in cases.enumerated() {
            lines.append("\(each.failures.isEmpty ? "ok" : "not ok") \(number + 1) - \(Self.line(each.name))")
            lines += each.failures.map { "# " + Self.line($0) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func time(_ seconds: Double) -> String { String(format: "%.3f", seconds) }

    /// Escapes `#`, line breaks and other control characters.
    private static func line(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in String(text.map { $0.isNewline ? " " : $0 }).unicodeScalars {
            shown.append(scalar.value < 32 || (127..<160).contains(scalar.value) ? "\u{FFFD}" : scalar)
        }
        return Escaping.replacing(String(shown), ["\\": "\\\\", "#": "\\#"])
    }

    private static func attribute(_ text: String) -> String {
        Escaping.replacing(escaped(text), ["\"": "&quot;", "\n": "&#10;"])
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\t", "\n": result.unicodeScalars.append(scalar)
            default:
                result.unicodeScalars.append(
                    scalar.value < 0x20 || scalar.value & 0xFFFE == 0xFFFE ? "\u{FFFD}" : scalar)
            }
        }
        return result
    }
}
