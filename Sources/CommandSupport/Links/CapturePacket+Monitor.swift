import Captures
import BlueZ

extension CapturePacket {
    /// A packet of the monitor channel as a record of btsnoop's monitor format: its opcodes are the same
    /// (`capture-formats`, btsnoop).
    package init(_ packet: MonitorPacket, number: Int) {
        let content: PacketContent =
            switch packet.opcode {
            case 2: .hci(.command)
            case 3: .hci(.event)
            case 4, 5: .hci(.acl)
            case 6, 7: .hci(.sco)
            case 18, 19: .hci(.iso)
            default: .note(.monitor(packet.opcode))
            }
        let direction: PacketDirection? =
            switch packet.opcode {
            case 2, 4, 6, 18: .sent
            case 3, 5, 7, 19: .received
            default: nil
            }
        self.init(
            number: number, time: CaptureTime(sinceEpoch: packet.time), adapter: UInt32(packet.adapter),
            direction: direction, content: content)
    }
}
