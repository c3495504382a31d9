import TrackerCore

/// What stands at `<p>/waterline` where it is shared: the session that runs, or that none does.
struct WaterlinePayload: Encodable {
    var session: WaterlineSnapshot?

    private enum CodingKeys: String, CodingKey { case isActive }

    func encode(to encoder: any Encoder) throws {
        try session?.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(session != nil, forKey: .isActive)
    }
}
