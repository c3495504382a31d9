/// A packet in the format of the original requirements (tracker spec A1): the letters PT, two length bytes and two
/// metadata bytes that are ignored, then records of 13 bytes from offset 6.
///
/// An app written to those requirements reads packets this way; tests compare the emulator with it. The gateway uses
/// the frame's length instead.
package enum DraftPacket {
    /// The records that the strict dialect accepts. A rejected one still takes 13 bytes; a shorter rest is ignored.
    package static func records(in packet: [UInt8]) -> [DrinkRecord] {
        guard packet.count >= 6, packet[0] == 0x50, packet[1] == 0x54 else { return [] }
        return stride(from: 6, through: packet.count - DrinkRecord.size, by: DrinkRecord.size).compactMap { start in
            try? DrinkRecord(decoding: packet[start..<(start + DrinkRecord.size)], dialect: .strict)
        }
    }
}
