import BottleProtocol
import CommandSupport
import Gateway
import TrackerCore

/// Parses the commands of `send`.
enum BottleCommandParser {
    static let help = """
        goal ML; clock [2026-12-31T23:59:50]; amount ML; flash; recalibrate full|empty; raw HEX; snapshot; register; \
        light blue|breathe|calm|rainbow|warmth|christmas [RRGGBB]; reminder off|periodic|smart [08:00-20:00] [MINUTES].
        """

    static func command(_ arguments: [String], zone: Zone, now: Instant) throws -> HostCommand {
        let rest = Array(arguments.dropFirst())
        switch (arguments.first?.lowercased(), rest.count) {
        case ("goal", 1): return .goal(ml: try millilitres(rest[0]))
        case ("amount", 1): return .amount(ml: try millilitres(rest[0]))
        case ("clock", 0...1): return .clock(try clock(rest.first, zone: zone, now: now))
        case ("reminder", 1...3): return .reminder(try reminder(rest))
        case ("light", 1...2): return .light(try light(rest))
        case ("flash", 0): return .flash
        case ("snapshot", 0): return .snapshot
        case ("register", 0): return .register
        case ("recalibrate", 1) where rest[0] == "full": return .recalibrateFull
        case ("recalibrate", 1) where rest[0] == "empty": return .recalibrateEmpty
        case ("raw", 1...): return .unknown(try hex(rest.joined()))
        default:
            // The command is known, but has missing or extra arguments.
            if let syntax = syntaxes.first(where: {
                $0.split(separator: " ").first.map(String.init) == arguments.first?.lowercased()
            }) {
                throw invalid("'\(arguments.joined(separator: " "))' is not valid: expected \(syntax).")
            }
            throw invalid("'\(arguments.joined(separator: " "))' is not a command.")
        }
    }

    private static var syntaxes: [String] {
        help.dropLast().split(separator: ";").map { String($0.drop { $0 == " " }) }
    }

    private static func invalid(_ sentence: String) -> CommandFailure {
        CommandFailure(.wrongUse, sentence, advice: "Commands: " + help)
    }

    private static func millilitres(_ text: String) throws -> UInt16 {
        guard let ml = Amounts.parse(text).flatMap(UInt16.init(exactly:)) else {
            throw invalid(
                "'\(text)' is not a valid amount: expected 0–65535 ml (2,216 oz), or with a unit: 64oz or 2l.")
        }
        return ml
    }

    private static func clock(_ text: String?, zone: Zone, now: Instant) throws -> BottleClock {
        guard let text, text != "now" else {
            guard let clock = BottleClock(zone.wall(at: now)) else {
                throw invalid("a bottle cannot store the time of this machine's clock.")
            }
            return clock
        }
        guard let wall = WallTime(text), wall.isPossible, let clock = BottleClock(wall) else {
            throw invalid("'\(text)' is not a valid date and time: expected 2026-12-31T23:59:50.")
        }
        return clock
    }

    private static func reminder(_ values: [String]) throws -> ReminderSetting {
        var setting = ReminderSetting.standard
        guard let mode = ["off", "periodic", "smart"].firstIndex(of: values[0]) else {
            throw invalid("'\(values[0])' is not a valid reminder: expected off, periodic or smart.")
        }
        setting.mode = UInt8(mode)
        for word in values.dropFirst() {
            if let minutes = UInt8(word), minutes > 0 {
                setting.intervalMinutes = minutes
                continue
            }
            let times = word.split(separator: "-").compactMap { TimeOfDay(String($0)) }
            guard times.count == 2 else {
                throw invalid("'\(word)' is not valid: expected hours (08:00-20:00) or minutes (1–255).")
            }
            (setting.wakeHour, setting.wakeMinute) = (UInt8(times[0].minutes / 60), UInt8(times[0].minutes % 60))
            (setting.sleepHour, setting.sleepMinute) = (UInt8(times[1].minutes / 60), UInt8(times[1].minutes % 60))
        }
        return setting
    }

    private static func light(_ values: [String]) throws -> ReminderLight {
        let named = ReminderLight.modeNames.first { $0.name == values[0].lowercased() }?.mode
        guard let mode = named ?? UInt8(values[0]) else {
            let names = ReminderLight.modeNames.map(\.name).joined(separator: ", ")
            throw CommandFailure(.wrongUse, "'\(values[0])' is not a valid light: expected one of \(names).")
        }
        let colour = try values.count > 1 ? hex(values[1]) : [0, 0, 0xFF]
        guard colour.count == 3 else {
            throw invalid("'\(values[1])' is not a colour: expected six hex digits (RRGGBB).")
        }
        return ReminderLight(mode: mode, red: colour[0], green: colour[1], blue: colour[2])
    }

    /// Hexadecimal bytes with optional spaces; at most one ATT value.
    private static func hex(_ text: String) throws -> [UInt8] {
        let digits = Array(text.filter { $0 != " " && $0 != ":" }.utf8)
        guard !digits.isEmpty, digits.count % 2 == 0, digits.count <= 1024 else {
            throw invalid("'\(text)' is not valid: expected 1–512 bytes in hex digits.")
        }
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            guard let byte = UInt8(String(decoding: digits[index..<(index + 2)], as: UTF8.self), radix: 16) else {
                throw invalid("'\(text)' is not valid: expected bytes in hex digits.")
            }
            return byte
        }
    }
}
