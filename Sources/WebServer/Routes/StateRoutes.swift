import HTTPTypes
import Hummingbird

enum StateRoutes {
    static func add(to table: RouteTable) {
        table.get("state") { ask in
            await ask.person.service?.look(.once)
            let state = try await ask.person.feed.current().view(withWaterline: ask.seesWaterline)
            let tag = state.tag
            if let known = ask.request.headers[.ifNoneMatch], matches(known, tag) {
                return Answer(
                    status: .notModified, type: "", bytes: .init(), headers: [.eTag: tag, .cacheControl: "no-cache"])
            }
            return Answer(
                type: "application/json", bytes: state.bytes,
                headers: [.eTag: tag, .cacheControl: "no-cache"])
        }
        table.action(.post, "sync", needs: .log, way: .repeatable) { _, desk in
            guard try await desk.synchronise() != nil else {
                throw HTTPProblem(.conflict, "noSyncServer", "No sync server is set. Set sync.url first.")
            }
            return .json(["state": try desk.state()])
        }
        table.get("why", query: ["at"]) { ask in
            ask.veiled(.json(try ask.person.desk().why(at: ask.query("at"))))
        }
    }

    /// Compares `If-None-Match` with a tag by weak comparison (RFC 9110, 13.1.2).
    static func matches(_ field: String, _ tag: String) -> Bool {
        func plain(_ text: Substring) -> Substring {
            let text = text.trimming(" \t")
            return text.hasPrefix("W/") ? text.dropFirst(2) : text
        }
        return field.split(separator: ",").contains { $0.trimming(" \t") == "*" || plain($0) == plain(Substring(tag)) }
    }
}

extension Substring {
    func trimming(_ characters: String) -> Substring {
        var text = self
        while let first = text.first, characters.contains(first) { text.removeFirst() }
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return text
    }
}
