import Bluetooth
import BottleProtocol
package import Emulator
package import Foundation

/// The protocol of `waterh-emulator control`, with one JSON object per line. Request: `{"do":"sip","value":"120"}`.
/// Response: `{"ok":true,"status":{…}}` or `{"ok":false,"error":"…"}`.
package enum ControlMessages {
    package struct Malformed: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The actions; `parse` receives the value, or an empty text for an action without a value.
    package static let actions: [(usage: String, meaning: String, parse: @Sendable (String) -> ControlAction?)] = [
        (
            "sip ML", "add a drink: a record with the bottle's clock, and live reports",
            { Int($0).map { ControlAction.sip(ml: $0) } }
        ),
        ("refill", "fill the bottle", { _ in .refill }),
        ("battery PERCENT", "set the battery's charge", { Int($0).map { ControlAction.battery(percent: $0) } }),
        (
            "charging on|off", "start or stop charging",
            { ["on": true, "off": false][$0].map { ControlAction.charging($0) } }
        ),
        ("clock YYYY-MM-DDThh:mm:ss", "set the bottle's clock", { clock($0).map { ControlAction.clock($0) } }),
        ("power-loss", "interrupt the power: the clock restarts at zero", { _ in .powerLoss }),
        ("drop", "drop the connection", { _ in .drop }),
        ("press", "press the button: confirms a registration", { _ in .press }),
        ("status", "show the bottle's state", { _ in .status }),
    ]

    package static func action(_ name: String, _ value: String?) throws(Malformed) -> ControlAction {
        guard let known = actions.first(where: { $0.usage.split(separator: " ").first.map(String.init) == name }) else {
            throw Malformed(
                description: "unknown action '\(name)': expected \(actions.map(\.usage).joined(separator: ", "))")
        }
        let takesValue = known.usage.contains(" ")
        if takesValue == (value != nil), let action = known.parse(value ?? "") { return action }
        let error = value.map { "invalid '\(name) \($0)'" } ?? "missing value"
        throw Malformed(description: "\(error): expected \(known.usage)")
    }

    /// Parses `2026-12-31T23:59:50` (years 2000–2255). A space can replace the T, and the seconds can be omitted.
    static func clock(_ text: String) -> BottleClock? {
        let parts = text.split(omittingEmptySubsequences: false) { "-T :".contains($0) }
        let numbers = parts.compactMap { $0.allSatisfy(\.isASCII) && $0.allSatisfy(\.isNumber) ? Int($0) : nil }
        guard numbers.count == parts.count, (5...6).contains(numbers.count), (2000...2255).contains(numbers[0]),
            numbers.dropFirst().allSatisfy({ (0...99).contains($0) })
        else { return nil }
        return BottleClock(
            yearByte: UInt8(numbers[0] - 2000), month: UInt8(numbers[1]), day: UInt8(numbers[2]),
            hour: UInt8(numbers[3]), minute: UInt8(numbers[4]), second: UInt8(numbers.count > 5 ? numbers[5] : 0))
    }

    package static func request(_ name: String, _ value: String?) -> JSONValue {
        value.map { ["do": .string(name), "value": .string($0)] } ?? ["do": .string(name)]
    }

    /// Parses a request line. The value can be a string or a number.
    package static func action(line: Data) throws(Malformed) -> ControlAction {
        let request: Request
        do {
            request = try JSONDecoder().decode(Request.self, from: line)
        } catch DecodingError.typeMismatch(_, let context) where context.codingPath.first?.stringValue == "value" {
            throw Malformed(description: "invalid value: expected a string or a number")
        } catch {
            throw Malformed(
                description: #"invalid request: expected a JSON object per line, such as {"do":"sip","value":"120"}"#)
        }
        return try action(request.do, request.value?.text)
    }

    private struct Request: Decodable {
        var `do`: String
        var value: Value?
    }

    /// A string or a number as text. Some programs write `250.0` for 250.
    private struct Value: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                text = Int(exactly: number).map(String.init) ?? "\(number)"
            } else {
                text = try container.decode(String.self)
            }
        }
    }

    /// The response as an object: `ok`, and `status` or `error`.
    package static func answer(_ reply: ControlReply) -> JSONValue {
        switch reply {
        case .done(let status): ["ok": true, "status": json(status)]
        case .refused(let reason): ["ok": false, "error": .string(reason)]
        }
    }

    package static func json(_ status: BottleStatus) -> JSONValue {
        let flash = status.flash
        return [
            "name": .string(status.identity.name), "address": .string(status.identity.address.description),
            "profile": .string(status.identity.profile.rawValue), "model": .string(status.identity.model.rawValue),
            "connected": .bool(status.central != nil), "central": JSONValue(status.central?.text),
            "subscribed": .bool(status.isSubscribed),
            "mtu": JSONValue(status.mtu), "connections": .int(status.connections),
            "records": .int(flash.records.count), "acknowledged": .int(flash.dropped),
            "overwritten": .int(flash.overwritten), "clock": .string(status.clock.description),
            "batteryPercent": .int(Int(flash.batteryPercent)),
            "charging": .string(ChargingState(rawValue: flash.charging).description),
            "goalMl": .int(Int(flash.goalMl)), "amountMl": .int(status.amountMl), "levelMl": .int(Int(flash.levelMl)),
            "reminder": JSONValue(ReminderSetting(flash.reminder)?.description),
            "light": JSONValue(ReminderLight(flash.light)?.description), "registered": .bool(flash.isRegistered),
            "blinks": .int(status.blinks),
            "onAir": .bool(status.advertisingError == nil),
            "offAirReason": JSONValue(status.advertisingError.map { "\($0)" }),
        ]
    }
}
