/// A command that the host writes to the command characteristic (protocol spec P2.4).
///
/// Decoding never fails: `HostCommand(decoding: bytes).encoded == bytes` for all bytes.
package enum HostCommand: Hashable, Sendable {
    /// GT FF: request the snapshot of all values.
    case snapshot
    /// GT 06: request the drink log.
    case drinkLog
    /// GT with any other entry type: request its value.
    case get(EntryType)
    /// RP 06: the host has stored this number of log bytes (13 per record), so the bottle deletes them.
    case acknowledge(bytes: UInt16)
    /// PT 1C 05: delete the log.
    case clearLog
    /// Goal, clock and reminder in one frame.
    case settings(goalMl: UInt16, clock: BottleClock, reminder: ReminderSetting)
    case goal(ml: UInt16)
    case clock(BottleClock)
    /// Today's amount, for the percentage on the display.
    case amount(ml: UInt16)
    case reminder(ReminderSetting)
    case flash
    case light(ReminderLight)
    /// PT 1C 01: register. The user must press the bottle's button.
    case register
    case language(UInt8)
    case recalibrateFull
    case recalibrateEmpty
    case leaveFactoryMode
    /// The draft profile's one-byte command for the log: 01, also 03 and 04.
    case draftDump(UInt8)
    /// Any other well-formed PT frame.
    case put([Entry])
    /// Any other bytes.
    case unknown([UInt8])

    package init(decoding bytes: [UInt8]) {
        if bytes.count == 1, let byte = bytes.first, [0x01, 0x03, 0x04].contains(byte) {
            self = .draftDump(byte)
        } else {
            self = (try? Frame(decoding: bytes)).flatMap(Self.init(frame:)) ?? .unknown(bytes)
        }
    }

    private init?(frame: Frame) {
        switch frame.operation {
        case .get:
            guard frame.payload.count == 1, let type = frame.payload.first else { return nil }
            self = type == 0xFF ? .snapshot : type == 0x06 ? .drinkLog : .get(EntryType(type))
        case .put:
            guard let entries = try? frame.entries() else { return nil }
            self = Self(entries: entries)
        case .response:
            guard let entries = try? frame.entries(), entries.count == 1, entries[0].type == .log,
                let count = entries[0].number
            else { return nil }
            self = .acknowledge(bytes: count)
        default: return nil
        }
    }

    private init(entries: [Entry]) {
        self = .put(entries)
        if entries.map(\.type) == [.goal, .clock, .reminder] {
            guard let goal = entries[0].number, let clock = BottleClock(entries[1].data),
                let reminder = ReminderSetting(entries[2].data)
            else { return }
            self = .settings(goalMl: goal, clock: clock, reminder: reminder)
        }
        guard entries.count == 1, let entry = entries.first else { return }
        switch (entry.type, entry.byte) {
        case (.goal, _): if let number = entry.number { self = .goal(ml: number) }
        case (.amount, _): if let number = entry.number { self = .amount(ml: number) }
        case (.clock, _): if let clock = BottleClock(entry.data) { self = .clock(clock) }
        case (.reminder, _): if let reminder = ReminderSetting(entry.data) { self = .reminder(reminder) }
        case (.light, _): if let light = ReminderLight(entry.data) { self = .light(light) }
        case (.registration, RegistrationCode.register.rawValue): self = .register
        case (.registration, RegistrationCode.clear.rawValue): self = .clearLog
        case (.language, let byte?): self = .language(byte)
        case (.flash, 1): self = .flash
        case (.recalibrateFull, 1): self = .recalibrateFull
        case (.recalibrateEmpty, 1): self = .recalibrateEmpty
        case (.factoryMode, 0): self = .leaveFactoryMode
        default: break
        }
    }

    package var encoded: [UInt8] {
        switch self {
        case .snapshot: Frame(.get, payload: [EntryType.everything.rawValue]).encoded
        case .drinkLog: Frame(.get, payload: [EntryType.log.rawValue]).encoded
        case .get(let type): Frame(.get, payload: [type.rawValue]).encoded
        case .acknowledge(let bytes): Frame(.response, [Entry(.log, bytes)]).encoded
        case .clearLog: Self.action(.registration, RegistrationCode.clear.rawValue)
        case .settings(let goal, let clock, let reminder):
            Frame(.put, [Entry(.goal, goal), Entry(.clock, clock.encoded), Entry(.reminder, reminder.encoded)]).encoded
        case .goal(let ml): Frame(.put, [Entry(.goal, ml)]).encoded
        case .clock(let clock): Frame(.put, [Entry(.clock, clock.encoded)]).encoded
        case .amount(let ml): Frame(.put, [Entry(.amount, ml)]).encoded
        case .reminder(let reminder): Frame(.put, [Entry(.reminder, reminder.encoded)]).encoded
        case .flash: Self.action(.flash, 1)
        case .light(let light): Frame(.put, [Entry(.light, light.encoded)]).encoded
        case .register: Self.action(.registration, RegistrationCode.register.rawValue)
        case .language(let byte): Self.action(.language, byte)
        case .recalibrateFull: Self.action(.recalibrateFull, 1)
        case .recalibrateEmpty: Self.action(.recalibrateEmpty, 1)
        case .leaveFactoryMode: Self.action(.factoryMode, 0)
        case .draftDump(let byte): [byte]
        case .put(let entries): Frame(.put, entries).encoded
        case .unknown(let bytes): bytes
        }
    }

    private static func action(_ type: EntryType, _ byte: UInt8) -> [UInt8] {
        Frame(.put, [Entry(type, [byte])]).encoded
    }
}

extension HostCommand {
    package var requestsLog: Bool { if case .draftDump = self { true } else { self == .drinkLog } }

    package var meaning: String {
        switch self {
        case .snapshot: "ask for a snapshot"
        case .drinkLog: "ask for the drink log"
        case .get(let type): "ask for entry type \(type)"
        case .acknowledge(let bytes): Self.acknowledgement(Int(bytes))
        case .clearLog: "clear the log without reading it"
        case .settings(let goal, let clock, let reminder):
            "set the goal to \(goal) ml, the clock to \(clock), the reminder to \(reminder)"
        case .goal(let ml): "set the goal to \(ml) ml"
        case .clock(let clock): "set the clock to \(clock)"
        case .amount(let ml): "set today's amount to \(ml) ml"
        case .reminder(let reminder): "set the reminder to \(reminder)"
        case .flash: "flash the light"
        case .light(let light): "set the reminder light to \(light)"
        case .register: "register"
        case .language(let byte): "set the language to \(byte)"
        case .recalibrateFull: "recalibrate full"
        case .recalibrateEmpty: "recalibrate empty"
        case .leaveFactoryMode: "leave factory mode"
        case .draftDump(let byte): "ask for the drink log (draft, 0\(byte))"
        case .put(let entries):
            entries.isEmpty
                ? "put without entries"
                : "put " + entries.map { "type \($0.type): \(hexText($0.data))" }.joined(separator: ", ")
        case .unknown(let bytes): bytes.isEmpty ? "nothing" : "unknown: \(hexText(bytes))"
        }
    }

    private static func acknowledgement(_ bytes: Int) -> String {
        let (records, rest) = bytes.quotientAndRemainder(dividingBy: DrinkRecord.size)
        guard rest == 0 else { return "acknowledge \(bytes) bytes of the log (not a multiple of a record)" }
        return "acknowledge \(records) record\(records == 1 ? "" : "s") of the log (\(bytes) bytes)"
    }
}
