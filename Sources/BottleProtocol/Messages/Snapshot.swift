/// All values of a bottle, the response to `GT FF` (protocol spec P2.8).
///
/// ```
/// Boost, 39 bytes: 02 02 b | 07 03 clock | 03 05 goal | 03 04 amount | 03 xx firmware |
///                  01 xx | 02 17 c | 07 26 reminder | 02 1B l
/// Vita,  49 bytes: 02 01 t | as Boost up to charging | 07 26 reminder | 03 28 tds | 03 08 level | 01 xx
/// ```
///
/// The entries are derived [D]; the offsets of battery, clock, firmware, charging, temperature, TDS and level are
/// published [P]. If a payload of a known length is not a sequence of entries, the published offsets apply.
package struct Snapshot: Hashable, Sendable {
    /// The model by payload length or sensors; `nil` if unknown.
    package var model: BottleModel?
    package var batteryPercent: Int?
    package var charging: ChargingState?
    package var clock: BottleClock?
    package var goalMl: Int?
    package var amountMl: Int?
    /// The firmware version, two bytes of unknown format.
    package var firmware: UInt16?
    /// The water temperature in °C. Vita only.
    package var temperatureC: Int?
    /// Total dissolved solids in ppm. Vita only.
    package var tdsPpm: Int?
    /// The water in the bottle, in millilitres. Vita only.
    package var levelMl: Int?
    package var reminder: ReminderSetting?
    /// The language number; its meaning is unknown.
    package var language: UInt8?

    /// The types that the emulator sends for the entries of unknown type (`xx` above). The decoder uses their position.
    static let firmwareType = EntryType(0x0B)
    static let emptyType = EntryType(0x0C)

    package init() {}

    /// Decodes an RP frame with a battery entry or with the length of a snapshot.
    package init(decoding frame: Frame) throws(DecodeFailure) {
        guard frame.operation == .response else {
            throw DecodeFailure(
                problem: "not a snapshot: expected an RP frame", offset: 0,
                needed: Int(FrameOperation.response.rawValue),
                found: Int(frame.operation.rawValue))
        }
        let payload = frame.payload
        model = BottleModel.allCases.first { $0.snapshotLength == payload.count }
        do {
            setValues(try frame.entries())
        } catch {
            guard model != nil else { throw error }
            applyPublishedOffsets(payload)
        }
        if let shift = model.map({ $0 == .vita ? 3 : 0 }) {
            let at = 21 + shift
            firmware = UInt16(payload[at]) << 8 | UInt16(payload[at + 1])
        }
        guard batteryPercent != nil else {
            throw DecodeFailure(
                problem: "a snapshot has no battery entry", offset: Frame.headerSize, needed: 1, found: 0)
        }
        if model == nil, temperatureC != nil || tdsPpm != nil || levelMl != nil { model = .vita }
    }

    private mutating func setValues(_ entries: [Entry]) {
        for entry in entries {
            switch entry.type {
            case .battery: batteryPercent = entry.byte.map(Int.init)
            case .charging: charging = entry.byte.map(ChargingState.init(rawValue:))
            case .clock: clock = BottleClock(entry.data)
            case .goal: goalMl = entry.number.map(Int.init)
            case .amount: amountMl = entry.number.map(Int.init)
            case .temperature: temperatureC = entry.byte.map { Int(Int8(bitPattern: $0)) }
            case .tds: tdsPpm = entry.number.map(Int.init)
            case .level: levelMl = entry.number.map(Int.init)
            case .reminder: reminder = ReminderSetting(entry.data)
            case .language: language = entry.byte
            default: break
            }
        }
    }

    /// The published offsets. They count from the frame's first byte: a payload offset is 4 less.
    private mutating func applyPublishedOffsets(_ payload: [UInt8]) {
        func number(_ at: Int) -> Int { Int(payload[at - 4]) << 8 | Int(payload[at - 3]) }
        if model == .vita {
            temperatureC = Int(Int8(bitPattern: payload[6 - 4]))
            batteryPercent = Int(payload[9 - 4])
            charging = ChargingState(rawValue: payload[34 - 4])
            tdsPpm = number(45)
            levelMl = number(49)
        } else {
            batteryPercent = Int(payload[6 - 4])
            clock = BottleClock(payload[(9 - 4)..<(15 - 4)])
            charging = ChargingState(rawValue: payload[31 - 4])
        }
    }

    /// The frame of a bottle of that model. Unknown values are zero; numbers are limited to the range of their field.
    package func frame(_ model: BottleModel) -> Frame {
        func byte(_ value: Int?) -> [UInt8] { [UInt8(clamping: value ?? 0)] }
        func number(_ value: Int?) -> UInt16 { UInt16(clamping: value ?? 0) }
        let zeroClock = BottleClock(yearByte: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0)
        let common = [
            Entry(.battery, byte(batteryPercent)), Entry(.clock, (clock ?? zeroClock).encoded),
            Entry(.goal, number(goalMl)),
            Entry(.amount, number(amountMl)), Entry(Self.firmwareType, firmware ?? 0), Entry(Self.emptyType, []),
            Entry(.charging, [(charging ?? .no).rawValue]),
        ]
        let reminder = Entry(.reminder, (reminder ?? .standard).encoded)
        return switch model {
        case .boost: Frame(.response, common + [reminder, Entry(.language, [language ?? 0])])
        case .vita:
            Frame(
                .response,
                [Entry(.temperature, [UInt8(bitPattern: Int8(clamping: temperatureC ?? 0))])] + common
                    + [
                        reminder, Entry(.tds, number(tdsPpm)), Entry(.level, number(levelMl)),
                        Entry(Self.emptyType, []),
                    ])
        }
    }
}

extension BottleModel {
    /// The payload length of the snapshot in bytes (protocol spec P2.8).
    package var snapshotLength: Int {
        switch self {
        case .boost: 0x27
        case .vita: 0x31
        }
    }
}
