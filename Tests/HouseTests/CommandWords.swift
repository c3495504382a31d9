import Foundation

/// Flags, commands of ours and commands of the system, as a text names them.
enum CommandWords {
    /// The first that a text names, or that it puts together from what is only known at run time.
    static func first(in text: String) -> String? {
        guard
            text.contains("-") || text.contains("ctl") || text.contains("/") || text.contains("sudo")
                || text.contains("btmgmt") || text.contains("service ")
        else { return nil }
        return text.firstMatch(of: expression).map {
            String($0.1 ?? $0.0).replacing(String(SwiftLexer.interpolation), with: "…").trimmingCharacters(
                in: .whitespaces)
        }
    }

    /// `--flag`, `-s PATH`, `waterh-gateway`, `systemctl`; but for `<!--`, `--` alone, and a name of ours that only
    /// begins like a command.
    nonisolated(unsafe) private static let expression =
        /(?:^|[^-!])(--(?:[a-z][a-z-]*|\u{FFFC}))|waterh-(?:emulator|fleet|gateway|replay|tracker|\u{FFFC} [a-z])|(?:^|[\s(`'"])-[a-zA-Z] [A-Z]{2,}\b|\b(?:system|bluetooth|timedate|journal|login|host)ctl\b|\bapt(?:-get| install)\b|\bsudo\b|hardware\/bench\b|\bdbus-send\b|\bbtmgmt\b|\bservice [a-z-]+ (?:re)?start\b|\b[Uu]se -[a-zA-Z]\b/

    /// Commands alone, ours with their verb, in a line of a page: styles and scripts have dashes of their own.
    static func commands(in line: String) -> [String] {
        guard
            line.contains("waterh-") || line.contains("ctl") || line.contains("apt") || line.contains("sudo")
                || line.contains("hardware/")
        else { return [] }
        return line.matches(
            of:
                /\bwaterh-(?:emulator|fleet|gateway|replay|tracker)(?: [a-z]+)?|\bwaterh-\$\{|\b(?:system|bluetooth|timedate|journal|login|host)ctl\b|\bapt(?:-get| install)\b|\bsudo\b|\bhardware\/bench\b/
        )
        .map { String($0.output) }
    }
}
