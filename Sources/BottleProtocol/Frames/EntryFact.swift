// The law's tables of operations and entries (protocol law P2, P2.2) as data, for whatever is made of them.

/// What is known of an entry type: its name, and how its data is read.
package struct EntryFact: Hashable, Sendable {
    /// How the data of an entry is read.
    package enum Shape: String, Hashable, Sendable, CaseIterable {
        /// One byte, a number.
        case byte
        /// One byte, signed.
        case signedByte
        /// Two bytes, big-endian.
        case number
        /// Six bytes: `BottleClock`. Of one byte it is a status, 00 = ok.
        case clock
        /// Six bytes: `ReminderSetting`.
        case reminder
        /// Four bytes: `ReminderLight`.
        case light
        /// One byte: `ChargingState`.
        case charging
        /// One byte: `RegistrationCode`.
        case registration
        /// Records of 13 bytes; as an answer one byte, as an acknowledgement a number of bytes.
        case log
        /// Bytes whose format is not known.
        case raw
    }

    /// The type that the fact is about.
    package var type: EntryType
    /// One word in lowerCamelCase.
    package var key: String
    /// For people.
    package var title: String
    /// How the data bytes are read.
    package var shape: Shape
    /// `ml`, `ppm`, `°C`, `percent`; empty where the data has none.
    package var unit: String
}

extension EntryType {
    /// Every type that is known, in the order of their numbers. `FF`, which stands for all of them in a GT frame, is
    /// none.
    package static let known: [EntryFact] = [
        EntryFact(type: .temperature, key: "temperature", title: "Water temperature", shape: .signedByte, unit: "°C"),
        EntryFact(type: .battery, key: "battery", title: "Battery", shape: .byte, unit: "percent"),
        EntryFact(type: .clock, key: "clock", title: "Clock", shape: .clock, unit: ""),
        EntryFact(type: .amount, key: "todaysAmount", title: "Today's amount", shape: .number, unit: "ml"),
        EntryFact(type: .goal, key: "goal", title: "Daily goal", shape: .number, unit: "ml"),
        EntryFact(type: .log, key: "log", title: "Drink log", shape: .log, unit: ""),
        EntryFact(type: .level, key: "level", title: "Water level", shape: .number, unit: "ml"),
        EntryFact(type: .charging, key: "charging", title: "Charging", shape: .charging, unit: ""),
        EntryFact(type: .language, key: "language", title: "Language", shape: .byte, unit: ""),
        EntryFact(type: .registration, key: "registration", title: "Registration", shape: .registration, unit: ""),
        EntryFact(type: .flash, key: "flash", title: "Flash the light", shape: .byte, unit: ""),
        EntryFact(type: .screenText, key: "screenText", title: "Text for the screen", shape: .raw, unit: ""),
        EntryFact(type: .reminder, key: "reminder", title: "Reminder", shape: .reminder, unit: ""),
        EntryFact(type: .tds, key: "tds", title: "Dissolved solids", shape: .number, unit: "ppm"),
        EntryFact(type: .recalibrateFull, key: "recalibrateFull", title: "Recalibrate full", shape: .byte, unit: ""),
        EntryFact(type: .recalibrateEmpty, key: "recalibrateEmpty", title: "Recalibrate empty", shape: .byte, unit: ""),
        EntryFact(type: .factoryMode, key: "factoryMode", title: "Factory mode", shape: .byte, unit: ""),
        EntryFact(type: .light, key: "light", title: "Reminder light", shape: .light, unit: ""),
    ]
}

extension RegistrationCode {
    /// Every code that is known, with its words.
    package static let known: [(code: RegistrationCode, title: String)] = [
        (.register, "register"), (.pressButton, "press the button"), (.confirmed, "confirmed on the bottle"),
        (.failed, "failed"), (.clear, "clear the stored log"),
        (.cleared, "done and cleared"),
    ]
}

extension FrameOperation {
    /// Every operation that is known, with its words.
    package static let known: [(operation: FrameOperation, title: String)] = [
        (.get, "get"), (.put, "put, or the drink log"), (.response, "response, or acknowledgement"),
        (.report, "report"),
    ]
}
