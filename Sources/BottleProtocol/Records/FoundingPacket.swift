/// A packet as the founding documents read it (tracker law A1): the letters PT, two length and two metadata bytes that
/// nobody looks at, then records from offset 6 in steps of 13.
///
/// This is what an app written to those documents does; the emulator's tests hold it against the bottle. The gateway
/// goes by the frame's length instead.
package enum FoundingPacket {
    /// Records that the strict dialect accepts. One that it refuses still takes its 13 bytes; a shorter tail is
    /// ignored.
    package static func records(in packet: [UInt8]) -> [DrinkRecord] {
        guard packet.count >= 6, packet[0] == 0x50, packet[1] == 0x54 else { return [] }
        return stride(from: 6, through: packet.count - DrinkRecord.size, by: DrinkRecord.size).compactMap { start in
            try? DrinkRecord(decoding: packet[start..<(start + DrinkRecord.size)], dialect: .strict)
        }
    }
}
