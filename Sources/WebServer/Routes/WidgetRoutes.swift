import HTTPTypes
import NIOCore
import TrackerCore
import TrackerService

/// Small pictures of the day for other programs' pages.
enum WidgetRoutes {
    /// How long a picture may be shown before it is asked for again, seconds (tracker law B8: the tick).
    static let freshSeconds = 60

    /// Those that show a session.
    private static let sessionWidgets = ["small", "medium", "large"]

    static func add(to table: RouteTable) {
        let widgets: [(name: String, draw: @Sendable (Scene) -> String)] = [
            ("circular", { Widget.circular($0.state) }), ("corner", { Widget.corner($0.state) }),
            ("small", { Widget.small($0.state) }),
            ("medium", { Widget.medium($0.state, $0.last) }), ("large", { Widget.large($0.state, $0.logs, $0.last) }),
        ]
        for (name, draw) in widgets {
            for path in ["/widget/\(name)", "/widget/\(name).svg"] {
                table.picture(path) { ask in
                    let scene = try Scene(ask)
                    // Not "No Session": whether there is one is no business of this caller's.
                    let isHidden = sessionWidgets.contains(name) && !ask.seesWaterline
                    let svg = isHidden ? Widget.amount(scene.state, isLarge: name != "small") : draw(scene)
                    return Answer(
                        type: "image/svg+xml", bytes: ByteBuffer(string: svg),
                        headers: [.cacheControl: "private, max-age=\(freshSeconds)", .refresh: "\(freshSeconds)"])
                }
            }
        }
    }
}

/// What the pictures show, as far as it is the caller's business.
private struct Scene {
    var state: TrackerSnapshot
    /// Of the session that runs.
    var logs: [LogEntry] = []
    /// Of the last session, where none runs.
    var last: SessionSummary?

    init(_ ask: Ask) throws {
        let desk = try ask.person.desk()
        state = try desk.state()
        guard ask.seesWaterline else {
            state = state.withoutWaterline
            return
        }
        if state.waterline == nil {
            last = try desk.sessions(limit: 1).sessions.first?.view.session.computedSummary
        } else {
            logs = try desk.activeLogs()
        }
    }
}

extension HTTPField.Name {
    static let refresh = Self("Refresh")!
}
