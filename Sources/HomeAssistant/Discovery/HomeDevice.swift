import Foundation
import Store
import TrackerCore
import TrackerService

/// A Home Assistant device with its entities, as one retained discovery message. If that is too long for the broker,
/// each entity has its own message.
struct HomeDevice: Encodable {
    let id: String
    private let name: String
    private let model: String
    private let version: String
    private let availabilityTopic: String
    /// The fields of each entity by its key. The key is part of the unique id and must never change. If an entity has
    /// only its platform, Home Assistant removes it.
    let components: [String: [String: PlainValue]]

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
            "day", id: "waterh_\(id)", name: name.joined(separator: " "), model: "Day", version: version,
            slug: PlainName.of(topics.prefix), topics: topics, stateTopic: topics.state, offers: offers)
    }

    /// The device for a bottle.
    /// - Parameter isOnly: whether it is the store's only bottle, to which commands apply.
    static func bottle(
        _ bottle: KnownBottle, id: String, version: String, topics: Topics, commands: Bool, isOnly: Bool
    ) -> HomeDevice {
        let (own, name) = (BottlePayload.id(of: bottle), bottle.advertisedName ?? bottle.name)
        return HomeDevice(
            "bottle", id: "waterh_\(id)_\(own)", name: name, model: bottle.model ?? "Bottle", version: version,
            slug: PlainName.of(name), topics: topics, stateTopic: topics.bottle(own),
            offers: commands ? ["commands", isOnly ? "commands for the only bottle" : nil] : [])
    }

    /// - Parameters:
    ///   - kind: the device in `entities.json`, which has `{prefix}` for the prefix of topics.
    ///   - slug: the prefix of each `default_entity_id`.
    ///   - offers: the values of the key `if` for which an entity is offered.
    private init(
        _ kind: String, id: String, name: String, model: String, version: String, slug: String, topics: Topics,
        stateTopic: String, offers: [String?]
    ) {
        (self.id, self.name, self.model, self.version) = (id, name, model, version)
        availabilityTopic = topics.availability
        var components: [String: [String: PlainValue]] = [:]
        for entity in Self.entities[kind] ?? [] {
            guard let key = entity["key"]?.text, let platform = entity["platform"]?.text else { continue }
            guard entity["if"].map({ offers.contains($0.text) }) ?? true else {
                components[key] = ["platform": .text(platform)]
                continue
            }
            var fields = entity.filter { $0.key != "if" && $0.key != "key" }.mapValues { value -> PlainValue in
                guard case .text(let text) = value else { return value }
                return .text(text.replacing("{prefix}", with: topics.prefix))
            }
            if Self.stateful.contains(platform), fields["state_topic"] == nil {
                fields["state_topic"] = .text(stateTopic)
            }
            fields["unique_id"] = .text("\(id)_\(key)")
            fields["default_entity_id"] = .text("\(platform).\(slug)_\(key)")
            components[key] = fields
        }
        self.components = components
    }

    func topic(_ discovery: String) -> String { "\(discovery)/device/\(id)/config" }

    /// One message per offered entity.
    func messages(_ discovery: String) throws -> [(topic: String, text: String)] {
        try components.sorted { $0.key < $1.key }.compactMap { key, component in
            var fields = component
            guard let platform = fields.removeValue(forKey: "platform")?.text, !fields.isEmpty else { return nil }
            return (
                topic: "\(discovery)/\(platform)/\(id)/\(key)/config",
                text: try TrackerAPI.json(EntityMessage(device: self, fields: fields))
            )
        }
    }

    private struct EntityMessage: Encodable {
        let device: HomeDevice
        let fields: [String: PlainValue]

        func encode(to encoder: any Encoder) throws {
            try fields.encode(to: encoder)
            try device.encodeDevice(to: encoder)
        }
    }

    func encode(to encoder: any Encoder) throws {
        try encodeDevice(to: encoder)
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
            "availability_topic": availabilityTopic, "qos": 1,
        ])
    }
}
