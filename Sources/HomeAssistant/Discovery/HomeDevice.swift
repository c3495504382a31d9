import Foundation
import Store
import TrackerCore
import TrackerService

/// A Home Assistant device with its entities, as one retained discovery message. If that is too long for the broker,
/// each entity has its own message.
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

    /// The platforms with a state from the device's topic. Others are optimistic: the bottle reports no state.
    private static let stateful: Set = ["sensor", "binary_sensor", "number", "switch"]

    /// The entities of both devices (docs: home-assistant.io/integrations/mqtt).
    private static let entities =
        (try? JSONDecoder().decode(
            [String: [[String: PlainValue]]].self, from: Data(PackageResources.entities_json))) ?? [:]

    static func day(id: String, version: String, topics: Topics, commands: Bool, waterline: Bool) -> HomeDevice {
        let offers = [
            commands ? "commands" : "no commands", waterline ? "waterline" : nil,
            waterline && commands ? "waterline commands" : nil,
        ]
        let name = topics.prefix.split(separator: "/").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return HomeDevice(
            id: "waterh_\(id)", name: name.joined(separator: " "), model: "Day", version: version,
            slug: PlainName.of(topics.prefix), topics: topics, stateTopic: topics.state,
            components: components("day", topics, offers))
    }

    /// The device for a bottle.
    /// - Parameter isOnly: whether it is the store's only bottle, to which commands apply.
    static func bottle(
        _ bottle: KnownBottle, id: String, version: String, topics: Topics, commands: Bool, isOnly: Bool
    ) -> HomeDevice {
        let (own, name) = (BottlePayload.id(of: bottle), bottle.advertisedName ?? bottle.name)
        let offers = commands ? ["commands", isOnly ? "commands for the only bottle" : nil] : []
        return HomeDevice(
            id: "waterh_\(id)_\(own)", name: name, model: bottle.model ?? "Bottle", version: version,
            slug: PlainName.of(name), topics: topics, stateTopic: topics.bottle(own),
            components: components("bottle", topics, offers))
    }

    private static func components(_ device: String, _ topics: Topics, _ offers: [String?]) -> [HomeComponent] {
        (entities[device] ?? []).compactMap {
            HomeComponent($0, prefix: topics.prefix, offers: Set(offers.compactMap(\.self)))
        }
    }

    func topic(_ discovery: String) -> String { "\(discovery)/device/\(id)/config" }

    /// One message per offered entity.
    func messages(_ discovery: String) throws -> [(topic: String, text: String)] {
        try components.filter(\.isOffered).map { component in
            (
                "\(discovery)/\(component.platform)/\(id)/\(component.key)/config",
                try TrackerAPI.json(Single(device: self, component: component))
            )
        }
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
        let components = Dictionary(components.map { ($0.key, complete($0)) }, uniquingKeysWith: { $1 })
        try encoder.encode(["components": components])
    }

    private func encodeDevice(to encoder: any Encoder) throws {
        let device: [String: PlainValue] = [
            "identifiers": .list([.text(id)]), "name": .text(name), "model": .text(model),
            "manufacturer": .text("WaterH"), "sw_version": .text(version),
        ]
        try encoder.encode([
            "device": device, "origin": ["name": "waterh-bench", "sw_version": version],
            // The availability of the service, because the bottle sleeps.
            "availability_topic": topics.availability, "qos": 1,
        ])
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

/// An entity in Home Assistant's discovery message.
struct HomeComponent: Encodable {
    let platform: String
    /// The entity's part of unique ids. It must never change.
    let key: String
    /// All other fields. If they are empty, Home Assistant removes the entity.
    var fields: [String: PlainValue]

    /// - Parameters:
    ///   - entry: an entity of `entities.json`, with `{prefix}` for the prefix of topics.
    ///   - offers: the values of the key `if` for which an entity is offered; others have no fields.
    init?(_ entry: [String: PlainValue], prefix: String, offers: Set<String>) {
        var fields = entry
        let condition = fields.removeValue(forKey: "if")?.text
        guard let platform = fields.removeValue(forKey: "platform"), let key = fields.removeValue(forKey: "key") else {
            return nil
        }
        (self.platform, self.key) = (platform.text, key.text)
        self.fields =
            condition.map(offers.contains) ?? true
            ? fields.mapValues { value in
                if case .text(let text) = value { .text(text.replacing("{prefix}", with: prefix)) } else { value }
            } : [:]
    }

    var isOffered: Bool { !fields.isEmpty }

    func encode(to encoder: any Encoder) throws {
        try fields.merging(["platform": .text(platform)]) { $1 }.encode(to: encoder)
    }
}
