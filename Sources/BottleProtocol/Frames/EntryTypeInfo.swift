/// The name, data format and unit of an entry type (protocol spec P2.2), for programs that decode entries by table.
package struct EntryTypeInfo: Hashable, Sendable {
    /// The format of an entry's data.
    package enum Shape: String, Hashable, Sendable, CaseIterable {
        case byte
        case signedByte
        /// Two bytes, big-endian.
        case number
        /// Six bytes: `BottleClock`. One byte is a status, 00 = ok.
        case clock
        /// Six bytes: `ReminderSetting`.
        case reminder
        /// Four bytes: `ReminderLight`.
        case light
        /// One byte: `ChargingState`.
        case charging
        /// One byte: `RegistrationCode`.
        case registration
        /// Records of 13 bytes; one byte in a response, a number of bytes in an acknowledgement.
        case log
        /// Data of unknown format.
        case raw
    }

    package var type: EntryType
    package var key: String
    package var title: String
    package var shape: Shape
    /// `ml`, `ppm`, `°C`, `percent`, or empty.
    package var unit: String
}

extension EntryType {
    /// All known types by number. `FF` (all types, in a GT frame) is not included.
    package static let known: [EntryTypeInfo] = [
        EntryTypeInfo(
            type: .temperature, key: "temperature", title: "Water temperature", shape: .signedByte, unit: "°C"),
        EntryTypeInfo(type: .battery, key: "battery", title: "Battery", shape: .byte, unit: "percent"),
        EntryTypeInfo(type: .clock, key: "clock", title: "Clock", shape: .clock, unit: ""),
        EntryTypeInfo(type: .amount, key: "todaysAmount", title: "Today's amount", shape: .number, unit: "ml"),
        EntryTypeInfo(type: .goal, key: "goal", title: "Daily goal", shape: .number, unit: "ml"),
        EntryTypeInfo(type: .log, key: "log", title: "Drink log", shape: .log, unit: ""),
        EntryTypeInfo(type: .level, key: "level", title: "Water level", shape: .number, unit: "ml"),
        EntryTypeInfo(type: .charging, key: "charging", title: "Charging", shape: .charging, unit: ""),
        EntryTypeInfo(type: .language, key: "language", title: "Language", shape: .byte, unit: ""),
        EntryTypeInfo(type: .registration, key: "registration", title: "Registration", shape: .registration, unit: ""),
        EntryTypeInfo(type: .flash, key: "flash", title: "Flash the light", shape: .byte, unit: ""),
        EntryTypeInfo(type: .screenText, key: "screenText", title: "Text for the screen", shape: .raw, unit: ""),
        EntryTypeInfo(type: .reminder, key: "reminder", title: "Reminder", shape: .reminder, unit: ""),
        EntryTypeInfo(type: .tds, key: "tds", title: "Dissolved solids", shape: .number, unit: "ppm"),
        EntryTypeInfo(
            type: .recalibrateFull, key: "recalibrateFull", title: "Recalibrate full", shape: .byte, unit: ""),
        EntryTypeInfo(
            type: .recalibrateEmpty, key: "recalibrateEmpty", title: "Recalibrate empty", shape: .byte, unit: ""),
        EntryTypeInfo(type: .factoryMode, key: "factoryMode", title: "Factory mode", shape: .byte, unit: ""),
        EntryTypeInfo(type: .light, key: "light", title: "Reminder light", shape: .light, unit: ""),
    ]
}

extension RegistrationCode {
    package static let known: [(code: RegistrationCode, title: String)] = [
        (.register, "register"), (.pressButton, "press the button"), (.confirmed, "confirmed on the bottle"),
        (.failed, "failed"), (.clear, "clear the stored log"),
        (.cleared, "done and cleared"),
    ]
}

extension FrameOperation {
    package static let known: [(operation: FrameOperation, title: String)] = [
        (.get, "get"), (.put, "put, or the drink log"), (.response, "response, or acknowledgement"),
        (.report, "report"),
    ]
}
