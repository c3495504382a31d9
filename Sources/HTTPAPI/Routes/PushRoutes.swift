import Hummingbird
import TrackerDesk

/// Notifications for a browser whose page is closed: by its push service (tracker law Section 10.9).
enum PushRoutes {
    static func add(to table: RouteTable) {
        table.get("push") { ask in
            try ask.allowQuery([])
            let list = try ask.person.desk().pushSubscriptions()
            return .json(Standing(publicKey: try ask.person.pushKey(), subscriptions: list.subscriptions))
        }
        table.write(.post, "push/subscriptions", needs: .log, way: .repeatable) { ask, desk, fields in
            let (endpoint, key, secret) = (
                try fields.text("endpoint") ?? "", try fields.text("p256dh") ?? "", try fields.text("auth") ?? ""
            )
            let label = try fields.text("label") ?? ""
            try fields.finish()
            guard try ask.person.pushKey() != nil else {
                throw HTTPProblem(
                    .conflict, "noService", "Nobody here pushes notifications: no service runs for this day.")
            }
            let made = try desk.subscribe(
                endpoint: endpoint, publicKey: key, secret: secret, label: label,
                token: ask.visit.rights.keys[ask.person.name]?.token)
            return .json(made, status: .created)
        }
        table.write(.delete, "push/subscriptions/:subscription", needs: .log, way: .repeatable) { ask, desk, fields in
            try fields.finish()
            return .json(try desk.unsubscribe(try ask.part("subscription")))
        }
    }

    private struct Standing: Encodable {
        /// For which a browser subscribes; `null` where nobody would push.
        var publicKey: String?
        var subscriptions: [PushReport]

        enum CodingKeys: CodingKey { case publicKey, subscriptions }

        func encode(to encoder: any Encoder) throws {
            var keys = encoder.container(keyedBy: CodingKeys.self)
            try keys.encode(publicKey, forKey: .publicKey)
            try keys.encode(subscriptions, forKey: .subscriptions)
        }
    }
}
