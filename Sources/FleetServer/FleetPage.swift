import FleetStore

/// The overview as a page that needs nothing but itself.
enum FleetPage {
    static func html(_ overview: FleetOverview) -> String {
        """
        <!doctype html>
        <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="60"><title>Fleet</title>
        <style>body{font:16px/1.4 system-ui,sans-serif;margin:1rem auto;max-width:60rem;padding:0 1rem}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #ccc}td.n{text-align:right}</style>
        <h1>Fleet</h1>
        \(overview.isCut ? "<p>There are more than are shown here.</p>" : "")
        <h2>People, who drank least first</h2>
        \(table(["Person", "Day", "ml", "Drinks", "Last drink"], overview.people.map { [$0.name, $0.day, "\($0.todayMl)", "\($0.drinks)", $0.lastDrinkSecondsAgo.map(ago) ?? "days ago, if ever"] }, numbers: [2, 3]))
        <h2>Gateways, who is silent longest first</h2>
        \(table(["Gateway", "Seen", "Entries", "Set aside", "May not tell of"], overview.gateways.map { [$0.name + ($0.isRevoked ? " (revoked)" : ""), ago($0.seenSecondsAgo), "\($0.entries)", "\($0.poisoned)", $0.wants ?? ""] }, numbers: [2, 3]))
        <h2>Bottles</h2>
        \(table(["Bottle", "Person", "Gateway", "Told"], overview.bottles.map { [$0.name, $0.person, $0.gateway, ago($0.toldSecondsAgo)] }, numbers: []))
        </html>

        """
    }

    private static func table(_ heads: [String], _ rows: [[String]], numbers: Set<Int>) -> String {
        guard !rows.isEmpty else { return "<p>None.</p>" }
        let head = heads.map { "<th>\($0)</th>" }.joined()
        let body = rows.map { row in
            "<tr>" + row.enumerated().map { "<td\(numbers.contains($0.offset) ? " class=\"n\"" : "")>\(escaped($0.element))</td>" }.joined() + "</tr>"
        }
        return "<table><tr>\(head)</tr>\n\(body.joined(separator: "\n"))\n</table>"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
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
