package import Bluetooth
package import BlueZ
import Captures

extension CapturePacket {
    /// Converts a packet of the HCI monitor channel. The btsnoop monitor format has the same opcodes.
    package init(_ packet: MonitorPacket, number: Int) {
        self.init(number: number, time: packet.time, direction: nil, content: .unknown)
        setMonitor(opcode: packet.opcode, adapter: packet.adapter)
    }
}
