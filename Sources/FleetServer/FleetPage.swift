import Escaping
import FleetStore
import FleetWire
import TrackerCore

/// The overview as a page that needs nothing but itself.
enum FleetPage {
    static func html(_ overview: FleetOverview) -> String {
        let people = overview.people.map {
            [
                $0.name, $0.day, "\($0.todayMl)", "\($0.drinks)",
                $0.lastDrinkSecondsAgo.map(ago) ?? "days ago, if ever", $0.doubts > 0 ? "\($0.doubts)" : "",
            ]
        }
        return page(
            "Fleet",
            """
            \(overview.isBehind ? behind : "")
            \(overview.isCut ? "<p>There are more than are shown here.</p>" : "")
            <h2>People, who drank least first</h2>
            \(table(["Person", "Day", "ml", "Drinks", "Last drink", "In doubt"], people, numbers: [2, 3, 5], linked: true))
            <h2>Gateways, who is silent longest first</h2>
            \(table(["Gateway", "Seen", "Entries", "Set aside", "May not tell of"], overview.gateways.map { [$0.name + ($0.isRevoked ? " (revoked)" : ""), ago($0.seenSecondsAgo), "\($0.entries)", "\($0.poisoned)", $0.wants ?? ""] }, numbers: [2, 3]))
            <h2>Bottles</h2>
            \(table(["Bottle", "Person", "Gateway", "Told"], overview.bottles.map { [$0.name, $0.person, $0.gateway ?? "", ago($0.toldSecondsAgo)] }, numbers: []))
            """)
    }

    /// A person's days, drinks and doubts, to look at.
    static func html(_ person: FleetPerson) -> String {
        page(
            person.name,
            """
            <p><a href="/">All people</a></p>
            \(person.isBehind ? behind : "")
            <h2>Days</h2>
            \(table(["Day", "ml", "Drinks"], person.days.map { ["\($0.day)", "\($0.ml)", "\($0.drinks)"] }, numbers: [1, 2]))
            <h2>Last drinks</h2>
            \(table(["When", "ml", "Bottle"], person.drinks.map { ["\(zone($0.zone).wall(at: $0.at)) \($0.zone)", "\($0.ml)", $0.bottle ?? ""] }, numbers: [1]))
            <h2>In doubt, counted nowhere</h2>
            \(table(["Bottle", "Its clock", "ml", "Why"], person.doubts.map { [$0.bottle, $0.wall ?? "no date", "\($0.ml)", $0.reason] }, numbers: [2]))
            """)
    }

    private static let behind =
        """
        <p>What was told last is not in these figures yet: it is still being added up, or the database may only be \
        read.</p>
        """

    private static func zone(_ id: String) -> Zone { (try? Zone(id)) ?? .utc }

    private static func page(_ title: String, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta \
        http-equiv="refresh" content="60"><title>\(Escaping.markup(title))</title>
        <style>body{font:16px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:60rem;padding:0 \
        1rem}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem .6rem;border-bottom:1px \
        solid #ccc}td.n{text-align:right}</style>
        <h1>\(Escaping.markup(title))</h1>
        \(body)
        </html>

        """
    }

    private static func table(_ heads: [String], _ rows: [[String]], numbers: Set<Int>, linked: Bool = false) -> String
    {
        guard !rows.isEmpty else { return "<p>None.</p>" }
        let head = heads.map { "<th>\($0)</th>" }.joined()
        let body = rows.map { row in
            "<tr>"
                + row.enumerated().map { column, text in
                    let cell =
                        linked && column == 0
                        ? "<a href=\"/people/\(inAddress(text))\">\(Escaping.markup(text))</a>" : Escaping.markup(text)
                    return "<td\(numbers.contains(column) ? " class=\"n\"" : "")>\(cell)</td>"
                }.joined() + "</tr>"
        }
        return "<table><tr>\(head)</tr>\n\(body.joined(separator: "\n"))\n</table>"
    }

    private static func inAddress(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 48...57, 65...90, 97...122, 45, 46, 95: String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }

    private static func ago(_ seconds: Int64?) -> String {
        switch seconds {
        case nil: "never"
        case let seconds? where seconds < 120: "\(seconds) s ago"
        case let seconds? where seconds < 7200: "\(seconds / 60) min ago"
        case let seconds?: "\(seconds / 3600) h ago"
        }
    }
}
