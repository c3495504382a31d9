/// The bottle's clock: `YY MM DD hh mm ss`, binary, YY = year - 2000, local wall time. Not validated; zero after a
/// power loss.
package struct BottleClock: Hashable, Sendable {
    /// The year minus 2000.
    package var yearByte: UInt8
    package var month: UInt8
    package var day: UInt8
    package var hour: UInt8
    package var minute: UInt8
    package var second: UInt8

    package init(yearByte: UInt8, month: UInt8, day: UInt8, hour: UInt8, minute: UInt8, second: UInt8) {
        self.yearByte = yearByte
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    package init?(_ bytes: some Collection<UInt8>) {
        let field = Array(bytes)
        guard field.count == 6 else { return nil }
        self.init(
            yearByte: field[0], month: field[1], day: field[2], hour: field[3], minute: field[4], second: field[5])
    }

    package var encoded: [UInt8] { [yearByte, month, day, hour, minute, second] }
    /// The year, 2000–2255.
    package var year: Int { 2000 + Int(yearByte) }

    /// Whether the date and time exist.
    package var isPossible: Bool {
        (1...12).contains(month) && day >= 1 && Int(day) <= DrinkRecord.days(inMonth: Int(month), of: year) && hour < 24
            && minute < 60 && second < 60
    }
}

extension BottleClock: CustomStringConvertible {
    package var description: String {
        func pad(_ value: UInt8) -> String { (value < 10 ? "0" : "") + String(value) }
        return "\(year)-\(pad(month))-\(pad(day))T\(pad(hour)):\(pad(minute)):\(pad(second))"
    }
}

/// The reminders that the bottle shows: `mode wakeHour wakeMinute sleepHour sleepMinute intervalMinutes`.
package struct ReminderSetting: Hashable, Sendable {
    /// The mode: 0 off, 1 periodic, 2 smart.
    package var mode: UInt8
    /// The hour of the day's first reminder (0–23).
    package var wakeHour: UInt8
    package var wakeMinute: UInt8
    /// The hour of the day's last reminder (0–23).
    package var sleepHour: UInt8
    package var sleepMinute: UInt8
    package var intervalMinutes: UInt8

    package init(
        mode: UInt8, wakeHour: UInt8, wakeMinute: UInt8, sleepHour: UInt8, sleepMinute: UInt8, intervalMinutes: UInt8
    ) {
        self.mode = mode
        self.wakeHour = wakeHour
        self.wakeMinute = wakeMinute
        self.sleepHour = sleepHour
        self.sleepMinute = sleepMinute
        self.intervalMinutes = intervalMinutes
    }

    package init?(_ bytes: some Collection<UInt8>) {
        let field = Array(bytes)
        guard field.count == 6 else { return nil }
        self.init(
            mode: field[0], wakeHour: field[1], wakeMinute: field[2], sleepHour: field[3], sleepMinute: field[4],
            intervalMinutes: field[5])
    }

    /// The factory setting: off, 08:00–20:00, every 60 minutes.
    package static let standard = Self(
        mode: 0, wakeHour: 8, wakeMinute: 0, sleepHour: 20, sleepMinute: 0, intervalMinutes: 60)

    package var encoded: [UInt8] { [mode, wakeHour, wakeMinute, sleepHour, sleepMinute, intervalMinutes] }

    package static let modeNames = ["off", "periodic", "smart"]
}

extension ReminderSetting: CustomStringConvertible {
    package var description: String {
        func pad(_ value: UInt8) -> String { (value < 10 ? "0" : "") + String(value) }
        let modeName = Int(mode) < Self.modeNames.count ? Self.modeNames[Int(mode)] : "mode \(mode)"
        return
            """
            \(modeName), \(pad(wakeHour)):\(pad(wakeMinute))-\(pad(sleepHour)):\(pad(sleepMinute)), every \
            \(intervalMinutes) min
            """
    }
}

/// The reminder light: `mode red green blue`.
package struct ReminderLight: Hashable, Sendable {
    /// The mode: 0 blue, 1 breathe, 2 calm, 3 rainbow, 5 warmth, 6 christmas.
    package var mode: UInt8
    package var red: UInt8
    package var green: UInt8
    package var blue: UInt8

    package init(mode: UInt8, red: UInt8, green: UInt8, blue: UInt8) {
        self.mode = mode
        self.red = red
        self.green = green
        self.blue = blue
    }

    package init?(_ bytes: some Collection<UInt8>) {
        let field = Array(bytes)
        guard field.count == 4 else { return nil }
        self.init(mode: field[0], red: field[1], green: field[2], blue: field[3])
    }

    package var encoded: [UInt8] { [mode, red, green, blue] }

    package static let modeNames: [(mode: UInt8, name: String)] = [
        (0, "blue"), (1, "breathe"), (2, "calm"), (3, "rainbow"), (5, "warmth"), (6, "christmas"),
    ]
}

extension ReminderLight: CustomStringConvertible {
    package var description: String {
        let name = Self.modeNames.first { $0.mode == mode }?.name ?? "mode \(mode)"
        return "\(name), colour \(hexText([red, green, blue]))"
    }
}

/// The data byte of a charging entry (type 17).
package struct ChargingState: Hashable, Sendable, RawRepresentable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The bottle is not on its cradle.
    package static let no = Self(rawValue: 0)
    /// The bottle is on its cradle and not full.
    package static let charging = Self(rawValue: 1)
    /// The bottle is on its cradle and full.
    package static let charged = Self(rawValue: 2)
}

extension ChargingState: CustomStringConvertible {
    /// The state in plain English, or the number of an unknown state.
    package var description: String {
        switch self {
        case .no: "not charging"
        case .charging: "charging"
        case .charged: "charged"
        default: "charging state \(rawValue)"
        }
    }
}
