import TrackerCore
import TrackerService

/// What stands at `<p>/bottle/ID`.
struct BottlePayload: Encodable {
    /// What may stand under `link`: what the service does with the bottles, or that the last poll went wrong.
    static let links = ["idle", "scanning", "connecting", "connected", "polling", "error"]

    var bottle: BottleReport
    var link: String
    var trouble: String?

    init(_ bottle: BottleReport, _ snapshot: TrackerSnapshot, _ service: ServiceStatus?) {
        self.bottle = bottle
        trouble = snapshot.connection.error
        let stage = service?.stage ?? "idle"
        link = stage == "idle" && trouble != nil ? "error" : Self.links.contains(stage) ? stage : "polling"
    }

    /// The id that a bottle's topics and devices bear.
    static func id(of bottle: BottleReport) -> String { PlainName.of(bottle.origin.replacing(":", with: "")) }

    private enum CodingKeys: String, CodingKey { case link, trouble }

    func encode(to encoder: any Encoder) throws {
        try bottle.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(link, forKey: .link)
        try container.encode(trouble, forKey: .trouble)
    }
}
