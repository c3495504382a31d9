import BottleProtocol

/// Whether bytes look like a bottle's, judged by themselves. Only a guess is ever based on this.
enum FrameShape {
    /// A whole command as a host writes it: a GT frame of one type, an acknowledgement, a PT frame of whole entries.
    static func isCommand(_ value: [UInt8]) -> Bool {
        switch HostCommand(decoding: value) {
        case .unknown, .draftDump: false
        case .put(let entries): !entries.isEmpty
        default: true
        }
    }

    /// A whole RP or RT frame.
    static func isMessage(_ value: [UInt8]) -> Bool {
        guard let frame = try? Frame(decoding: value), frame.operation == .response || frame.operation == .report else {
            return false
        }
        return (try? BottleMessage(decoding: frame)) != nil && !frame.payload.isEmpty
    }

    /// The beginning of a drink log: `50 54 length n 06 record…` with `n` = 1 + 13k within the length, and at least one
    /// whole record whose date can be: a bottle that has lost its clock writes others, and one of them hides no log.
    static func isLog(_ value: [UInt8]) -> Bool {
        guard value.count >= 6 + DrinkRecord.size, value[0] == 0x50, value[1] == 0x54, value[5] == 0x06 else {
            return false
        }
        let length = Int(value[2]) << 8 | Int(value[3]), entry = Int(value[4])
        guard entry >= 1 + DrinkRecord.size, (entry - 1) % DrinkRecord.size == 0, entry + 1 <= length else {
            return false
        }
        let records = value[6..<min(value.count, 5 + entry)]
        var at = records.startIndex
        var isSound = false
        while at + DrinkRecord.size <= records.endIndex {
            guard let record = try? DrinkRecord(decoding: records[at...]) else { return false }
            isSound = isSound || !record.isSuspect
            at += DrinkRecord.size
        }
        return isSound
    }
}

extension HostCommand {
    var isDraftDump: Bool {
        if case .draftDump = self { true } else { false }
    }
}
