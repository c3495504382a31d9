import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// The widgets: images of the day's progress for other programs' pages, and pages to embed.
enum WidgetRoutes {
    /// The maximum age of an image in seconds.
    static let freshSeconds = 60
    /// The maximum size of a form in bytes.
    private static let formLimit = 1024

    static func add(to table: RouteTable) {
        let widgets: [(name: String, draw: @Sendable (WidgetData) -> String)] = [
            ("circular", { Widget.circular($0.state) }), ("corner", { Widget.corner($0.state) }),
            ("small", { Widget.small($0.state) }),
            ("medium", { Widget.medium($0.state, $0.last) }), ("large", { Widget.large($0.state, $0.logs, $0.last) }),
        ]
        for (name, draw) in widgets {
            let belongsToSession = !["circular", "corner"].contains(name)
            let picture: @Sendable (APICall) throws -> Response = { call in
                let data = try WidgetData(call)
                // Do not show "No Session": this caller must not learn whether there is a session.
                let isHidden = belongsToSession && !call.mayReadWaterline
                return answer(
                    "image/svg+xml", isHidden ? Widget.amount(data.state, isLarge: name != "small") : draw(data))
            }
            table.widget(.get, "/widget/\(name).svg", picture)
            guard belongsToSession else {
                table.widget(.get, "/widget/\(name)", picture)
                continue
            }
            table.widget(.get, "/widget/\(name)") { call in
                let data = try WidgetData(call)
                var page = answer("text/html; charset=utf-8", try page(name, data, call, draw).html)
                page.headers[.cacheControl] = "no-store"
                return page
            }
            table.widget(.post, "/widget/\(name)") { call in try await press(name, call) }
        }
    }

    /// The page with the session and its buttons; without a session, with the ring of the day.
    private static func page(_ name: String, _ data: WidgetData, _ call: APICall, _ draw: (WidgetData) -> String) throws
        -> WidgetPage
    {
        let state = data.state
        let cup = (WidgetPage.Button.cup, "+\(state.units.text(state.cupMl))")
        let key = UUID().uuidString
        guard state.waterline == nil else {
            let buttons: [(WidgetPage.Button, String)] = [(.drink, "+ Drink"), (.water, "+ Water"), cup]
            return WidgetPage(
                svg: draw(data), lines: [], buttons: name == "small" ? Array(buttons.prefix(2)) : buttons, key: key)
        }
        var lines = [state.litresText, nextDrink(state)]
        if name == "large" {
            let tracker = try call.app.tracker()
            let zone = (try? Zone(state.zone)) ?? .utc
            lines += try tracker.day(tracker.today()).drinks.suffix(3).reversed().map {
                "\(zone.wall(at: $0.drink.at).timeText.prefix(5))  \(state.units.text($0.drink.ml))"
            }
        }
        return WidgetPage(
            svg: Widget.circular(state), lines: lines,
            buttons: [cup] + (call.mayReadWaterline && name != "small" ? [(.start, "Start session")] : []), key: key)
    }

    private static func nextDrink(_ state: TrackerSnapshot) -> String {
        switch state.nextDrink.phase {
        case .alerting: "A drink is due now."
        case .counting: "Next drink in \(Countdown.inMinutes(state.nextDrink.secondsLeft ?? 0))"
        case .outsideHours, .goalReached: state.headline
        }
    }

    /// Executes a button once per rendering of the page, and responds with the page.
    private static func press(_ name: String, _ call: APICall) async throws -> Response {
        let body = try await call.body(upTo: formLimit)
        var form = URLComponents()
        form.percentEncodedQuery = String(buffer: body)
        let field = { (name: String) in form.queryItems?.first { $0.name == name }?.value }
        guard let button = field("press").flatMap(WidgetPage.Button.init), let key = field("key").flatMap(UUID.init)
        else {
            throw WrongInput("notAButton", "invalid form: expected the fields press and key of a widget")
        }
        if button != .cup { try call.requireWaterline() }
        _ = try await IdempotentWrite.answer(
            call, .withWrite, key: key.uuidString, content: Array(button.rawValue.utf8)
        ) { tracker in
            switch button {
            case .cup: .json(try tracker.logDrink(.cup))
            case .drink: .json(try tracker.drink())
            case .water: .json(try tracker.water())
            case .start: .json(try tracker.startSession())
            }
        }
        await call.app.storeChanged()
        let query = call.request.uri.query.map { "?\($0)" } ?? ""
        return Response(status: .seeOther, headers: [.location: "\(name)\(query)"])
    }

    /// Creates the response. Pages of any origin may embed it, and its style is inline.
    private static func answer(_ type: String, _ text: String) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: type, .cacheControl: "private, max-age=\(freshSeconds)", .refresh: "\(freshSeconds)",
                .contentSecurityPolicy: """
                default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors *
                """,
                .crossOriginResourcePolicy: "cross-origin",
            ], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// The data of the images, limited to the caller's access.
private struct WidgetData {
    var state: TrackerSnapshot
    var logs: [LogReport] = []
    var last: SessionSummary?

    init(_ call: APICall) throws {
        let tracker = try call.app.tracker()
        state = try tracker.state()
        guard call.mayReadWaterline else {
            state = state.withoutWaterline
            return
        }
        if state.waterline == nil {
            last = try tracker.sessions(limit: 1).sessions.first?.session.computedSummary
        } else {
            logs = try tracker.activeLogs()
        }
    }
}

extension HTTPField.Name {
    static let refresh = Self("Refresh")!
}
