import BlueZ
import Bluetooth
import Captures

extension CapturePacket {
    /// A packet of the monitor channel as a record of btsnoop's monitor format, which has the same opcodes.
    package init(_ packet: MonitorPacket, number: Int) {
        self.init(number: number, time: packet.time, direction: nil, content: .unknown)
        setMonitor(opcode: packet.opcode, adapter: packet.adapter)
    }
}
