import Foundation
import Store
import Testing
import TrackerCore
import TrackerService

@testable import HomeAssistant

/// Discovery messages. `hardware/bench homeassistant` tests them with a real Home Assistant.
@Suite struct DiscoveryTests {
    private func components(_ device: HomeDevice) throws -> [String: [String: Any]] {
        let message = try JSONSerialization.jsonObject(with: Data(TrackerAPI.json(device).utf8)) as? [String: Any]
        return try #require(message?["components"] as? [String: [String: Any]])
    }

    private func day(commands: Bool = true, waterline: Bool = true) -> HomeDevice {
        HomeDevice.day(
            id: "abc", version: "1", topics: Topics(prefix: "home/water"), commands: commands, waterline: waterline)
    }

    private func bottle(commands: Bool = true, isOnly: Bool = true) throws -> HomeDevice {
        let store = try TrackerStore(inMemory: "UTC")
        try store.adoptBottle("A4:C1:38:01:02:03")
        return HomeDevice.bottle(
            try #require(store.bottles().first), id: "abc", version: "1", topics: Topics(prefix: "home/water"),
            commands: commands, isOnly: isOnly)
    }

    @Test func `entity ids are stable`() throws {
        for device in [day(), try bottle()] {
            #expect(try components(device).count == device.components.count)
            for (key, fields) in try components(device) {
                let platform = try #require(fields["platform"] as? String)
                guard fields.count > 1 else { continue }
                #expect(fields["unique_id"] as? String == "\(device.id)_\(key)")
                #expect((fields["default_entity_id"] as? String)?.hasPrefix("\(platform).") == true)
                // Removed from Home Assistant in 2026.4.
                #expect(fields["object_id"] == nil)
            }
        }
    }

    @Test func `entities have Home Assistant's units`() throws {
        let units: [String: (unit: String?, states: Set<String?>)] = [
            "volume": ("mL", ["total", "total_increasing"]), "water": ("L", ["total", "total_increasing"]),
            "volume_storage": ("mL", ["measurement"]), "battery": ("%", ["measurement"]),
            "duration": ("s", ["measurement", "total"]), "timestamp": (nil, [nil]), "enum": (nil, [nil]),
        ]
        for device in [day(), try bottle()] {
            for (key, fields) in try components(device) where fields["platform"] as? String == "sensor" {
                let state = fields["state_class"] as? String
                if let kind = fields["device_class"] as? String {
                    let rule = try #require(units[kind], "\(key) is \(kind)")
                    #expect(
                        fields["unit_of_measurement"] as? String == rule.unit && rule.states.contains(state), "\(key)")
                    #expect((fields["options"] != nil) == (kind == "enum"), "\(key)")
                }
                // A total that resets has the time of the reset.
                #expect((state == "total") == (fields["last_reset_value_template"] != nil), "\(key)")
            }
        }
        let today = try #require(try components(day())["today"])
        #expect(today["device_class"] as? String == "volume" && today["state_class"] as? String == "total")
    }

    @Test func `disabled entities are removed`() throws {
        func bare(_ device: HomeDevice) throws -> Set<String> {
            Set(try components(device).filter { Set($0.value.keys) == ["platform"] }.keys)
        }
        #expect(try bare(day()) == ["goal"])
        #expect(
            try bare(day(commands: false)) == [
                "goal_ml", "reminders", "bottle_light", "log_cup", "undo", "log_water", "log_drink",
            ])
        #expect(try bare(day(waterline: false)) == ["goal", "session", "log_water", "log_drink"])
        #expect(try bare(bottle()).isEmpty)
        #expect(try bare(bottle(isOnly: false)) == ["flash", "light", "bottle_reminder"])
        #expect(try bare(bottle(commands: false)) == ["check", "flash", "light", "bottle_reminder"])
    }

    @Test func `every offered command is accepted`() throws {
        let topics = Topics(prefix: "home/water")
        for device in [day(), try bottle()] {
            for fields in device.components.values {
                guard case .text(let topic)? = fields["command_topic"] else { continue }
                let name = try #require(topics.commandName(of: topic))
                #expect((CommandHandler.storeCommands + CommandHandler.serviceCommands).contains(name))
            }
        }
    }

    @Test func `options and limits in Home Assistant equal those of the program`() throws {
        func fields(_ device: HomeDevice, _ key: String) -> [String: PlainValue] {
            device.components[key] ?? [:]
        }
        func list(_ texts: [String]) -> PlainValue { .list(texts.map { .text($0) }) }
        let (day, bottle) = (day(), try bottle())
        #expect(fields(day, "goal_ml")["min"] == .number(Double(Settings.goals.lowerBound)))
        #expect(fields(day, "goal_ml")["max"] == .number(Double(Settings.goals.upperBound)))
        #expect(fields(day, "sip")["event_types"] == list(SipPayload.Event.allCases.map(\.rawValue)))
        #expect(fields(day, "reminder")["event_types"] == list(NotifyPayload.events))
        #expect(fields(bottle, "link")["options"] == list(BottlePayload.links))
        #expect(fields(bottle, "light")["options"] == list(CommandRequest.lights))
        #expect(fields(bottle, "bottle_reminder")["options"] == list(CommandRequest.bottleReminders))
    }

    @Test func `a discovery message fits the broker's limit`() throws {
        for device in [day(), try bottle()] { #expect(try TrackerAPI.json(device).utf8.count < 16_384) }
    }
}
