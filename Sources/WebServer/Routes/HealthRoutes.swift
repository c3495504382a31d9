import HTTPTypes
import Hummingbird
import NIOCore
import Store
import TrackerService

enum HealthRoutes {
    static func add(
        to table: RouteTable, _ app: WebApp, _ counts: ResponseCounts,
        _ metrics: @escaping @Sendable () async -> String
    ) {
        table.publicRoute("/healthz") { _ in text("ok\n") }
        table.respond(to: .get, "/readyz", .read) { _ in
            _ = try app.tracker().store.dataVersion()
            return text("ready\n")
        }
        table.respond(to: .get, "/metrics", .read) { _ in
            var lines = [
                "# HELP waterh_http_responses_total HTTP responses by status.",
                "# TYPE waterh_http_responses_total counter",
            ]
            lines += counts.all.map { "waterh_http_responses_total{code=\"\($0.status)\"} \($0.count)" }
            lines += [
                "# HELP waterh_event_clients Clients that read the event stream.", "# TYPE waterh_event_clients gauge",
            ]
            lines.append("waterh_event_clients{person=\"\(app.name)\"} \(await app.feed.subscriberCount)")
            return text(
                lines.joined(separator: "\n") + "\n" + (await metrics()),
                type: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Response {
        Response(status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
