import Bluetooth
import Testing

@Suite struct TextTests {
    private static let peer = BluetoothAddress(0xA4C1_3801_0203)

    private func value(
        _ kind: ValueInfo.Kind, _ uuid: BluetoothUUID?, _ text: String, handle: UInt16? = nil, frame: Int = 1
    ) -> (CapturePacket, [UInt8]) {
        let value = ValueInfo(kind: kind, characteristic: uuid, handle: handle, peer: Self.peer)
        return (CapturePacket(number: frame, time: nil, direction: nil, content: .value(value)), bytes(text))
    }

    @Test func `values of a text capture become ATT PDUs`() {
        let observed = Observed(packets: [
            value(.writeCommand, 0xFFE9, "47 54"), value(.notification, 0xFFE4, "50 54"),
            value(.writeRequest, 0xFFE9, "01"), value(.read, 0xFF02, "aa"), value(.indication, 0x2A05, "01"),
            value(.notification, nil, "07", handle: 0x0025), value(.notification, nil, "08", handle: 0),
        ])
        #expect(
            observed.pdus.filter { !$0.att.isSynthetic }.map { hex($0.pdu) } == [
                "5204804754", "1b08805054", "12048001", "0baa", "1d108001", "1b250007", "1b060008",
            ])
        #expect(
            observed.pdus.filter { !$0.att.isSynthetic }.map(\.att.characteristic) == [
                0xFFE9, 0xFFE4, 0xFFE9, 0xFF02, 0x2A05, nil, nil,
            ])
        let added = observed.pdus.filter(\.att.isSynthetic).map { hex($0.pdu) }
        #expect(added.contains("020502") && added.contains("030502"))
        // Discovery of FFE4: declaration 8007, value 8008, notify. Then its configuration is written.
        #expect(added.contains("0907078010" + "0880e4ff"))
        #expect(added.contains("1209800100"))
        #expect(added.contains("0a0c80") && added.contains("1e") && added.contains("13"))
        #expect(observed.pdus.allSatisfy { $0.att.connection.peer == Self.peer })
    }

    /// Converted captures have names from the discovery and handles for all other attributes, of the same table.
    @Test func `generated handles of a text capture do not collide with given ones`() {
        for handle in UInt16(1)...0x0200 {
            let observed = Observed(packets: [
                value(.writeCommand, 0xFFE9, "47 54"), value(.notification, 0xFFE4, "50 54"),
                value(.writeRequest, nil, "01 00", handle: handle), value(.notification, 0xFF02, "50 54"),
            ])
            let named = observed.pdus.filter { !$0.att.isSynthetic }
            #expect(Set(named.map { Array($0.pdu[1...2]) }).count == 4, "handle \(handle)")
        }
    }

    @Test func `connections of a text capture start and end`() {
        func event(_ isStart: Bool) -> (CapturePacket, [UInt8]) {
            (
                CapturePacket(
                    number: 1, time: nil, direction: nil, content: .connection(isStart: isStart, peer: Self.peer)), []
            )
        }
        let observed = Observed(packets: [
            event(true), value(.notification, 0xFFE4, "01"), event(false), event(true),
            value(.notification, 0xFFE4, "02"),
        ])
        #expect(observed.events.count { if case .connected = $0 { true } else { false } } == 2)
        #expect(observed.events.count { if case .disconnected = $0 { true } else { false } } == 1)
        #expect(Set(observed.pdus.map(\.att.connection.id)).count == 2)
    }
}
