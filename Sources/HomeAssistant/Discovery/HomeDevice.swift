import TrackerService

/// A device of Home Assistant with its entities, as one retained discovery message. If it is too long, each entity has
/// a message.
struct HomeDevice: Encodable {
    let id: String
    let name: String
    let model: String
    let version: String
    /// The prefix of each `default_entity_id`.
    let slug: String
    let topics: Topics
    let stateTopic: String
    let components: [HomeComponent]

    /// Platforms with state from the device's topic. Others are optimistic, because the bottle does not report it.
    private static let stateful: Set = ["sensor", "binary_sensor", "number", "switch"]

    func topic(_ discovery: String) -> String { "\(discovery)/device/\(id)/config" }

    /// One message per offered entity.
    func messages(_ discovery: String) throws -> [(topic: String, text: String)] {
        try components.filter(\.isOffered).map { component in
            (
                "\(discovery)/\(component.platform)/\(id)/\(component.key)/config",
                try TrackerDesk.json(Single(device: self, component: component))
            )
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    private struct Maker: Encodable {
        let identifiers: [String]
        let name, model: String
        let manufacturer = "WaterH"
        let sw_version: String
    }

    private struct Origin: Encodable {
        let name = "waterh-bench"
        let sw_version: String
    }

    private struct Single: Encodable {
        let device: HomeDevice
        let component: HomeComponent

        func encode(to encoder: any Encoder) throws {
            try device.complete(component).fields.encode(to: encoder)
            try device.encodeDevice(to: encoder)
        }
    }

    func encode(to encoder: any Encoder) throws {
        try encodeDevice(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        var all = container.nestedContainer(keyedBy: Key.self, forKey: Key("components"))
        for component in components { try all.encode(complete(component), forKey: Key(component.key)) }
    }

    private func encodeDevice(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(
            Maker(identifiers: [id], name: name, model: model, sw_version: version), forKey: Key("device"))
        try container.encode(Origin(sw_version: version), forKey: Key("origin"))
        // The availability of the service, because the bottle sleeps.
        try container.encode(topics.availability, forKey: Key("availability_topic"))
        try container.encode(1, forKey: Key("qos"))
    }

    private func complete(_ component: HomeComponent) -> HomeComponent {
        guard component.isOffered else { return component }
        var component = component
        if Self.stateful.contains(component.platform), component.fields["state_topic"] == nil {
            component.fields["state_topic"] = .text(stateTopic)
        }
        component.fields["unique_id"] = .text("\(id)_\(component.key)")
        component.fields["default_entity_id"] = .text("\(component.platform).\(slug)_\(component.key)")
        return component
    }
}
