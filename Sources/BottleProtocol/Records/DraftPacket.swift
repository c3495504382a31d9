/// A packet in the format of the original requirements (tracker spec A1): the letters PT, two length bytes and two
/// metadata bytes, both ignored. Records of 13 bytes start at offset 6.
///
/// Tests compare the emulator with this format. The gateway uses the frame's length instead.
package enum DraftPacket {
    /// The records that the strict dialect accepts. An incomplete record at the end is ignored.
    package static func records(in packet: [UInt8]) -> [DrinkRecord] {
        guard packet.count >= 6, packet[0] == 0x50, packet[1] == 0x54 else { return [] }
        return DrinkRecord.all(in: Array(packet[6...]), dialect: .strict)
    }
}
