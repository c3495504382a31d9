import HTTPTypes
import Hummingbird
import NIOCore

/// What watches over the service asks: is it there, can it work, how is it.
enum HealthRoutes {
    static func add(
        to table: RouteTable, _ household: Household, _ counts: RequestCounts,
        _ metrics: @escaping @Sendable ([String]) async -> String
    ) {
        table.plain("/healthz") { _, _ in text("ok\n") }
        table.plain("/readyz") { _, _ in
            for person in household.people {
                do {
                    let store = try person.desk().store
                    _ = try store.changeMark()
                    // It goes on reading a file that is gone.
                    try store.checkPlace()
                } catch {
                    guard household.people.count > 1 else { throw error }
                    var problem = HTTPProblem(explaining: error)
                    problem.detail = "\(person.name): \(problem.detail)"
                    throw problem
                }
            }
            return text("ready\n")
        }
        table.plain("/metrics") { _, visit in
            let visible = visit.rights.visible(of: household.people.map(\.name))
            if visible.isEmpty { try visit.refuse(.read) }
            var lines = [
                "# HELP waterh_http_responses_total Answers given, by status.",
                "# TYPE waterh_http_responses_total counter",
            ]
            lines += counts.all.map { "waterh_http_responses_total{code=\"\($0.status)\"} \($0.count)" }
            lines += [
                "# HELP waterh_event_clients Clients that follow the events.", "# TYPE waterh_event_clients gauge",
            ]
            for person in household.people where visible.contains(person.name) {
                lines.append("waterh_event_clients{person=\"\(person.name)\"} \(await person.feed.watcherCount)")
            }
            return text(
                lines.joined(separator: "\n") + "\n" + (await metrics(visible)),
                type: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Response {
        Response(status: .ok, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
