import Foundation
import Synchronization

/// Redacts addresses, names, credentials and amounts. Equal values get equal replacements.
///
/// The order of replacement: known names and credentials, advertised names, links, e-mail addresses, Bluetooth
/// addresses, bytes, IP addresses, home directories, amounts, and long words that can be credentials.
package final class Redactor: Sendable {
    private let known: [(text: String, pseudonym: String)]
    private let numbers = Mutex<[String: [String: Int]]>([:])

    /// - Parameters:
    ///   - names: the names of people, bottles, machines and topics. A single digit or lower-case letter is ignored.
    ///   - secrets: credentials.
    package init(names: some Sequence<String>, secrets: some Sequence<String>) {
        var known: [(String, String)] = []
        for secret in Set(secrets) where secret.count > 1 { known.append((secret, "SECRET")) }
        for (number, name) in Set(names).sorted().enumerated() where Self.isRedacted(name) {
            known.append((name, "NAME-\(number + 1)"))
        }
        // In a log, a name can be quoted and escaped.
        known += known.compactMap { text, pseudonym in
            let quoted = String(
                String.UnicodeScalarView(text.unicodeScalars.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }))
            return quoted == text ? nil : (quoted, pseudonym)
        }
        // Longer texts first, because they can contain others.
        self.known = known.sorted { $0.0.count > $1.0.count }.map { (text: $0.0, pseudonym: $0.1) }
    }

    private static func isRedacted(_ name: String) -> Bool {
        name.count > 1 || name.contains { !$0.isASCII || $0.isUppercase }
    }

    package func text(_ text: String) -> String {
        var text = text
        for (name, pseudonym) in known { text = Self.replacing(name, in: text, with: pseudonym) }
        // The name of a field shows that its value is a credential.
        text.replace(
            /\b([a-z_.-]*(?:passw(?:or)?d|token|secret|credential|api_?key)["']?\s*[:=]\s*["']?)([^\s"',;(][^\s"',;]*)/
                .ignoresCase()
        ) { "\($0.1)SECRET" }
        text.replace(/\b(Bearer|Basic)(\s+)[^\s"',;]+/) { "\($0.1)\($0.2)SECRET" }
        text.replace(/\b(?:wt|wht|wf|whsec|tk)_[A-Za-z0-9_+=-]+/) { _ in "SECRET" }
        // A rejected value can be an address that contains a credential.
        text.replace(/(cannot be ")[^\n]*?("(?=[:.,;] |$|\\"))/) { "\($0.1)…\($0.2)" }
        text.replace(/(\binvalid [A-Za-z]+\.[A-Za-z.]+ ')[^\n]*?('(?=[:.,;] |$))/) { "\($0.1)…\($0.2)" }
        text.replace(/(connected with \S+ at )([^\s,;]+)/) { "\($0.1)\(self.pseudonym("PREFIX", String($0.2)))" }
        text.replace(/(connected with [^\n]*?, as )([^\s,;.]+)/) { "\($0.1)\(self.pseudonym("USER", String($0.2)))" }
        text.replace(/\b(esphome:)([^\s:,;"')\]]+)/) { "\($0.1)\(self.pseudonym("HOST", String($0.2)))" }
        // A list of advertised names, which can contain any character except a line break, up to the last bracket.
        text.replace(/(devices found: )(?:[^\n]*(?=\))|[^\n]*)/) { "\($0.1)…" }
        // An advertised name follows this text.
        text.replace(/(a bottle(?: that [^:\n]*)? is in range: )([^\n]+)/) {
            "\($0.1)\(self.pseudonym("BOTTLE", String($0.2)))"
        }
        // An advertised name before an address with a signal strength, or before the owner of the bottle.
        text.replace(
            /([:;] )([^:;\n]{1,64}?)(?= (?:[0-9A-F]{2}:){5}[0-9A-F]{2}, -?\d+ dBm| \([0-9A-F:]{17}\) belongs to)/
        ) {
            "\($0.1)\(self.pseudonym("BOTTLE", String($0.2)))"
        }
        // A sentence that starts with an advertised name.
        text.replace(
            /(?m)(^|[:;.] )([^:;.\n()]{1,64}?)(?= \([0-9A-Fa-f:_-]{17}\)(?:,| is (?:here|in range))| is here and hides)/
        ) {
            "\($0.1)\(self.pseudonym("BOTTLE", String($0.2)))"
        }
        text.replace(/(?:WaterH|WATERH)-[^\s,;()"']+/) { self.pseudonym("BOTTLE", String($0.0)) }
        text.replace(/([A-Za-z][A-Za-z0-9+.-]*):\/\/[^\s"'<>]+/) { "\($0.1)://\(self.pseudonym("HOST", String($0.0)))" }
        text.replace(/[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+/) { self.pseudonym("MAIL", String($0.0)) }
        text.replace(/\b(?:[0-9A-Fa-f]{2}[:_-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f])/.wordBoundaryKind(.simple)) {
            self.pseudonym("ADDRESS", String($0.0.uppercased().filter(\.isHexDigit)))
        }
        text.replace(/\b[0-9A-Fa-f]{12}\b/.wordBoundaryKind(.simple)) { self.pseudonym("ADDRESS", $0.0.uppercased()) }
        text.replace(/\b(?:[0-9A-Fa-f]{2} ){4,}[0-9A-Fa-f]{2}\b/) { "\(($0.0.count + 1) / 3) BYTES" }
        text.replace(/\b(?:\d{1,3}\.){3}\d{1,3}\b/) {
            $0.0.hasPrefix("127.") || $0.0 == "0.0.0.0" ? String($0.0) : self.pseudonym("HOST", String($0.0))
        }
        text.replace(
            /\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4})*::[0-9A-Fa-f:]*|\b(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}\b/
        ) { self.pseudonym("HOST", $0.0.lowercased()) }
        text.replace(/\/home\/[^\/\s"']+|\/root\b/) { _ in "/home/USER" }
        text.replace(
            /\b(\d+(?:[.,]\d+)*)(\s?)(ml|cl|dl|l|oz|fl oz|(?:milli|centi|deci)?lit(?:re|er)s?|(?:fluid )?ounces?)\b/
                .ignoresCase()
        ) { "#\($0.2)\($0.3)" }
        // A percentage of the goal reveals the amount.
        text.replace(/(# ?(?:ml|mL|cl|dl|l|L|oz|fl oz)\s?[(,:]\s?)\d+(?:[.,]\d+)*(?=\s?%)/) { "\($0.1)#" }
        text.replace(
            /([A-Za-z]*(?:Ml|Oz|ml|oz|Liters?|[Tt]otal|[Gg]oal|[Aa]mount))(["']?\s*[:= ]\s*["']?)\d+(?:[.,]\d+)*/
        ) { "\($0.1)\($0.2)#" }
        text.replace(/\b[A-Za-z0-9_+=-]{20,}/) { found in
            let word = found.0
            return word.contains(where: \.isNumber) && word.contains(where: \.isLetter) ? "SECRET" : String(word)
        }
        return text
    }

    private func pseudonym(_ kind: String, _ text: String) -> String {
        let number = numbers.withLock { numbers in
            if let known = numbers[kind]?[text] { return known }
            let next = (numbers[kind]?.count ?? 0) + 1
            numbers[kind, default: [:]][text] = next
            return next
        }
        return "\(kind)-\(number)"
    }

    /// Replaces a name without regard to case, but only whole words.
    private static func replacing(_ name: String, in text: String, with pseudonym: String) -> String {
        var result = ""
        var rest = text[...]
        while let found = rest.range(of: name, options: .caseInsensitive) {
            let before = found.lowerBound > text.startIndex ? text[text.index(before: found.lowerBound)] : " "
            let after = found.upperBound < text.endIndex ? text[found.upperBound] : " "
            let isWord = !(before.isLetter || before.isNumber) && !(after.isLetter || after.isNumber)
            result += rest[..<found.lowerBound] + (isWord ? pseudonym : String(rest[found]))
            rest = rest[found.upperBound...]
        }
        return result + rest
    }
}
