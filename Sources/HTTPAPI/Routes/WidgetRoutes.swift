import HTTPTypes
import NIOCore
import TrackerCore
import TrackerDesk

/// Small pictures of the day for other programs' pages.
enum WidgetRoutes {
    /// How long a picture may be shown before it is asked for again, seconds (tracker law B8: the tick).
    static let freshSeconds = 60

    /// Those that show a session.
    private static let sessionWidgets = ["small", "medium", "large"]

    static func add(to table: RouteTable) {
        let widgets: [(name: String, draw: @Sendable (TrackerSnapshot, [LogEntry]) -> String)] = [
            ("circular", { state, _ in Widget.circular(state) }), ("corner", { state, _ in Widget.corner(state) }),
            ("small", { state, _ in Widget.small(state) }), ("medium", { state, _ in Widget.medium(state) }),
            ("large", { state, logs in Widget.large(state, logs) }),
        ]
        for (name, draw) in widgets {
            for path in ["/widget/\(name)", "/widget/\(name).svg"] {
                table.picture(path) { ask in
                    let desk = try ask.person.desk()
                    var state = try desk.state()
                    // Not "No Session": whether there is one is no business of this caller's.
                    let isHidden = sessionWidgets.contains(name) && !ask.seesWaterline
                    if !ask.seesWaterline { state.waterline = nil }
                    let svg = isHidden ? Widget.amount(state, isLarge: name != "small") : draw(state, state.waterline == nil ? [] : try desk.activeLogs())
                    return Answer(
                        type: "image/svg+xml", bytes: ByteBuffer(string: svg),
                        headers: [.cacheControl: "private, max-age=\(freshSeconds)", .refresh: "\(freshSeconds)"])
                }
            }
        }
    }
}

extension HTTPField.Name {
    static let refresh = Self("Refresh")!
}
