import Foundation
import HTTPTypes
import Hummingbird
import TrackerService

enum StateRoutes {
    static func add(to table: RouteTable) {
        table.get("state", waitsForStore: false) { call in
            await call.app.service?.reportViewer(.once)
            let views = try await call.app.feed.current()
            let state = views.view(withWaterline: call.caller.isAdministrator || views.isWaterlineShared)
            let tag = state.tag
            if let known = call.request.headers[.ifNoneMatch], matches(known, tag) {
                return Response(status: .notModified, headers: [.eTag: tag, .cacheControl: "no-cache"])
            }
            return Response(
                status: .ok, headers: [.contentType: "application/json", .eTag: tag, .cacheControl: "no-cache"],
                body: ResponseBody(byteBuffer: state.bytes))
        }
        table.action(.post, "sync", needs: .log, recording: .withResponse) { _, tracker in
            guard try await tracker.synchronise() != nil else {
                throw HTTPProblem(.conflict, "noSyncServer", "No sync server is set. Set sync.url first.")
            }
            return .json(["state": try tracker.state()])
        }
        table.get("why", query: ["at"]) { call in
            .json(try call.tracker().why(at: call.query("at")))
        }
    }

    /// Compares `If-None-Match` with a tag by weak comparison (RFC 9110, 13.1.2).
    static func matches(_ field: String, _ tag: String) -> Bool {
        func value(_ text: String) -> Substring { text.hasPrefix("W/") ? text.dropFirst(2) : text[...] }
        return field.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.contains {
            $0 == "*" || value($0) == value(tag)
        }
    }
}
